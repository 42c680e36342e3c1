"""What the skills of finished runs reach when their actions' noise is white, as in evaluation, and when it is pink.

    python studies/evaluation_noise.py RUN_DIR ...

Puts one row per run and colour into results/evaluation_noise.csv. Controls are evaluated with the noise they collect
with, so this is how LEADS compares with them under the same noise.
"""

import argparse
from pathlib import Path
from typing import get_args

import jax.numpy as jnp
from collect import RESULTS, write

import leads
from leads.rollouts.noise import Colour
from leads.training.metrics import COMPUTED, Evaluation, compute
from leads.training.train import EVALUATION_EPISODES

ROW = ("method", "task", "seed", "noise")
"""What tells rows apart."""
OF_SKILLS = [name for name, metric in COMPUTED.items() if metric.of_skills and metric.tabled and metric.everywhere]
COLUMNS = ("method", "task", "seed", "samples", "noise", *OF_SKILLS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR")
    table = []
    for run_dir in parser.parse_args().run_dirs:
        with leads.load(run_dir) as agent:
            for noise in get_args(Colour):
                episodes = agent.episodes(EVALUATION_EPISODES, noise=noise)
                visited = jnp.asarray(agent.visited), jnp.asarray(agent.visited_fine)
                numbers = compute((), Evaluation(agent.task, *visited, episodes))
                row = agent.run.summary() | {"noise": noise} | {name: float(numbers[name]) for name in OF_SKILLS}
                print({name: row[name] for name in COLUMNS}, flush=True)
                table.append(row)
    write(RESULTS / "evaluation_noise.csv", COLUMNS, table, by=ROW)


if __name__ == "__main__":
    main()
