"""The one registry of metrics: what is computed at the end of an epoch, and how tables, curves and pages show it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from leads.config.fields import shown
from leads.config.registry import imported
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.tasks.task import Task
from leads.training import grid


@dataclass(frozen=True)
class Evaluation:
    """What metrics are computed from."""

    task: Task
    visited: Bool[Array, " cell"]
    """Cells of the coarse grid that training has visited."""
    visited_fine: Bool[Array, " cell"]
    """The same of the fine grid."""
    episodes: Episodes | None = None
    """Fresh episodes of the learnt skills; None where skills were not evaluated."""
    targets: Float[Array, "skill state"] | None = None
    """The state each skill is sent to, of methods that have such a thing."""

    @cached_property
    def counts(self) -> Float[Array, "skill cell"]:
        """Steps of each skill's fresh episodes by cell of the coarse grid."""
        assert self.episodes is not None
        return grid.counts(self.task, self.episodes, self.task.bins)

    @cached_property
    def metre_counts(self) -> Float[Array, "skill cell"]:
        """The same by cells of 1 m, of tasks that are counted so."""
        assert self.episodes is not None
        return grid.metre_counts(self.task, self.episodes)


@dataclass(frozen=True)
class Metric:
    """A number of a run, computed from an Evaluation or derived from other metrics."""

    name: str
    """In logs and files."""
    title: str
    """In tables and figures."""
    unit: str = ""
    digits: int = 1
    """Digits behind the point in tables; headlines show as many only of numbers up to 1."""
    largest: float = 100.0
    """Upper end of its range, which begins at 0; infinity if it has none."""
    of_skills: bool = True
    """Whether it needs fresh episodes; others are known after every epoch."""
    everywhere: bool = True
    """Whether every task has it; others are shown only where a run has it."""
    headline: bool = False
    """Shown while training and above pictures."""
    tabled: bool = True
    """Has a column in tables."""
    ranked: bool = False
    """Aggregated over tasks, with performance profiles."""
    judged: bool = False
    """LEADS is to be first in it."""
    source: str = ""
    """`module:name` where it is found again, if it is not of the package."""
    compute: Callable[[Evaluation], Float[Array, ""]] | None = field(default=None, compare=False)
    derive: Callable[[Mapping[str, Any]], float] | None = field(default=None, compare=False)
    """From the other numbers of a run; raises KeyError or TypeError where one of them is missing."""

    @property
    def label(self) -> str:
        """Title with unit."""
        return f"{self.title} {self.unit}".strip()

    @property
    def file_name(self) -> str:
        return self.name.replace(" ", "_")

    def text(self, value: float | None) -> str:
        """For people, in a headline."""
        if value is None:
            return "-"
        return f"{value:.{self.digits if self.largest <= 1 else 0}f}{f' {self.unit}' if self.unit else ''}"

    def of(self, numbers: Mapping[str, Any]) -> float | None:
        """Its value among a run's numbers; None where it is missing."""
        try:
            value = self.derive(numbers) if self.derive else numbers[self.name]
            return value if value is not None and math.isfinite(value) else None
        except (KeyError, TypeError):
            return None

    def description(self) -> dict[str, Any]:
        """All but its functions, as a run's config keeps it."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("compute", "derive")}


_coverage = lambda e: grid.percent(e.visited)
_fine_coverage = lambda e: grid.percent(e.visited_fine)
_skill_coverage = lambda e: grid.percent(jnp.any(e.counts > 0, axis=0))
_distinctness = lambda e: grid.distinctness(e.counts)
_product = lambda numbers: numbers["skill_coverage"] * numbers["distinctness"]
PRODUCT = "skill_coverage x distinctness"
"""Far-reaching and distinct at once, run by run."""
_product_1m = lambda numbers: numbers["cells_1m"] * numbers["distinctness_1m"]
PRODUCT_1M = "cells_1m x distinctness_1m"


def _reach(e: Evaluation) -> Float[Array, ""]:
    assert e.episodes is not None
    return jnp.float32(jnp.nan) if e.targets is None else grid.reach(e.task, e.episodes, e.targets)


def _reached(counts: Float[Array, "skill cell"]) -> Float[Array, ""]:
    """Cells that any skill visits."""
    return jnp.sum(jnp.any(counts > 0, axis=0), dtype=jnp.float32)


def _in_metres(number: Callable[..., Float[Array, ""]]) -> Callable[[Evaluation], Float[Array, ""]]:
    """A number of cells of 1 m; not one where the task has none."""
    return lambda e: number(e.metre_counts) if e.task.metres else jnp.float32(jnp.nan)


_EVERY = (
    Metric("coverage", "coverage", "%", of_skills=False, headline=True, ranked=True, compute=_coverage),
    Metric("coverage_fine", "fine coverage", "%", of_skills=False, judged=True, compute=_fine_coverage),
    Metric("skill_coverage", "skill coverage", "%", headline=True, ranked=True, compute=_skill_coverage),
    Metric("distinctness", "distinctness", digits=2, largest=1.0, headline=True, compute=_distinctness),
    Metric("reach", "reach", digits=2, largest=1.0, tabled=False, compute=_reach),
    Metric(PRODUCT, "skill coverage x distinctness", ranked=True, judged=True, derive=_product),
    Metric("cells_1m", "1 m cells", largest=math.inf, everywhere=False, compute=_in_metres(_reached)),
    Metric("distinctness_1m", "1 m distinctness", "", 2, 1.0, everywhere=False, compute=_in_metres(grid.distinctness)),
    Metric(PRODUCT_1M, "1 m cells x distinctness", largest=math.inf, everywhere=False, derive=_product_1m),
)
METRICS = {metric.name: metric for metric in _EVERY}
"""Those of every run."""
RESERVED = ("epoch", "samples", "cpu_seconds", "wall_seconds", "peak_rss_mb")
"""Other numbers in a run's logs."""
COMPUTED = {name: metric for name, metric in METRICS.items() if metric.compute}
HEADLINE = [metric for metric in METRICS.values() if metric.headline]


def find_metrics(wanted: Any) -> tuple[Metric, ...]:
    """Metrics from outside the package: objects, `module:name`, or what a run's config keeps of them."""
    if not isinstance(wanted, str | Metric | Iterable):
        raise UserError(f"metrics: {shown(wanted)} is not a list of metrics or of their MODULE:NAME")
    found = tuple(_find(metric) for metric in ([wanted] if isinstance(wanted, str | Metric) else wanted))
    names = [metric.name for metric in found]
    for name in names:
        if name in METRICS or name in RESERVED or names.count(name) > 1:
            raise UserError(f"metrics: {name} is the name of another number of a run; choose another")
    return found


def check_computable(extra: Iterable[Metric]) -> None:
    """Refuses metrics of which only the description is known."""
    for metric in extra:
        if metric.compute is None:
            raise UserError(f"metrics: {metric.name} has no compute here; give it again as metrics=")


def _find(wanted: Any) -> Metric:
    if isinstance(wanted, Metric):
        return wanted
    if isinstance(wanted, str):
        found = imported("metrics", wanted)
        if not isinstance(found, Metric):
            raise UserError(f"metrics: {wanted} is not a Metric")
        return replace(found, source=wanted)
    if not isinstance(wanted, Mapping):
        raise UserError(f"metrics: {shown(wanted)} is not a Metric")
    try:
        return replace(_find(wanted["source"]), **wanted) if wanted["source"] else Metric(**wanted)
    except (UserError, TypeError, KeyError):
        return Metric(**wanted)  # what is known of it without its module is enough for a report


def compute(extra: Iterable[Metric], evaluation: Evaluation) -> dict[str, Float[Array, ""]]:
    """All metrics of a run; those that are not known are not a number."""
    numbers = {}
    for metric in (*COMPUTED.values(), *extra):
        assert metric.compute is not None
        known = evaluation.episodes is not None or not metric.of_skills
        numbers[metric.name] = metric.compute(evaluation) if known else jnp.float32(jnp.nan)
    return numbers


def headline(numbers: Mapping[str, Any], between: str = ", ") -> str:
    """A run's numbers in words, as far as they are known: not every epoch of a robot's run is evaluated."""
    known = [(metric, value) for metric in HEADLINE if (value := metric.of(numbers)) is not None]
    return between.join(f"{metric.title} {metric.text(value)}" for metric, value in known)
