"""Makes the report of the published study from results/, as `leads report` would from its runs (`make study`).

    python studies/published.py docs/study

Its runs are those with the paper's budgets. Without checkpoints, there are no maps and films.
"""

import argparse
from pathlib import Path

from collect import RESULTS

from leads.report.study.read import read_rows
from leads.report.study.study import Study
from leads.report.study.write import write_study


def published() -> Study:
    study = read_rows(RESULTS)
    return study.only(setting for setting in study.settings if setting.is_papers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="REPORT")
    for line in write_study(published(), parser.parse_args().out):
        print(line)


if __name__ == "__main__":
    main()
