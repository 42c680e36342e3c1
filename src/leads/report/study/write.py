"""Writes a report: tables, figures and one page."""

import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from leads.report import style
from leads.report.run.skills import write_skills
from leads.report.study.curves import coverage_figure, profiles_figure
from leads.report.study.exhibits import Exhibit, agent_of, exhibits, skills_figure
from leads.report.study.page import page
from leads.report.study.read import read_study
from leads.report.study.study import Study
from leads.report.study.study_tables import study_tables
from leads.training.checkpoint import write_whole
from leads.training.train import EVALUATION_EPISODES


def write_report(directory: Path, out: Path, films: bool = False) -> Iterator[str]:
    """The report of all runs below a directory; films are made of robots' best runs that have none."""
    yield from write_study(read_study(directory), out, films)


def write_study(study: Study, out: Path, films: bool = False) -> Iterator[str]:
    """Yields one line for every file that it has written."""
    tables, figures = study_tables(study), out / "figures"
    with style.writing_to(out / "tables"):
        yield from (f"table {path}" for table in tables for path in table.write(out / "tables"))
    yield f"figure {style.save(coverage_figure(study), figures, 'coverage')}"
    for metric in study.ranked:
        yield f"figure {style.save(profiles_figure(study, metric), figures, f'profiles_{metric.file_name}')}"
    gone = sum(not result.has_checkpoints for result in study.results)
    if gone:
        yield f"no checkpoints in {gone} of {len(study.results)} runs: they have no maps and no new films"
    shown = list(exhibits(study))
    yield from _skills(study, shown, figures)
    if films:
        yield from _films(shown)
    with style.writing_to(out):
        write_whole(out / "index.html", page(study, tables, shown).encode())
    yield f"page {out / 'index.html'}"


def _skills(study: Study, shown: list[Exhibit], out: Path) -> Iterator[str]:
    """The skills of every method's best and median seed, one figure per setting; a single feature has no plane."""
    for old in (*out.glob("skills_best_*"), *out.glob("skills_median_*")):
        old.unlink()  # of an earlier report, perhaps of a setting that is gone
    for setting, name in zip(study.settings, file_names([setting.title for setting in study.settings]), strict=True):
        for which in ("best", "median"):
            chosen = [exhibit for exhibit in shown if exhibit.result.setting == setting and getattr(exhibit, which)]
            if chosen and len(chosen[0].view.names) > 1:
                yield f"figure {style.save(skills_figure(chosen), out, f'skills_{which}_{name}')}"


def _films(shown: list[Exhibit]) -> Iterator[str]:
    """What `leads skills` makes of a run, in the run's own directory; the page takes films from there."""
    robots = [exhibit.result for exhibit in shown if exhibit.best and exhibit.view.maze is None]
    for agent in (agent_of(result) for result in robots if result.film is None):
        if agent is not None:
            with agent:
                lines = write_skills(agent, agent.run.figures, EVALUATION_EPISODES)
            yield from (line for line in lines if line.endswith(".mp4"))


def file_names(titles: list[str]) -> list[str]:
    """Titles as names of files, no two alike."""
    names: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        names.append(next(name for name in chain([plain], (f"{plain}_{i}" for i in count(2))) if name not in names))
    return names
