"""What the skills of finished runs reach when their actions' noise is white, as in evaluation, and when it is pink.

    python studies/evaluation_noise.py RUN_DIR ...

Puts a row for every run and colour into results/evaluation_noise.csv. Controls are evaluated with the noise they
collect with, so this is how LEADS compares with them under the same noise.
"""

import argparse
from pathlib import Path
from typing import get_args

from collect import RESULTS, write

import leads
from leads.rollouts.noise import Colour
from leads.training.evaluation import EVALUATION_EPISODES, evaluate

COLUMNS = ["method", "task", "seed", "samples", "noise", "skill_coverage", "distinctness"]
ROW = ["method", "task", "seed", "noise"]
"""What tells rows apart."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR")
    table = []
    for run_dir in parser.parse_args().run_dirs:
        agent = leads.load(run_dir)
        for noise in get_args(Colour):
            numbers = evaluate(agent.task, agent.episodes(EVALUATION_EPISODES, noise=noise), None)
            row = agent.run.summary() | {"noise": noise} | {name: float(value) for name, value in numbers.items()}
            print({name: row[name] for name in COLUMNS}, flush=True)
            table.append(row)
    write(RESULTS / "evaluation_noise.csv", COLUMNS, table, by=ROW)


if __name__ == "__main__":
    main()
