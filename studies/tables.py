"""Puts the tables made from results/ into README.md and docs/ (`make results`).

A table stands between `<!-- table NAME -->` and `<!-- end -->`; everything else in a page is left as it is.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import speed_tables
from collect import RESULTS

from leads.config.fields import defaults
from leads.methods import METHODS
from leads.report.study.first import against_best, against_the_best, table_1
from leads.report.study.read import NUMBERS, read_rows, rows
from leads.report.study.result import PAPER, SHIPPED, Entry, Setting, spelt_out
from leads.report.study.study import Study
from leads.report.study.study_tables import CPU, MEMORY, RATE, SEEDS, deviations, in_short, means, places, tested
from leads.report.study.tables import AGAINST, METHOD, TASK, Cell, Column, Table, compared, listed, mean_std, word
from leads.training.metrics import METRICS, PRODUCT, Metric

ROOT = Path(__file__).parents[1]
MAZES = {"maze-easy": "Easy", "maze-u": "U", "maze-hard": "Hard"}
ROBOTS = {"fetch-reach": "Fetch-Reach", "fetch-slide": "Fetch-Slide", "finger": "Finger"}
BODIES = ("half-cheetah", "ant")
TITLES = MAZES | ROBOTS
PINK = Entry("random", called="control: pink noise")
WHITE = Entry("random", '{"noise": "white"}', "control: white noise")
LOUD = Entry("random", '{"scale": 1.0}', "control: loud pink noise")
PULLED = '{"improve": "sac", "policy_average": 0.0, "pull": "beyond", "visits": "measure", "wanted_entropy": -0.5}'
BY_SAC = Entry(SHIPPED.method, '{"improve": "sac"}', "LEADS by SAC")
BY_PULL = Entry(SHIPPED.method, PULLED, "LEADS by SAC, by the measure and with a pull")
BY_MEASURE = Entry(SHIPPED.method, '{"improve": "measure"}', "LEADS through the measure")
ENTRIES = [*filter(lambda entry: entry.learns, map(Entry, METHODS)), BY_MEASURE, PINK, WHITE, LOUD]
SAME_NOISE, ABLATION, SLIDE = 300_000, 150_000, 48_000
"""Samples at which methods are compared under the same noise, and variants of LEADS in the maze and on the robot."""
TABLED = [metric for metric in METRICS.values() if metric.tabled and metric.everywhere]
MEASURED = [metric for metric in TABLED if metric.compute]
WITH_PRODUCT = [*MEASURED, METRICS[PRODUCT]]
IN_METRES = [metric for metric in METRICS.values() if metric.tabled and not metric.everywhere]
OF_SKILLS = [metric for metric in MEASURED if metric.of_skills]


def whole(study: Study, tasks: Iterable[str] = TITLES) -> Study:
    """Methods as they ship and controls, with the paper's budgets."""
    return _on(study, {task: PAPER["budgets_samples"][task] for task in tasks}, ENTRIES)


def as_shipped(study: Study) -> Study:
    """Without LEADS's other way to improve its policy."""
    return study.only(entries=[entry for entry in study.entries if entry != BY_MEASURE])


def same_noise(study: Study, noise: str) -> Study:
    """All methods in the mazes, collecting with the same noise."""
    ships = lambda method: defaults(METHODS.find(method).Config)["noise"] == noise
    entries = [Entry(m, "{}" if ships(m) else json.dumps({"noise": noise}), Entry(m).title) for m in METHODS]
    entries += [BY_SAC, BY_PULL] if noise == "white" else []
    return _on(study.at(SAME_NOISE), dict.fromkeys(MAZES, SAME_NOISE), entries)


def _on(study: Study, samples: dict[str, int], entries: Iterable[Entry]) -> Study:
    """Tasks with the paper's options and with some numbers of samples."""
    papers = [setting for setting in study.settings if setting.published]
    found = {setting.task: setting for setting in papers if setting.samples == samples.get(setting.task)}
    chosen = study.only([replace(found[task], called=TITLES[task]) for task in samples], entries)
    return chosen.only(entries=[entry for entry in chosen.entries if chosen.covered(entry)])


def numbers(study: Study, *more: Column) -> Table:
    """Every metric of every entry in every setting."""
    return listed([TASK, METHOD, *map(means, TABLED), *more, SEEDS], places(study)).uncounted()


def tests(study: Study, shown: Iterable[Metric] = tuple(MEASURED), ours: Entry = SHIPPED) -> Table:
    """Welch's tests of LEADS against each baseline and control, where it has runs."""
    whom = replace(AGAINST, title=f"{ours.title} against")
    beside = [place[1:] for place in places(study) if study.of(place[1], ours)]
    pairs = [(study, setting, ours, entry) for setting, entry in beside if entry != ours]
    return listed([TASK, whom, *map(tested, shown)], pairs).uncounted()


def bodies(study: Study) -> Study:
    """Methods on tasks with metres."""
    settings = [replace(setting, called="") for setting in study.settings if setting.task in BODIES]
    return study.only(settings, [SHIPPED, BY_MEASURE, Entry("metra")])


def in_metres(study: Study) -> Table:
    of = bodies(study)
    shown = [metric for metric in METRICS.values() if metric.tabled]
    return listed([TASK, METHOD, *map(means, shown), RATE, SEEDS], places(of)).uncounted()


def best(study: Study) -> Table:
    """Who is first under either noise."""
    under = {noise: same_noise(study, noise) for noise in ("white", "pink")}
    found = [(of, setting, noise) for noise, of in under.items() for setting in of.settings]
    return listed([Column("noise", lambda *row: word(row[-1])), TASK, *map(against_best, TABLED)], found)


def variants(study: Study, first: Column, task: str, samples: int, entries: Iterable[Entry]) -> Table:
    """Entries on a task, also with other options of the task, read off at a number of samples."""
    then = study.at(samples)
    settings = sorted((s for s in then.settings if s.task == task), key=lambda setting: not setting.published)
    found = [(then, setting, entry) for entry in entries for setting in settings if then.of(setting, entry)]
    return listed([first, Column("what is changed", _changed), *map(means, MEASURED), SEEDS], found).uncounted()


def of_ours(study: Study, task: str, samples: int, which: Callable[[Entry], bool] = lambda entry: True) -> Table:
    """Variants of LEADS."""
    first = Column("variant", lambda *place: word(_variant(*place) or "default"))
    ours = [entry for entry in study.entries if entry.method == SHIPPED.method and which(entry)]
    return variants(study, first, task, samples, ours)


def by_sac(entry: Entry) -> bool:
    return entry.options.get("improve") == "sac"


def below(study: Study) -> Table:
    """What is changed where baselines are below the paper's, beside the default."""
    first = Column("method", lambda study, setting, entry: word(Entry(entry.method).title))
    entries = [Entry("lsd"), Entry("csd"), Entry("csd", '{"first_temperature": 0.3}')]
    return variants(study, first, "maze-hard", SAME_NOISE, entries)


def _variant(study: Study, setting: Setting, entry: Entry) -> str:
    return study.of(setting, entry)[0].variant


def _changed(study: Study, setting: Setting, entry: Entry) -> Cell:
    """Options that are not as shipped, as they are typed."""
    if _variant(study, setting, entry) == "paper":
        return word("every published value")
    changed = entry.options if setting.published else json.loads(setting.options) | entry.options
    typed = [f"--{option}" for option in spelt_out({name.replace("_", "-"): of for name, of in changed.items()})]
    return word(f"`{' '.join(typed)}`" if typed else "as shipped")


def noisy(study: Study) -> Table:
    """What LEADS's skills reach under either noise, beside the control with that noise."""
    body, measured = [], [row for row in rows(RESULTS / "evaluation_noise.csv") if row["method"] == SHIPPED.method]
    for setting, (noise, control) in product(study.settings, {"white": WHITE, "pink": PINK}.items()):
        ours = [row for row in measured if (row["task"], row["noise"]) == (setting.task, noise)]
        for metric in OF_SKILLS if ours else ():
            values = [float(row[metric.name]) for row in ours], study.values(setting, control, metric)
            cells = [*(mean_std(side, metric.digits) for side in values), compared(*values), str(len(ours))]
            body.append((setting.title, noise, metric.label, *cells))
    titles = ("task", "noise", "metric", SHIPPED.title, "control", f"{SHIPPED.title} is", "seeds")
    return _texts(titles, body)


def every_run(study: Study) -> Table:
    """The rows of LEADS and the pink control as they are."""
    shown = ((SHIPPED.method, ""), (PINK.method, ""))
    found = [row for row in rows(RESULTS / "runs.csv") if (row["method"], row["variant"]) in shown]
    found = [row for row in found if row["task"] in TITLES]
    found.sort(key=lambda row: (list(TITLES).index(row["task"]), row["method"], int(row["seed"])))
    names = [name for name in ("task", "method", "seed", *NUMBERS) if any(row.get(name) for row in found)]
    return _texts(names, [[row[name] or "-" for name in names] for row in found])


def _texts(titles: Iterable[str], body: Iterable[Iterable[str]]) -> Table:
    return Table([Column(title, word) for title in titles], [list(map(word, row)) for row in body])


TABLES: dict[str, Callable[[Study], Table]] = {
    "readme": lambda study: in_short(as_shipped(whole(study)), OF_SKILLS),
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
    "robots-in-the-paper": lambda study: table_1(as_shipped(whole(study, ROBOTS))),
    "best": best,
    "best-as-shipped": lambda study: against_the_best(as_shipped(whole(study))),
    "tests": lambda study: tests(whole(study)),
    "slide-tests": lambda study: tests(whole(study, ["fetch-slide"]), WITH_PRODUCT),
    "reach-tests": lambda study: tests(whole(study, ["fetch-reach"]), WITH_PRODUCT),
    "finger-tests": lambda study: tests(whole(study, ["finger"]), WITH_PRODUCT),
    "noisy": lambda study: noisy(whole(study, ROBOTS)),
    "below": below,
    "tests-by-sac": lambda study: tests(same_noise(study, "white"), WITH_PRODUCT, BY_SAC),
    "bodies": in_metres,
    "tests-of-bodies": lambda study: tests(bodies(study), IN_METRES),
    "ablation": lambda study: of_ours(study, "maze-hard", ABLATION, lambda of: not by_sac(of) or of == BY_SAC),
    "parts": lambda study: of_ours(study, "maze-hard", ABLATION, by_sac),
    "slide": lambda study: of_ours(study, "fetch-slide", SLIDE),
    "cost": lambda study: listed([TASK, METHOD, CPU, MEMORY], places(whole(study))).uncounted(),
    "runs": every_run,
    **{name: lambda study, make=make: _texts(*make()) for name, make in speed_tables.TABLES.items()},
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
