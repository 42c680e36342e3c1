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
from leads.report.study.entry import Entry
from leads.report.study.exhibits import Exhibit, Maps, View
from leads.report.study.first import headline
from leads.report.study.result import COVERAGE
from leads.report.study.study import Study
from leads.report.study.tables import Table
from leads.training.metrics import Metric
from leads.training.snapshots import Snapshot

PARTS = resources.files("leads.report.study") / "page_parts"
GRAIN = 1000
"""Steps into which the box of a task is divided on the page."""
IN_SUMMARY = ("first", "table1")
"""Tables that are shown at once."""
SNAPSHOTS = 8
"""Snapshots shown of runs that are neither the best nor the median of their method."""


def page(study: Study, tables: Sequence[Table], exhibits: Sequence[Exhibit]) -> str:
    """The page as HTML, with its styles, its script and its data in it."""
    runs = "\n".join(_packed(f"run-{i}", _run(exhibit, study.tabled)) for i, exhibit in enumerate(exhibits))
    films = "\n".join(_film(f"film-{i}", exhibit) for i, exhibit in enumerate(exhibits))
    summary = [table.html() for table in tables if table.name in IN_SUMMARY]
    others = [table.html() for table in tables if table.name not in IN_SUMMARY]
    parts = {
        "style": f"<style>{_part('page.css')}</style>",
        "summary": _summary(study),
        "summary-tables": "\n".join(summary),
        "tables": "\n".join(others),
        "data": f'<script type="application/json" id="data">{_json(_data(study, exhibits))}</script>\n{runs}\n{films}',
        "script": "".join(
            f"<script>{_part(name)}</script>" for name in ("table.js", "plot.js", "sketch.js", "explorer.js")
        ),
    }
    html = _part("page.html")
    for name, part in parts.items():
        html = html.replace(f"<!-- {name} -->", part)
    return html


def _part(name: str) -> str:
    return (PARTS / name).read_text()


def _summary(study: Study) -> str:
    """What there is, what it says, and what does not count."""
    seeds = len({result.seed for result in study.results})
    settings = f"Settings (a task with its options and samples): {len(study.settings)}."
    lines = [f"<p>Finished runs: {len(study.results)}. {settings} Seeds: {seeds}.</p>"]
    lines.append(f"<p><strong>Is LEADS the best?</strong> {escape(_sentence(headline(study)))}</p>")
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


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _data(study: Study, exhibits: Sequence[Exhibit]) -> dict[str, Any]:
    """What the script needs at once; a run's skills are unpacked when they are looked at."""
    drawn_as = looks(study)
    entries = list(drawn_as)
    curves = {
        metric.name: [[_curve(curve(study.of(s, entry), metric)) for entry in entries] for s in study.settings]
        for metric in study.tabled
    }
    published = [published_coverage(study, setting) for setting in study.settings]
    return {
        "settings": [setting.title for setting in study.settings],
        "samples": [setting.samples for setting in study.settings],
        "entries": [{"title": entry.title} | asdict(look) for entry, look in drawn_as.items()],
        "metrics": {
            metric.name: {name: getattr(metric, name) for name in ("title", "unit", "label", "largest")}
            for metric in study.tabled
        },
        "curves": curves,
        "published": {COVERAGE.name: [[_rounded(of.get(entry)) for entry in entries] for of in published]},
        "profiles": {m.title: [_curve(profile_curve(study, entry, m)) for entry in entries] for m in study.ranked},
        "runs": [_about(study, entries, exhibit) for exhibit in exhibits],
        "grain": GRAIN,
        "heat": _ramp(style.heat()),
        "viridis": _ramp(matplotlib.colormaps["viridis"]),
    }


def _about(study: Study, entries: list[Entry], exhibit: Exhibit) -> dict[str, Any]:
    result = exhibit.result
    return {
        "setting": study.settings.index(result.setting),
        "entry": entries.index(result.entry),
        "seed": result.seed,
        "best": exhibit.best,
        "median": exhibit.median,
        "directory": result.place,
        "loads": result.has_checkpoints,
    }


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
    return {
        "names": view.names,
        "low": view.low.tolist(),
        "high": view.high.tolist(),
        "walls": walls,
        "maze": view.maze is not None,
    }


def _snapshot(snapshot: Snapshot, metrics: Sequence[Metric], line: dict[str, Any]) -> dict[str, Any]:
    """Paths as a first point and the steps from each point to the next, which are small numbers and pack well."""
    points = _grains(snapshot.paths)
    first = np.zeros_like(points[:, :, :1])
    return {
        "epoch": snapshot.epoch,
        "samples": snapshot.samples,
        "numbers": {metric.name: _rounded(metric.of(line)) for metric in metrics},
        "paths": np.diff(points, axis=2, prepend=first).reshape(*points.shape[:2], -1).tolist(),
        "lengths": snapshot.lengths.tolist(),
        "targets": None if snapshot.targets is None else _grains(snapshot.targets).tolist(),
    }


def _maps(maps: Maps) -> dict[str, Any]:
    """Levels of 0 to 254; 255 is where nothing is known."""
    return {
        "measure": None if maps.measure is None else [_levels(np.ma.masked_array(of)) for of in maps.measure],
        "uncertainty": None if maps.uncertainty is None else [_levels(of) for of in maps.uncertainty],
        "points": None if maps.points is None else _grains(maps.points).tolist(),
    }


def _levels(values: np.ma.MaskedArray) -> str:
    levels = np.ma.filled((254 * values).round(), 255).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode()


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


def _packed(name: str, data: dict[str, Any]) -> str:
    packed = gzip.compress(_plain_json(data).encode(), mtime=0)
    return f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode()}</script>'


def _film(name: str, exhibit: Exhibit) -> str:
    """The film that `leads skills` has made of a robot's best or median run, if it was asked to."""
    film = exhibit.result.film
    if exhibit.view.maze is not None or not (exhibit.best or exhibit.median) or film is None:
        return ""
    return f'<script type="text/plain" id="{name}">{base64.b64encode(film.read_bytes()).decode()}</script>'


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return _plain_json(data).replace("<", "\\u003c")


def _plain_json(data: Any) -> str:
    """JSON that every browser reads: NaN is none."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)
