"""Studies and their tables, of run directories whose numbers are known."""

import csv
import io
import json
import re
import statistics
from pathlib import Path

import pytest
import scipy.stats

from leads.errors import UserError
from leads.report.study.first import against_the_best, best_entry, first, headline, published_best, table_1
from leads.report.study.read import read_study
from leads.report.study.result import PAPER, Entry, Setting
from leads.report.study.study import Study
from leads.report.study.study_tables import study_tables
from leads.report.study.tables import Cell, Column, Table, compared, mean_std
from leads.training.metrics import METRICS


@pytest.fixture(scope="module")
def study(study_directory) -> Study:
    return read_study(study_directory)


@pytest.fixture(scope="module")
def tables(study) -> dict[str, Table]:
    return {table.name: table for table in study_tables(study)}


def row(table: Table, *names: str) -> dict[str, Cell]:
    """The cells, by column, of the row that begins with `names`."""
    found = [cells for cells in table.rows if tuple(cell.text for cell in cells[: len(names)]) == names]
    assert len(found) == 1
    return {column.title: cell for column, cell in zip(table.columns, found[0], strict=True)}


def setting(study: Study, title: str) -> Setting:
    return next(setting for setting in study.settings if setting.title == title)


def test_runs_are_found_at_any_depth_and_compared_only_on_equal_terms(study):
    assert [s.title for s in study.settings] == ["maze-u", "maze-u, 300k samples", "maze-hard", "fetch-slide"]
    assert len(study.results) == 3 * (3 + 3 + 1 + 2) + 1
    titles = [entry.title for entry in study.entries]
    assert titles[:3] == ["LEADS", "RND", "DIAYN"] and titles[-3:] == ["METRA", "control", "control (noise white)"]
    assert study.values(setting(study, "maze-u"), Entry("leads"), METRICS["coverage"]) == [88, 90, 91]
    assert study.values(setting(study, "maze-u, 300k samples"), Entry("leads"), METRICS["coverage"]) == [70]


def test_what_does_not_count_is_named(study):
    assert [(run.entry.title, run.seed, run.numbers["samples"]) for run in study.unfinished] == [("METRA", 3, 900_000)]
    assert len(study.left_out) == 2
    assert "another version" in study.left_out[0] and "repeats" in study.left_out[1]
    assert study.missing(setting(study, "maze-u"), Entry("metra")) == [3]
    assert study.missing(setting(study, "maze-u"), Entry("rnd")) == [0, 1, 2, 3]


def test_relative_coverage_divides_by_the_largest_of_any_run(study):
    leads, metra = (study.relative(setting(study, "maze-u"), Entry(method)) for method in ("leads", "metra"))
    assert leads == pytest.approx([100 * x / 91 for x in (88, 90, 91)])
    assert metra == pytest.approx([100 * x / 91 for x in (56, 60, 62)])


def test_best_and_median_seeds(study):
    cell = setting(study, "maze-u"), Entry("leads")
    best, median = study.best(*cell), study.median(*cell)
    assert best is not None and best.seed == 2 and median is not None and median.seed == 1
    assert study.best(cell[0], Entry("rnd")) is None and study.median(cell[0], Entry("rnd")) is None


def test_table_1_has_the_papers_numbers_beside_ours_and_n_in_every_cell(tables):
    leads, rnd = row(tables["table1"], "LEADS"), row(tables["table1"], "RND")
    assert leads["maze-u: paper"] == Cell("96.0 ± 6.1 (n = 5)", (96.0, 6.1, 5, 1), bold=True)
    ours = [100 * x / 91 for x in (88, 90, 91)]
    assert leads["maze-u: ours"].text == f"{statistics.mean(ours):.1f} ± {statistics.stdev(ours):.1f} (n = 3)"
    assert leads["maze-u: ours"].bold and leads["maze-u, 300k samples: ours"].text == "100.0 (n = 1)"
    assert rnd["maze-u: paper"].text == "39.6 ± 9.9 (n = 5)" and rnd["maze-u: ours"].text == "missing"
    assert row(tables["table1"], "control")["maze-u: paper"].text == "-"
    assert not leads["fetch-slide: ours"].bold, "the control is as good"
    shown = [cell for cells in tables["table1"].rows for cell in cells[1:] if cell.text not in ("missing", "-")]
    assert all("(n = " in cell.text for cell in shown)


def test_the_bold_rule_makes_bold_what_the_paper_has_in_bold():
    made = {
        task: published_best(Setting(task, "{}", budget, task)) for task, budget in PAPER["budgets_samples"].items()
    }
    assert {task for task, method in made.items() if method} == {"maze-u", "maze-hard", "fetch-slide"}
    assert {method for method in made.values() if method} == {"leads"}


def test_walls_that_stop_have_no_published_numbers():
    assert not Setting("maze-u", '{"on_wall": "stop"}', 1_000_000, "").published
    assert not Setting("hand", "{}", 1_000_000, "").published


def test_bold_needs_somebody_to_be_better_than(study):
    assert best_entry(study, setting(study, "maze-u")) == Entry("leads")
    assert best_entry(study, setting(study, "maze-u, 300k samples")) is None
    assert best_entry(study, setting(study, "fetch-slide")) is None


def test_all_numbers_are_there_with_what_is_missing(tables):
    cells = row(tables["numbers"], "maze-u", "METRA")
    assert cells["coverage %"].text == "59.3 ± 3.1 (n = 3)" and cells["missing seeds"].text == "3"
    assert (
        cells["skill coverage %"].text == "29.7 ± 1.5 (n = 3)" and cells["distinctness"].text == "0.50 ± 0.00 (n = 3)"
    )
    assert row(tables["numbers"], "maze-u", "RND")["coverage %"].text == "missing"
    assert row(tables["numbers"], "fetch-slide", "LEADS")["missing seeds"].text == "none"


def test_tests_are_welchs(tables):
    cell = row(tables["tests"], "maze-u", "LEADS", "METRA")["coverage %"]
    expected = scipy.stats.ttest_ind([88, 90, 91], [56, 60, 62], equal_var=False).pvalue
    assert cell.values == pytest.approx((expected, 269 / 3 - 178 / 3, 3, 3)) and cell.text.startswith("above, p = ")
    pairs = [tuple(cell.text for cell in cells[:3]) for cells in tables["tests"].rows]
    assert ("maze-u", "LEADS", "control (noise white)") in pairs and len(set(pairs)) == len(pairs)


def test_a_pair_is_tested_once(write_run, tmp_path):
    for method, coverage in (("leads", 60), ("metra", 90), ("csd", 50)):
        for seed in (0, 1):
            write_run(tmp_path, "maze-u", method, seed, coverage + seed)
    rows = next(table.rows for table in study_tables(read_study(tmp_path)) if table.name == "tests")
    pairs = [(ours.text, theirs.text) for _, ours, theirs, *_ in rows]
    assert pairs == [("LEADS", "CSD"), ("LEADS", "METRA"), ("METRA", "CSD")]


def test_words_of_a_test():
    assert compared([1.0], [2.0, 3.0]) == "missing"
    assert compared([2.0, 2.0], [2.0, 2.0]) == compared([1.0, 3.0], [2.0, 2.0]) == "equal"
    assert compared([2.0, 2.0], [3.0, 3.0]) == "below"
    assert compared([2.0, 2.1], [1.0, 1.1]).startswith("above, p = 0.0")
    assert mean_std([], 1) == "missing" and mean_std([2.0], 1) == "2.0" and mean_std([1.0, 3.0], 2) == "2.00 ± 1.41"


def test_aggregates_say_over_how_many_settings_and_runs(tables):
    leads, metra = (row(tables["aggregate_coverage"], name) for name in ("LEADS", "METRA"))
    assert leads["settings"].text == "3 of 3" and leads["runs"].values == (9,)
    assert metra["settings"].text == "2 of 3" and metra["runs"].values == (6,)
    better = metra["probability that LEADS is better [95% interval]"]
    assert better.values == (1, 1, 1), "every run is"
    iqm = metra["interquartile mean [95% interval]"]
    assert iqm.values[0] == pytest.approx((56 + 60 + 60 + 62) / 4 / 91)
    assert iqm.values[1] < iqm.values[0] < iqm.values[2]
    assert row(tables["aggregate_coverage"], "RND")["mean"].text == "missing"
    both = row(tables["aggregate_skill_coverage_x_distinctness"], "METRA")
    assert both["interquartile mean [95% interval]"].values == pytest.approx(iqm.values), "all are as distinct"


def test_cost(tables):
    cells = row(tables["cost"], "maze-u", "LEADS")
    assert cells["CPU seconds"].text == "100 ± 0 (n = 3)" and cells["largest peak memory, MB"].values == (502.0,)
    assert cells["CPU seconds per 100,000 samples"].text == "10.0 ± 0.0 (n = 3)"


SURE = "significantly above all others in coverage"


def test_who_is_first_and_whether_that_is_sure(tables):
    rows = {title: row(tables["first"], title) for title in ("maze-u", "fetch-slide", "maze-u, 300k samples")}
    highest = rows["maze-u"]["coverage %"]
    assert highest.text == "89.7 ± 1.5: LEADS" and highest.bold
    assert highest.values == (pytest.approx(269 / 3), "LEADS")
    assert rows["maze-u"][SURE].text == "LEADS" and rows["fetch-slide"][SURE].text == "nobody"
    alone = rows["maze-u, 300k samples"]
    assert alone[SURE].text == "no other method to compare with" and not alone["coverage %"].bold


def test_headline_says_plainly_where_leads_is_the_best_and_where_not(write_run, tmp_path):
    for seed in (0, 1):
        for task, leads, metra in (("maze-u", 80, 90 + 2 * seed), ("maze-easy", 92, 90), ("maze-hard", 90, 90)):
            write_run(tmp_path, task, "leads", seed, leads)
            write_run(tmp_path, task, "metra", seed, metra)
    study = read_study(tmp_path)
    easy, u, hard = (row(first(study), task) for task in ("maze-easy", "maze-u", "maze-hard"))
    fine, both = "fine coverage %", "skill coverage x distinctness"
    assert (u[fine].text, u[both].text) == ("81.9 ± 1.3: METRA", "22.8 ± 0.4: METRA") and not u[fine].bold
    assert easy[both].text == "23.0 ± 0.0: LEADS" and easy[both].bold
    assert hard[fine].text == "81.0 ± 0.0: LEADS, METRA" and hard[fine].bold, "a tie"
    assert hard["methods without runs"].text == "RND, DIAYN, SMM, NGU, LSD, CSD, control"
    overall = headline(study)
    assert "highest fine coverage in 2 of 3 settings with other methods (not in maze-u)" in overall
    assert "highest skill coverage x distinctness in 2 of 3 settings with other methods (not in maze-u)" in overall
    assert "without runs: fetch-reach, finger, fetch-slide" in overall


def test_of_seeds_with_the_same_coverage_the_better_skills_are_the_best(write_run, tmp_path):
    for seed, skill_coverage in enumerate((50, 70, 60)):
        summary = write_run(tmp_path, seed=seed) / "summary.json"
        summary.write_text(json.dumps(json.loads(summary.read_text()) | {"skill_coverage": skill_coverage}))
    study = read_study(tmp_path)
    best, median = study.best(study.settings[0], Entry("leads")), study.median(study.settings[0], Entry("leads"))
    assert best is not None and median is not None and (best.seed, median.seed) == (1, 2)


def test_a_tie_is_what_reads_as_one(write_run, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, "maze-u", "leads", seed, 99.96)
        write_run(tmp_path, "maze-u", "metra", seed, 100)
    study = read_study(tmp_path)
    assert row(first(study), "maze-u")["coverage %"].text == "100.0 ± 0.0: LEADS, METRA"
    assert "highest fine coverage in 1 of 1 settings" in headline(study)


def test_variants_of_leads_do_not_count_against_it(write_run, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, "maze-u", "leads", seed, 80 + seed)
        write_run(tmp_path, "maze-u", "metra", seed, 60 + seed)
    write_run(tmp_path, "maze-u", "leads", 0, 90, n_skill=8)
    study = read_study(tmp_path)
    assert "highest fine coverage in 1 of 1 settings" in headline(study)
    cells = row(first(study), "maze-u")
    assert cells[SURE].text == "LEADS", "its own variant of one run does not matter"
    assert cells["coverage %"].text == "80.5 ± 0.7: LEADS"


def test_the_paper_has_a_column_only_where_it_has_numbers(write_run, tmp_path):
    for task in ("maze-u", "hand"):
        write_run(tmp_path, task, "leads", samples=1_000_000)
    titles = [column.title for column in table_1(read_study(tmp_path)).columns]
    assert titles == ["method", "maze-u: paper", "maze-u: ours", "hand, 1M samples: ours"]


def test_table_1_says_where_we_are_below_the_paper(write_run, tmp_path):
    """METRA has 54.8 ± 9.5 on maze-hard, in percent of the largest."""
    for method, coverage in (("leads", 100), ("metra", 45.2), ("random", 10)):
        write_run(tmp_path, "maze-hard", method, 0, coverage)
        write_run(tmp_path, "maze-hard", method, 1, coverage)
        write_run(tmp_path, "maze-hard", method, 0, coverage, samples=300_000)
    cells = {name: row(table_1(read_study(tmp_path)), name) for name in ("LEADS", "METRA", "control")}
    assert cells["METRA"]["maze-hard: ours"].text == "45.2 ± 0.0 (n = 2, below)"
    assert cells["METRA"]["maze-hard: ours"].values == (pytest.approx(45.2), 0.0, 2, 0)
    assert "below" not in cells["LEADS"]["maze-hard: ours"].text + cells["control"]["maze-hard: ours"].text
    assert cells["METRA"]["maze-hard, 300k samples: ours"].text == "45.2 (n = 1)", "the paper has other samples"


def test_who_is_first_against_the_best_other(write_run, tmp_path):
    for seed, off in enumerate((0, 1)):
        for task, leads, metra in (("maze-u", 90, 60), ("maze-hard", 50, 70), ("maze-easy", 80, 80)):
            write_run(tmp_path, task, "leads", seed, leads + off)
            write_run(tmp_path, task, "metra", seed, metra + off)
    write_run(tmp_path, "finger", "metra", samples=100_000)
    study = read_study(tmp_path).only(entries=[Entry("leads"), Entry("metra")])
    cells = {cells[0].text: cells[1].text for cells in against_the_best(study).rows}
    p = compared([90.0, 91.0], [60.0, 61.0]).removeprefix("above, ")
    assert cells["maze-u"] == f"LEADS; above METRA, {p}" and cells["maze-easy"] == "LEADS, METRA"
    assert re.fullmatch(r"METRA; LEADS is below, p = 0.00\d+", cells["maze-hard"]) and cells["finger"] == "missing"


def test_beside_controls_alone_leads_is_not_called_the_best(write_run, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, "maze-u", "leads", seed, 90)
        write_run(tmp_path, "maze-u", "random", seed, 60)
    assert headline(read_study(tmp_path)).startswith("this cannot be told without runs of LEADS as it ships beside")


def test_without_leads_nothing_is_said_of_it(write_run, tmp_path):
    for method in ("metra", "csd"):
        write_run(tmp_path, "maze-u", method)
    assert headline(read_study(tmp_path)).startswith("this cannot be told without runs of LEADS")


def test_single_runs_are_not_tested_and_have_no_interval(write_run, tmp_path):
    for method, coverage in (("leads", 90), ("metra", 60)):
        write_run(tmp_path, "maze-u", method, 0, coverage)
    study = read_study(tmp_path)
    assert row(first(study), "maze-u")[SURE].text.startswith("no test can be made")
    aggregate = next(table for table in study_tables(study) if table.name == "aggregate_coverage")
    assert row(aggregate, "LEADS")["interquartile mean [95% interval]"].text == "1.000"


def test_of_several_variants_ahead_of_other_methods_the_highest_is_bold(write_run, tmp_path):
    for seed, off in enumerate((0, 1)):
        write_run(tmp_path, "maze-u", "leads", seed, 80 + off)
        write_run(tmp_path, "maze-u", "leads", seed, 95 + off, noise="white")
        write_run(tmp_path, "maze-u", "metra", seed, 60 + off)
    study = read_study(tmp_path)
    best = best_entry(study, study.settings[0])
    assert best is not None and best.title == "LEADS (noise white)"


def test_far_reaching_and_distinct_are_multiplied_run_by_run(study, tables):
    cell = row(tables["numbers"], "maze-u", "LEADS")["skill coverage x distinctness"]
    both = [x / 2 * 0.5 for x in (88, 90, 91)]
    assert cell.values == pytest.approx((statistics.mean(both), statistics.stdev(both), 3))
    assert row(tables["numbers"], "maze-u", "RND")["skill coverage x distinctness"].text == "missing"


TABLE = Table(
    [Column("who_is", Cell), Column("how much", Cell, ("mean", "std"))],
    [[Cell("a|b", ("a|b",)), Cell("1.0 ± 2.0", (1.0, 2.0), bold=True)], [Cell("<c>", ("<c>",)), Cell("missing")]],
    *("name", "A & B", "50 % of it."),
)


def test_a_table_in_every_language():
    assert "| a\\|b | **1.0 ± 2.0** |" in TABLE.markdown() and TABLE.markdown().startswith(
        "**A & B.** 50 % of it.\n\n|"
    )
    latex = TABLE.latex()
    assert r"\caption{A \& B. 50 \% of it.}" in latex and r"a|b & \textbf{1.0 $\pm$ 2.0} \\" in latex
    assert r"who\_is & how much \\ \midrule" in latex and r"$<$c$>$ & missing" in latex
    read = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert read[0] == {"who_is": "a|b", "how much mean": "1.0", "how much std": "2.0"}
    assert read[1] == {"who_is": "<c>", "how much mean": "", "how much std": ""}
    assert '<th scope="row" data-value="&lt;c&gt;">&lt;c&gt;</th><td class="missing">missing</td>' in TABLE.html()
    assert '<td data-value="1.0"><strong>1.0 ± 2.0</strong></td>' in TABLE.html()


def test_numbers_of_runs_can_be_left_out():
    cells = [Cell("1.0 ± 2.0 (n = 5)"), Cell("above, p = 0.1 (n = 5, 3)"), Cell("b (c)")]
    counted = Table([Column("a", Cell)] * 3, [cells])
    assert [cell.text for cell in counted.uncounted().rows[0]] == ["1.0 ± 2.0", "above, p = 0.1", "b (c)"]


def test_a_directory_without_runs_is_refused(tmp_path: Path, write_run):
    with pytest.raises(UserError, match="has no finished run in it"):
        read_study(tmp_path)
    write_run(tmp_path, finished=False)
    with pytest.raises(UserError, match="has no finished run in it"):
        read_study(tmp_path)
