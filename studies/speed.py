"""How fast it is, on one core, in CPU time, as ratios measured side by side (`make bench`).

    python studies/speed.py               all parts
    python studies/speed.py peers peak    some of them; the others keep the numbers they had

Every part is a program of its own, speed_PART.py, and a part of results/speed.json.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

PARTS = {
    "peers": "a gradient step of SAC beside Stable-Baselines3's and SBX's",
    "versions": "version 0.3.0 beside this one",
    "peak": "gradient steps beside the matrix products in them",
    "growth": "what grows with epochs and skills",
    "reach": "how long LEADS takes to 90 % of a maze",
    "files": "checkpoints and reports",
}
ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args().parts
    if unknown := set(chosen) - PARTS.keys():
        parser.error(f"parts: {', '.join(sorted(unknown))} is not allowed; give some of {', '.join(PARTS)}")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for part in chosen:
        print(f"{part}: {PARTS[part]}", flush=True)
        program = Path(__file__).with_name(f"speed_{part}.py")
        subprocess.run([sys.executable, program], env=os.environ | ONE_THREAD, check=True)


if __name__ == "__main__":
    main()
