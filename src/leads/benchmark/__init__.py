"""Many runs: a suite of them, on the cores of this machine or on a cluster."""
