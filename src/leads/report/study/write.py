"""Writes a report: tables, figures and one page, from run directories alone."""

import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from leads.report import style
from leads.report.run.film import write_skills
from leads.report.study.curves import coverage_figure, profiles_figure
from leads.report.study.exhibits import Exhibit, agent_of, exhibits, has_checkpoints, skills_figure
from leads.report.study.page import page
from leads.report.study.study import Study, read_study
from leads.report.study.study_tables import RANKED, in_files, study_tables
from leads.training.checkpoint import write_whole
from leads.training.evaluation import EVALUATION_EPISODES


def write_report(directory: Path, out: Path, films: bool = False) -> Iterator[str]:
    """Yields a line for every file that it has written; films are made of robots' best runs that have none."""
    study = read_study(directory)
    tables = study_tables(study)
    with style.writing_to(out / "tables"):
        for table in tables:
            yield from (f"table {path}" for path in table.write(out / "tables"))
    yield f"figure {style.save(coverage_figure(study), out / 'figures', 'coverage')}"
    for name in RANKED:
        yield f"figure {style.save(profiles_figure(study, name), out / 'figures', f'profiles_{in_files(name)}')}"
    gone = sum(not has_checkpoints(result) for result in study.results)
    if gone:
        yield f"no checkpoints in {gone} of {len(study.results)} runs: they have no maps and no new films"
    shown = list(exhibits(study))
    yield from _skills(study, shown, out / "figures")
    if films:
        yield from _films(shown)
    with style.writing_to(out):
        write_whole(out / "index.html", page(study, tables, shown).encode())
    yield f"page {out / 'index.html'}"


def _skills(study: Study, shown: list[Exhibit], out: Path) -> Iterator[str]:
    """The skills of every method's best and median seed, a figure a setting; a single feature has no plane."""
    for old in (*out.glob("skills_best_*"), *out.glob("skills_median_*")):
        old.unlink()  # of an earlier report, perhaps of a setting that is gone
    for setting, name in zip(study.settings, file_names([setting.title for setting in study.settings]), strict=True):
        for which in ("best", "median"):
            chosen = [exhibit for exhibit in shown if exhibit.result.setting == setting and getattr(exhibit, which)]
            if chosen and len(chosen[0].view.names) > 1:
                yield f"figure {style.save(skills_figure(chosen), out, f'skills_{which}_{name}')}"


def _films(shown: list[Exhibit]) -> Iterator[str]:
    """What `leads skills` makes of a run, in the run's own directory; the page takes films from there."""
    for exhibit in shown:
        run = exhibit.result.run
        if exhibit.best and not exhibit.has_film and exhibit.view.maze is None:
            agent = agent_of(exhibit.result)
            lines = [] if agent is None else write_skills(agent, run.figures, EVALUATION_EPISODES)
            yield from (line for line in lines if line.endswith(".mp4"))


def file_names(titles: list[str]) -> list[str]:
    """Titles as names of files, each of its own."""
    names: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        names.append(next(name for name in chain([plain], (f"{plain}_{i}" for i in count(2))) if name not in names))
    return names
