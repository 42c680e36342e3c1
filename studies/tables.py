"""Puts the tables made from results/ into README.md and docs/ (`make results`).

A table stands between `<!-- table NAME -->` and `<!-- end -->`; everything else in a page is left as it is.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

from collect import RESULTS

from leads.config.fields import defaults
from leads.methods import METHODS
from leads.report.study import columns
from leads.report.study.columns import CPU, MEMORY, METHOD, RATE, SEEDS, TASK, Shown, against, means, with_runs
from leads.report.study.entry import SHIPPED, Entry, as_typed
from leads.report.study.first import against_the_best
from leads.report.study.from_rows import NUMBERS, read_rows, rows
from leads.report.study.paper_table import table_1
from leads.report.study.setting import PAPER, Setting
from leads.report.study.side_by_side import deviations, in_short
from leads.report.study.study import Study
from leads.report.study.tables import Cell, Column, Table, compared, mean_std, word
from leads.training.metrics import METRICS

ROOT = Path(__file__).parents[1]
MAZES = {"maze-easy": "Easy", "maze-u": "U", "maze-hard": "Hard"}
ROBOTS = {"fetch-reach": "Fetch-Reach", "fetch-slide": "Fetch-Slide", "finger": "Finger"}
TITLES = MAZES | ROBOTS
PINK = Entry("random", called="control: pink noise")
WHITE = Entry("random", '{"noise": "white"}', "control: white noise")
LOUD = Entry("random", '{"scale": 1.0}', "control: loud pink noise")
ENTRIES = [*filter(lambda entry: entry.learns, map(Entry, METHODS)), PINK, WHITE, LOUD]
SAME_NOISE, ABLATION, SLIDE = 300_000, 150_000, 48_000
"""Samples at which methods are compared under the same noise, and variants of LEADS in the maze and on the robot."""
TABLED = [metric for metric in METRICS.values() if metric.tabled]
MEASURED = [metric for metric in TABLED if metric.compute]
OF_SKILLS = [metric for metric in MEASURED if metric.of_skills]


def whole(study: Study, tasks: Iterable[str] = TITLES) -> Study:
    """Methods as they ship and controls, with the paper's budgets."""
    return _on(study, {task: PAPER["budgets_samples"][task] for task in tasks}, ENTRIES)


def same_noise(study: Study, noise: str) -> Study:
    """All methods in the mazes, collecting with the same noise."""
    ships = lambda method: defaults(METHODS.find(method).Config)["noise"] == noise
    entries = [Entry(m, "{}" if ships(m) else json.dumps({"noise": noise}), Entry(m).title) for m in METHODS]
    return _on(study.at(SAME_NOISE), dict.fromkeys(MAZES, SAME_NOISE), entries)


def _on(study: Study, samples: dict[str, int], entries: Iterable[Entry]) -> Study:
    """Tasks with the paper's options and with some numbers of samples."""
    papers = [setting for setting in study.settings if setting.published]
    found = {setting.task: setting for setting in papers if setting.samples == samples.get(setting.task)}
    chosen = study.only([replace(found[task], called=TITLES[task]) for task in samples], entries)
    return chosen.only(entries=[entry for entry in chosen.entries if chosen.covered(entry)])


def listed(study: Study, *shown: Shown, rows: Iterable[tuple[Setting, Entry]] | None = None) -> Table:
    """Without numbers of runs in cells: there is a column of them where they differ."""
    return columns.listed(study, shown, rows).uncounted()


def numbers(study: Study, *more: Shown) -> Table:
    """Every metric of every entry in every setting."""
    return listed(study, TASK, METHOD, *means(TABLED), *more, SEEDS)


def tests(study: Study) -> Table:
    """Welch's tests of LEADS against each baseline and control."""
    whom = replace(METHOD, title=f"{SHIPPED.title} against")
    others = [(setting, entry) for setting, entry in with_runs(study) if entry != SHIPPED]
    return listed(study, TASK, whom, *against(SHIPPED, MEASURED), rows=others)


def best(study: Study) -> Table:
    """Who is first under either noise."""
    tables = {noise: against_the_best(same_noise(study, noise)) for noise in ("white", "pink")}
    body = [[word(noise), *row] for noise, table in tables.items() for row in table.rows]
    return _table(("noise", *(column.title for column in tables["pink"].columns)), body)


def variants(study: Study, first: Shown, task: str, samples: int, entries: Iterable[Entry]) -> Table:
    """Entries on a task, also with other options of the task, read off at a number of samples."""
    then = study.at(samples)
    settings = sorted((s for s in then.settings if s.task == task), key=lambda setting: not setting.published)
    found = [(setting, entry) for entry in entries for setting in settings if then.of(setting, entry)]
    return listed(then, first, Shown("what is changed", _changed), *means(MEASURED), SEEDS, rows=found)


def of_ours(study: Study, task: str, samples: int) -> Table:
    """All variants of LEADS."""
    first = Shown("variant", lambda *place: word(_variant(*place) or "default"))
    return variants(study, first, task, samples, (entry for entry in study.entries if entry.is_ours))


def below(study: Study) -> Table:
    """What is changed where baselines are below the paper's, beside the default."""
    first = Shown("method", lambda study, setting, entry: word(Entry(entry.method).title))
    entries = [Entry("lsd"), Entry("csd"), Entry("csd", '{"first_temperature": 0.3}')]
    return variants(study, first, "maze-hard", SAME_NOISE, entries)


def _variant(study: Study, setting: Setting, entry: Entry) -> str:
    return study.of(setting, entry)[0].variant


def _changed(study: Study, setting: Setting, entry: Entry) -> Cell:
    """Options that are not as shipped, as they are typed."""
    of_task = {} if setting.published else json.loads(setting.options)
    typed = "every published value" if _variant(study, setting, entry) == "paper" else as_typed(of_task | entry.options)
    return word(f"`{typed}`" if typed.startswith("--") else typed or "as shipped")


def noisy(study: Study) -> Table:
    """What LEADS's skills reach under either noise, beside the control with that noise."""
    body, measured = [], [row for row in rows(RESULTS / "evaluation_noise.csv") if row["method"] == SHIPPED.method]
    for setting, (noise, control) in product(study.settings, {"white": WHITE, "pink": PINK}.items()):
        ours = [row for row in measured if (row["task"], row["noise"]) == (setting.task, noise)]
        for metric in OF_SKILLS if ours else ():
            values = [float(row[metric.name]) for row in ours], study.values(setting, control, metric)
            cells = [*(mean_std(side, metric.digits) for side in values), compared(*values), str(len(ours))]
            body.append([word(text) for text in (setting.title, noise, metric.label, *cells)])
    return _table(("task", "noise", "metric", SHIPPED.title, "control", f"{SHIPPED.title} is", "seeds"), body)


def every_run(study: Study) -> Table:
    """The rows of LEADS and the pink control as they are."""
    names = ("task", "method", "seed", *NUMBERS)
    shown = ((SHIPPED.method, ""), (PINK.method, ""))
    found = [row for row in rows(RESULTS / "runs.csv") if (row["method"], row["variant"]) in shown]
    found.sort(key=lambda row: (list(TITLES).index(row["task"]), row["method"], int(row["seed"])))
    return _table(names, [[word(row[name] or "-") for name in names] for row in found])


def _table(titles: Iterable[str], body: list[list[Cell]]) -> Table:
    return Table("", "", "", [Column(title) for title in titles], body)


TABLES: dict[str, Callable[[Study], Table]] = {
    "readme": lambda study: in_short(whole(study), OF_SKILLS),
    "mazes-in-short": lambda study: in_short(whole(study, MAZES), MEASURED),
    "robots-in-short": lambda study: in_short(whole(study, ROBOTS), MEASURED),
    "pink-in-short": lambda study: in_short(same_noise(study, "pink"), MEASURED),
    "white-in-short": lambda study: in_short(same_noise(study, "white"), MEASURED),
    **{f"all-{metric.file_name}": lambda study, of=metric: deviations(whole(study), of) for metric in TABLED},
    "summary": lambda study: numbers(whole(study, MAZES)),
    "robots": lambda study: numbers(whole(study, ROBOTS)),
    "white": lambda study: numbers(same_noise(study, "white"), RATE),
    "pink": lambda study: numbers(same_noise(study, "pink"), RATE),
    "paper": lambda study: table_1(whole(study, MAZES)),
    "robots-in-the-paper": lambda study: table_1(whole(study, ROBOTS)),
    "best": best,
    "best-as-shipped": lambda study: against_the_best(whole(study)),
    "tests": lambda study: tests(whole(study)),
    "noisy": lambda study: noisy(whole(study, ROBOTS)),
    "below": below,
    "ablation": lambda study: of_ours(study, "maze-hard", ABLATION),
    "slide": lambda study: of_ours(study, "fetch-slide", SLIDE),
    "cost": lambda study: listed(whole(study), TASK, METHOD, CPU, MEMORY),
    "runs": every_run,
}


def pages() -> list[Path]:
    """Those with places for tables."""
    every = (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    return [path for path in every if "<!-- table " in path.read_text()]


def filled(text: str, study: Study) -> str:
    """A page with its tables made anew."""
    made = lambda found: f"{found[1]}{TABLES[found[2]](study).grid()}\n{found[3]}"
    return re.sub("(<!-- table (.*?) -->\n).*?(<!-- end -->)", made, text, flags=re.DOTALL)


def main() -> None:
    study = read_rows(RESULTS)
    for path in pages():
        path.write_text(filled(path.read_text(), study))
        print(f"written {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
