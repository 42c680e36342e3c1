"""One page that holds a whole report and needs nothing else: tables, curves, and an explorer of every run's skills."""

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib import resources
from math import isfinite
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, to_hex

from leads.report import style
from leads.report.study.curves import Curve, curve, looks, profile_curve, published_coverage
from leads.report.study.exhibits import Exhibit, Maps, View
from leads.report.study.first import headline
from leads.report.study.result import COVERAGE, Entry
from leads.report.study.study import Study
from leads.report.study.tables import Table
from leads.training.metrics import Metric
from leads.training.snapshots import Snapshot

PARTS = resources.files("leads.report.study") / "page_parts"
SCRIPTS = ("table.js", "plot.js", "sketch.js", "explorer.js")
GRAIN = 1000
"""Steps into which the box of a task is divided on the page."""
IN_SUMMARY = ("first", "table1")
"""Tables that are shown at once."""
SNAPSHOTS = 8
"""Snapshots shown of runs that are neither the best nor the median of their method."""


def page(study: Study, tables: Sequence[Table], exhibits: Sequence[Exhibit]) -> str:
    """The page as HTML, with its styles, its script and its data in it."""
    at_once = _json(_data(study, exhibits)).replace("<", r"\u003c")  # which could end the element it stands in
    data = [f'<script type="application/json" id="data">{at_once}</script>']
    for i, exhibit in enumerate(exhibits):
        run = _json(_run(exhibit, study.tabled)).encode()
        data.append(_element(f"run-{i}", gzip.compress(run, mtime=0)))
    data += [_film(f"film-{i}", exhibit) for i, exhibit in enumerate(exhibits)]
    text = lambda name: (PARTS / name).read_text()
    html = text("page.html")
    parts = {
        "style": f"<style>{text('page.css')}</style>",
        "summary": _summary(study),
        "summary-tables": "\n".join(table.html() for table in tables if table.name in IN_SUMMARY),
        "tables": "\n".join(table.html() for table in tables if table.name not in IN_SUMMARY),
        "data": "\n".join(data),
        "script": "".join(f"<script>{text(name)}</script>" for name in SCRIPTS),
    }
    for name, part in parts.items():
        html = html.replace(f"<!-- {name} -->", part)
    return html


def _summary(study: Study) -> str:
    """What there is, what it says, and what does not count."""
    seeds, said = len({result.seed for result in study.results}), headline(study)
    settings = f"Settings (a task with its options and samples): {len(study.settings)}."
    lines = [f"<p>Finished runs: {len(study.results)}. {settings} Seeds: {seeds}.</p>"]
    lines.append(f"<p><strong>Is LEADS the best?</strong> {escape(said[0].upper() + said[1:])}</p>")
    unfinished = [
        f"{run.setting.title}, {run.entry.title}, seed {run.seed}: {run.numbers['samples']:,} of "
        f"{run.setting.samples:,} samples ({run.place})"
        for run in study.unfinished
    ]
    for title, runs in (("Unfinished, so in no table", unfinished), ("Left out", study.left_out)):
        if runs:
            rows = "".join(f"<li>{escape(run)}</li>" for run in runs)
            lines.append(f"<details><summary>{title}: {len(runs)}</summary><ul>{rows}</ul></details>")
    return "\n".join(lines)


def _data(study: Study, exhibits: Sequence[Exhibit]) -> dict[str, Any]:
    """What the script needs at once; a run's skills are unpacked when they are looked at."""
    drawn_as = looks(study)
    entries = list(drawn_as)
    curves = lambda metric: [[_curve(curve(study.of(s, entry), metric)) for entry in entries] for s in study.settings]
    published = [published_coverage(study, setting) for setting in study.settings]
    texts = lambda metric: {name: getattr(metric, name) for name in ("title", "unit", "label")}
    about = lambda metric: texts(metric) | {"largest": _rounded(metric.largest)}
    return {
        "settings": [setting.title for setting in study.settings],
        "samples": [setting.samples for setting in study.settings],
        "entries": [{"title": entry.title} | asdict(look) for entry, look in drawn_as.items()],
        "metrics": {metric.name: about(metric) for metric in study.tabled},
        "curves": {metric.name: curves(metric) for metric in study.tabled},
        "published": {COVERAGE.name: [[_rounded(of.get(entry)) for entry in entries] for of in published]},
        "profiles": {m.title: [_curve(profile_curve(study, entry, m)) for entry in entries] for m in study.ranked},
        "runs": [_about(study, entries, exhibit) for exhibit in exhibits],
        "grain": GRAIN,
        "heat": _ramp(style.heat()),
        "viridis": _ramp(matplotlib.colormaps["viridis"]),
    }


def _about(study: Study, entries: list[Entry], exhibit: Exhibit) -> dict[str, Any]:
    result = exhibit.result
    where = {"setting": study.settings.index(result.setting), "entry": entries.index(result.entry)}
    which = {"seed": result.seed, "best": exhibit.best, "median": exhibit.median}
    return where | which | {"directory": result.place, "loads": result.has_checkpoints}


def _run(exhibit: Exhibit, metrics: Sequence[Metric]) -> dict[str, Any]:
    """A run's skills and maps."""
    kept = exhibit.snapshots
    if not (exhibit.best or exhibit.median) and len(kept) > SNAPSHOTS:
        kept = [kept[i] for i in np.linspace(0, len(kept) - 1, SNAPSHOTS).round().astype(int)]
    lines = {line["samples"]: line for line in exhibit.result.log}
    return {
        "view": _view(exhibit.view),
        "colours": style.palette(len(kept[0].paths)),
        "snapshots": [_snapshot(snapshot, metrics, lines.get(snapshot.samples, {})) for snapshot in kept],
        "maps": None if exhibit.maps is None else _maps(exhibit.maps),
    }


def _view(view: View) -> dict[str, Any]:
    walls = [] if view.maze is None or view.maze.walls is None else view.maze.walls.tolist()
    box = {"names": view.names, "low": view.low.tolist(), "high": view.high.tolist()}
    return box | {"walls": walls, "maze": view.maze is not None}


def _snapshot(snapshot: Snapshot, metrics: Sequence[Metric], line: dict[str, Any]) -> dict[str, Any]:
    """Paths as a first point and the steps from each point to the next, which are small numbers and pack well."""
    points = _grains(snapshot.paths)
    steps = np.diff(points, axis=2, prepend=np.zeros_like(points[:, :, :1]))
    return {
        "epoch": snapshot.epoch,
        "samples": snapshot.samples,
        "numbers": {metric.name: _rounded(metric.of(line)) for metric in metrics},
        "paths": steps.reshape(*points.shape[:2], -1).tolist(),
        "lengths": snapshot.lengths.tolist(),
        "targets": None if snapshot.targets is None else _grains(snapshot.targets).tolist(),
    }


def _maps(maps: Maps) -> dict[str, Any]:
    """Levels of 0 to 254; 255 is where nothing is known."""
    level = lambda values: np.ma.filled((254 * values).round(), 255).astype(np.uint8)
    levels = lambda skills: None if skills is None else [_text(level(values).tobytes()) for values in skills]
    points = None if maps.points is None else _grains(maps.points).tolist()
    return {"measure": levels(maps.measure), "uncertainty": levels(maps.uncertainty), "points": points}


def _grains(boxed: np.ndarray) -> np.ndarray:
    return np.rint(boxed.astype(float) * GRAIN).astype(int)


def _curve(drawn: Curve | None) -> dict[str, Any] | None:
    if drawn is None:
        return None
    rounded = {name: [_rounded(x) for x in getattr(drawn, name)] for name in ("x", "mean", "low", "high")}
    return rounded | {"of": drawn.of}


def _rounded(value: float | None) -> float | None:
    """None also for what is not finite, which JSON cannot say."""
    return None if value is None or not isfinite(value) else float(f"{value:.5g}")


def _ramp(colours: Colormap) -> list[str]:
    return [to_hex(colours(level)) for level in np.linspace(0, 1, 64)]


def _film(name: str, exhibit: Exhibit) -> str:
    """The film that `leads skills` has made of a robot's best or median run, if it was asked to."""
    film = exhibit.result.film
    shown = film and exhibit.view.maze is None and (exhibit.best or exhibit.median)
    return _element(name, film.read_bytes()) if film and shown else ""


def _element(name: str, data: bytes) -> str:
    return f'<script type="text/plain" id="{name}">{_text(data)}</script>'


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _json(data: Any) -> str:
    """JSON that every browser reads: NaN is none."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)
