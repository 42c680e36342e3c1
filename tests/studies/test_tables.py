"""The tables of README.md and docs/, from the committed rows."""

import csv
import re
import statistics
from pathlib import Path

import pytest

from leads.report.study.read import read_rows

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        import tables

        yield tables


@pytest.fixture(scope="module")
def made(tables) -> dict[str, list[list[str]]]:
    """The cells of every table, its head first."""
    study = read_rows(tables.RESULTS)
    grids = {name: make(study).grid().splitlines() for name, make in tables.TABLES.items()}
    return {name: [re.split(r" ?\| ?", line)[1:-1] for line in (grid[0], *grid[2:])] for name, grid in grids.items()}


def values(name: str, file: str = "runs.csv", **wanted: str) -> list[float]:
    rows = csv.DictReader((STUDIES / "results" / file).read_text().splitlines())
    return [float(row[name]) for row in rows if all(row[column] == value for column, value in wanted.items())]


def test_the_readmes_table_is_narrow_and_has_two_numbers_in_every_cell(made):
    head, *rows = made["readme"]
    assert head == ["method", "Easy", "U", "Hard", "Fetch-Reach", "Fetch-Slide", "Finger"]
    assert [row[0] for row in rows][:2] == ["**LEADS**", "RND"] and len(rows) == 11
    assert all(re.fullmatch(r"\d+ / \d\.\d\d|-", cell) for row in rows for cell in row[1:])
    assert [cell == "-" for cell in rows[1][1:]] == [False, False, False, True, True, True], "RND has run in mazes only"
    for method, cells in (("leads", rows[0]), ("metra", next(row for row in rows if row[0] == "METRA"))):
        for column, task in ((3, "maze-hard"), (5, "fetch-slide")):
            of = {"method": method, "variant": "", "task": task}
            means = [statistics.mean(values(name, **of)) for name in ("skill_coverage", "distinctness")]
            assert cells[column] == f"{means[0]:.0f} / {means[1]:.2f}"


def test_means_are_of_all_seeds(made):
    [row] = [row for row in made["summary"] if row[:2] == ["Hard", "DIAYN"]]
    of = values("coverage", method="diayn", variant="", task="maze-hard")
    assert row[2] == f"{statistics.mean(of):.1f} ± {statistics.stdev(of):.1f}" and row[-1] == "5" == str(len(of))


def test_variants_are_read_off_their_curves(made):
    rows = {row[0]: row for row in made["ablation"]}
    assert rows["default"][1] == "as shipped" and rows["paper"][1] == "every published value"
    assert rows["classifier"][1] == "`--measure-form classifier --measure-hidden 256,128`" and len(rows) == 16
    ends = []
    for seed in "01":
        of = {"file": "curves.csv", "method": "leads", "variant": "geometric", "seed": seed}
        points = zip(values("samples", **of), values("coverage", **of), strict=True)
        ends.append(min(points, key=lambda point: abs(point[0] - 150_000))[1])
    assert rows["geometric"][2] == f"{statistics.mean(ends):.1f} ± {statistics.stdev(ends):.1f}"


def test_methods_are_compared_under_the_same_noise(made):
    for noise, by_sac in {"white": 4, "pink": 0}.items():
        rows = made[noise][1:]
        assert len(rows) == 3 * 9 + by_sac and {row[-1] for row in rows} == {"5"}
    changed = {row[1] for row in made["below"][1:] if row[0] == "CSD"}
    assert changed == {"as shipped", "`--on-wall stop`", "`--first-temperature 0.3`"}


def test_no_row_is_of_what_was_not_run(made):
    """Beside the paper, a method that was run on some tasks is shown as missing on the others."""
    for name, table in made.items():
        ours = [[cell for title, cell in zip(table[0], row, strict=True) if "paper" not in title] for row in table[1:]]
        assert ours and all(any("missing" not in cell for cell in row[1:]) for row in ours), name
        assert name.endswith("paper") or not any("missing" in cell for row in ours for cell in row), name


def test_pages_are_filled_between_their_marks(tables):
    study = read_rows(tables.RESULTS)
    text = "before\n<!-- table slide -->\nold\n<!-- end -->\nbetween\n<!-- table readme -->\n<!-- end -->\nafter\n"
    filled = tables.filled(text, study)
    assert filled.startswith("before\n<!-- table slide -->\n| variant |") and filled.endswith(
        "|\n<!-- end -->\nafter\n"
    )
    assert "old" not in filled and "\nbetween\n" in filled and tables.filled(filled, study) == filled
