"""Benchmarks: the runs of a suite, on the cores of this machine or on a cluster."""
