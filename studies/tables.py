"""Makes the tables in README.md and docs/ from the CSV files in results/ (`make results`).

A table stands between `<!-- table NAME -->` and `<!-- end -->`; everything else in a page is left as it is.
"""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from collect import SHORTER, rows

from leads.benchmark.suites import blocks
from leads.report.study.study import BOTH, NUMBERS, PAPER
from leads.report.study.study_tables import TITLES, digits
from leads.report.study.tables import compared, markdown, mean_std

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = ("README.md", "docs/results.md", "docs/methods/leads.md", "docs/comparison.md")
TASKS = {"maze-easy": "Easy", "maze-u": "U", "maze-hard": "Hard"}
ROBOTS = {"fetch-reach": "Fetch-Reach", "fetch-slide": "Fetch-Slide", "finger": "Finger"}
CONTROLS = {
    ("random", ""): "control: pink noise",
    ("random", "white"): "control: white noise",
    ("random", "loud"): "control: loud pink noise",
}
BASELINES = ("metra", "csd", "lsd", "diayn", "smm", "rnd", "ngu")
ON_ROBOTS = ("metra", "csd")
"""Baselines that are compared on the robots too."""
BY_NOISE = {
    "white": [("leads", "white"), *((method, "") for method in BASELINES), ("random", "white")],
    "pink": [("leads", ""), *((method, "pink") for method in BASELINES), ("random", "")],
}
"""Who collects with which noise: (method, variant)."""

Rows = list[dict[str, str]]


def select(table: Rows, **wanted: str) -> Rows:
    return [row for row in table if all(row[name] == value for name, value in wanted.items())]


def values(table: Rows, number: str) -> list[float]:
    if number == BOTH:
        return [float(row["skill_coverage"]) * float(row["distinctness"]) for row in table]
    return [float(row[number]) for row in table if row[number] != ""]


def cells_of(table: Rows, numbers: Iterable[str]) -> list[str]:
    return [mean_std(values(table, number), digits(number)) for number in numbers]


def titles(numbers: Iterable[str]) -> list[str]:
    return [TITLES[number] for number in numbers]


def of(runs: Rows, method: tuple[str, str], task: str, walls: str = "terminate") -> Rows:
    on_wall = walls if task in TASKS else ""
    return select(runs, method=method[0], variant=method[1], task=task, on_wall=on_wall)


def whole(runs: Rows, method: tuple[str, str], task: str) -> Rows:
    """Runs as the method ships, of the task's whole budget."""
    longest = max(float(row["samples"]) for row in select(runs, task=task))
    return [row for row in of(runs, method, task) if float(row["samples"]) > SHORTER * longest]


def methods_of(task: str) -> dict[tuple[str, str], str]:
    """LEADS, the baselines and the controls of a task, by name."""
    baselines = ON_ROBOTS if task in ROBOTS else BASELINES
    return {(method, ""): title_of(method) for method in ("leads", *baselines)} | CONTROLS


def summary(runs: Rows, curves: Rows) -> str:
    """Every number of all methods and controls on every maze."""
    return _summary(runs, TASKS, "maze")


def robots(runs: Rows, curves: Rows) -> str:
    """The same of the robots."""
    return _summary(runs, ROBOTS, "robot")


def _summary(runs: Rows, tasks: dict[str, str], kind: str) -> str:
    body = []
    for task, title in tasks.items():
        for method, name in methods_of(task).items():
            found = whole(runs, method, task)
            body.append([title, name, *cells_of(found, TITLES), str(len(found))])
    return markdown([kind, "method", *TITLES.values(), "seeds"], body)


def mazes_in_short(runs: Rows, curves: Rows) -> str:
    """The README's table of the mazes: coverage / fine coverage / skill coverage / distinctness, means of the seeds."""
    return _in_short(runs, TASKS)


def robots_in_short(runs: Rows, curves: Rows) -> str:
    """The same of the robots."""
    return _in_short(runs, ROBOTS)


def _in_short(runs: Rows, tasks: dict[str, str]) -> str:
    names = methods_of(next(iter(tasks)))
    return _means_of({name: [whole(runs, method, task) for task in tasks] for method, name in names.items()}, tasks)


def pink_in_short(runs: Rows, curves: Rows) -> str:
    """The README's table of all methods with pink noise."""
    found = {title_of(m): [_ends(curves, (m, variant), task) for task in TASKS] for m, variant in BY_NOISE["pink"]}
    return _means_of(found, TASKS)


def _means_of(found: dict[str, list[Rows]], tasks: dict[str, str]) -> str:
    body = [[name, *map(_means, cells), " / ".join(str(len(cell)) for cell in cells)] for name, cells in found.items()]
    return markdown(["method", *tasks.values(), "seeds"], body)


def _means(table: Rows) -> str:
    shown = {"distinctness": ".2f"}
    means = {number: statistics.mean(values(table, number)) for number in NUMBERS} if table else {}
    return " / ".join(f"{mean:{shown.get(number, '.0f')}}" for number, mean in means.items()) or "missing"


def cost(runs: Rows, curves: Rows) -> str:
    """What the runs cost."""
    body = []
    for task, title in (TASKS | ROBOTS).items():
        for method, name in methods_of(task).items():
            found = whole(runs, method, task)
            seconds, memory = values(found, "cpu_seconds"), values(found, "peak_rss_mb")
            largest = f"{max(memory):.0f}" if memory else "missing"
            body.append([title, name, mean_std(seconds, 0), largest])
    return markdown(["task", "method", "CPU seconds", "largest peak memory, MB"], body)


def paper(runs: Rows, curves: Rows) -> str:
    """Relative coverage on the mazes beside the paper's."""
    return _beside_the_paper(runs, TASKS, BASELINES)


def robots_in_the_paper(runs: Rows, curves: Rows) -> str:
    """The same of the robots."""
    return _beside_the_paper(runs, ROBOTS, ON_ROBOTS)


def _beside_the_paper(runs: Rows, tasks: dict[str, str], baselines: Sequence[str]) -> str:
    """In percent of the largest coverage of any run of LEADS, the baselines and the controls."""
    body = []
    for method in ("leads", *baselines):
        cells = []
        for task in tasks:
            mean, std = PAPER["coverage"][method][task]
            largest = max(value for each in methods_of(task) for value in values(whole(runs, each, task), "coverage"))
            ours = [100 * value / largest for value in values(whole(runs, (method, ""), task), "coverage")]
            below = ", below" if ours and statistics.mean(ours) < mean - std else ""
            cells += [f"{mean:.1f} ± {std:.1f}", f"{mean_std(ours, 1)} (n = {len(ours)}{below})"]
        body.append([title_of(method), *cells])
    return markdown(["method", *(f"{title}, {whose}" for title in tasks.values() for whose in ("paper", "ours"))], body)


def title_of(method: str) -> str:
    return {"leads": "**LEADS**", "random": "control: noise alone"}.get(method, method.upper())


def white(runs: Rows, curves: Rows) -> str:
    """All methods, collecting with white noise."""
    return _methods(runs, curves, "white")


def pink(runs: Rows, curves: Rows) -> str:
    """All methods, collecting with pink noise."""
    return _methods(runs, curves, "pink")


def _methods(runs: Rows, curves: Rows, noise: str) -> str:
    """All methods at the same number of samples, read off the curves, and what they cost."""
    body = []
    for task, title in TASKS.items():
        for method in BY_NOISE[noise]:
            ends = _ends(curves, method, task)
            seeds = {row["seed"] for row in ends}
            done = [row for row in of(runs, method, task) if row["seed"] in seeds]
            cost = [float(row["cpu_seconds"]) / float(row["samples"]) * 1e5 for row in done]
            body.append([title, title_of(method[0]), *cells_of(ends, TITLES), mean_std(cost, 0), str(len(ends))])
    return markdown(["maze", "method", *TITLES.values(), "CPU s per 100,000 samples", "seeds"], body)


def _ends(curves: Rows, method: tuple[str, str], task: str, walls: str = "terminate") -> Rows:
    """What each seed had at the number of samples at which methods are compared under the same noise."""
    return _at(of(curves, method, task, walls), blocks("noises")[0].samples or 0)


def below(runs: Rows, curves: Rows) -> str:
    """What is changed where baselines are below the paper's, beside the default."""
    changes: dict[str, dict[str, dict[str, Any]]] = {}
    for block in blocks("below"):
        for method in block.methods:
            changes.setdefault(method, {"": {}}).update(block.variants)
    body = []
    for method, variants in changes.items():
        for variant, options in variants.items():
            ends = _ends(curves, (method, variant), "maze-hard", options.get("on_wall", "terminate"))
            changed = f"`{_as_typed(options)}`" if options else "as shipped"
            body.append([title_of(method), changed, *cells_of(ends, NUMBERS), str(len(ends))])
    return markdown(["method", "what is changed", *titles(NUMBERS), "seeds"], body)


def best(runs: Rows, curves: Rows) -> str:
    """In what LEADS is ahead of all seven and the control under the same noise, and if not, who is."""
    found = {
        (noise, title): {method: _ends(curves, method, task) for method in methods}
        for noise, methods in BY_NOISE.items()
        for task, title in TASKS.items()
    }
    return markdown(["noise", "maze", *TITLES.values()], _who_is_first(found))


def best_as_shipped(runs: Rows, curves: Rows) -> str:
    """The same of whole budgets, each method as it ships and beside all controls."""
    found = {
        (title,): {method: whole(runs, method, task) for method in methods_of(task)}
        for task, title in (TASKS | ROBOTS).items()
    }
    return markdown(["task", *TITLES.values()], _who_is_first(found))


def _who_is_first(found: dict[tuple[str, ...], dict[tuple[str, str], Rows]]) -> list[list[str]]:
    body = []
    for where, runs_of in found.items():
        numbers = {number: {m: values(table, number) for m, table in runs_of.items()} for number in TITLES}
        body.append([*where, *(_first(each, digits(number)) for number, each in numbers.items())])
    return body


def _first(found: dict[tuple[str, str], list[float]], shown: int) -> str:
    """Who has the highest mean, in the digits that are shown, and how LEADS, given first, compares with the best other.

    Ties are told without a test; who has no runs takes no part, and without LEADS's there is nothing to tell.
    """
    ours, others = next(iter(found)), [method for method, numbers in list(found.items())[1:] if numbers]
    if not found[ours] or not others:
        return "missing"
    found = {method: found[method] for method in (ours, *others)}
    means = {method: round(statistics.mean(numbers), shown) for method, numbers in found.items()}
    first = [method for method, mean in means.items() if mean == max(means.values())]
    rival = max(others, key=lambda method: statistics.mean(found[method]))
    test = compared(found[ours], found[rival])
    if first == [ours]:
        return f"{_name(ours)}; {test.replace('above', f'above {_name(rival)}')}"
    names = ", ".join(map(_name, first))
    return names if ours in first else f"{names}; LEADS is {test}"


def _name(method: tuple[str, str]) -> str:
    return CONTROLS.get(method) or title_of(method[0])


def _at(points: Rows, samples: int) -> Rows:
    """Of each seed the evaluated point of its curve that is nearest to a number of samples, if it got that far."""
    known = [row for row in points if row["skill_coverage"] != "" and int(row["samples"]) > 0.8 * samples]
    distance = lambda row: abs(int(row["samples"]) - samples)
    return [min(select(known, seed=seed), key=distance) for seed in sorted({row["seed"] for row in known})]


def tests(runs: Rows, curves: Rows) -> str:
    """Welch's t-test of LEADS against each baseline and control."""
    body = []
    for task, title in (TASKS | ROBOTS).items():
        for method, name in list(methods_of(task).items())[1:]:
            cells = []
            for number in NUMBERS:
                ours, theirs = (values(whole(runs, each, task), number) for each in (("leads", ""), method))
                cells.append(compared(ours, theirs))
            body.append([title, name, *cells])
    return markdown(["task", "LEADS against", *titles(NUMBERS)], body)


def noisy(runs: Rows, curves: Rows) -> str:
    """What LEADS's skills reach under either noise, beside the control with that noise."""
    skills, body = select(rows(RESULTS / "evaluation_noise.csv"), method="leads"), []
    for task in (task for task in ROBOTS if select(skills, task=task)):
        for noise, variant in (("white", "white"), ("pink", "")):
            ours, theirs = select(skills, task=task, noise=noise), of(runs, ("random", variant), task)
            cells = []
            for number in ("skill_coverage", "distinctness"):
                both = values(ours, number), values(theirs, number)
                cells += [*(mean_std(x, digits(number)) for x in both), compared(*both)]
            body.append([ROBOTS[task], noise, *cells, str(len(ours))])
    sides = ("LEADS", "control", "LEADS is")
    header = [f"{TITLES[number]}, {side}" for number in ("skill_coverage", "distinctness") for side in sides]
    return markdown(["robot", "noise", *header, "seeds"], body)


def every_run(runs: Rows, curves: Rows) -> str:
    """Every run of LEADS and the pink control on its own."""
    columns = ["seed", "samples", *NUMBERS, "reach", "cpu_seconds", "peak_rss_mb"]
    body = []
    for task, title in (TASKS | ROBOTS).items():
        for method in (("leads", ""), ("random", "")):
            for row in sorted(of(runs, method, task), key=lambda row: int(row["seed"])):
                body.append([title, methods_of(task)[method], *(row[column] or "-" for column in columns)])
    return markdown(["task", "method", *columns], body)


def ablation(runs: Rows, curves: Rows) -> str:
    """Variants of LEADS on maze-hard."""
    return _ablation(curves, "ablation")


def slide(runs: Rows, curves: Rows) -> str:
    """Variants of LEADS on fetch-slide."""
    return _ablation(curves, "slide")


def _ablation(curves: Rows, suite: str) -> str:
    """Each variant at the same number of samples, read off the curves."""
    body = []
    for block in blocks(suite):
        for variant, options in (block.variants or {"": {}}).items():
            ends = _at(of(curves, ("leads", variant), block.tasks[0]), block.samples or 0)
            changed = {"": "as shipped", "paper": "every published value"}.get(variant) or f"`{_as_typed(options)}`"
            body.append([variant or "default", changed, *cells_of(ends, NUMBERS), str(len(ends))])
    return markdown(["variant", "what is changed", *titles(NUMBERS), "seeds"], body)


def _as_typed(options: dict[str, Any]) -> str:
    """Options of a variant as those of `leads train`."""
    word = lambda value: ",".join(map(str, value)) if isinstance(value, list) else value
    return " ".join(f"--{name.replace('_', '-')} {word(value)}" for name, value in options.items())


TABLES: dict[str, Callable[[Rows, Rows], str]] = {
    "summary": summary,
    "robots": robots,
    "cost": cost,
    "paper": paper,
    "robots-in-the-paper": robots_in_the_paper,
    "tests": tests,
    "noisy": noisy,
    "runs": every_run,
    "ablation": ablation,
    "slide": slide,
    "white": white,
    "pink": pink,
    "mazes-in-short": mazes_in_short,
    "robots-in-short": robots_in_short,
    "pink-in-short": pink_in_short,
    "best": best,
    "best-as-shipped": best_as_shipped,
    "below": below,
}


def filled(text: str) -> str:
    """A page with its tables made anew."""
    runs, curves = rows(RESULTS / "runs.csv"), rows(RESULTS / "curves.csv")
    for name, make in TABLES.items():
        between = re.compile(f"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if between.search(text):
            made = make(runs, curves)
            text = between.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    return text


def main() -> None:
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(path.read_text()))
        print(f"written {page}")


if __name__ == "__main__":
    main()
