"""Memory: what a run would need at least, told before anything is written."""

import dataclasses
import math
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from leads.config.fields import build, defaults, plain, shown
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.methods import METHODS, shipped_settings
from leads.methods.method import Method
from leads.tasks.task import Task
from leads.training.epoch import EVALUATION_EPISODES, initial_state, phases
from leads.training.run_config import RunConfig
from leads.training.timing import peak_rss_mb

KEPT = ("dot_general", "scan", "while", "cond", "sort", "top_k", "qr", "geqrf", "householder_product")
"""What takes and gives arrays that a compiler cannot leave out; others may be merged into what uses them."""
FEW, MEASURED = 256, 16
"""Environments that need no estimate, and those that are made for one."""
THIN = 16
SMALLEST = 4096
"""Bytes of an environment, at least."""


def check_memory(config: RunConfig, task: Task, method: Method, update: Any, own: Any = None) -> None:
    """Refuses a run that needs more memory than there is, and names the option that asks for it.

    `update` is the compiled one of the epoch, which is written down here and used later. `own` is a method that is
    known by itself only.
    """
    there, needed = available(), _needed(task, method, update)
    if needed <= there:
        return
    found, given = METHODS.find(own or config.method), plain(config.method_config)
    usual = defaults(found.Config, given)
    usual |= shipped_settings(own or config.method, config.task, config.step_cost, given)
    changes = {name: (task, {name: usual[name]}) for name, value in given.items() if value != usual[name]}
    if "horizon" in config.task_options:
        given["horizon"] = task.horizon
        changes["horizon"] = dataclasses.replace(task, horizon=1), {}
    without = {}
    for name, (on, change) in changes.items():
        with suppress(UserError):  # where the usual value does not go with the others
            other = found(build(found.Config, plain(config.method_config) | change), on)
            without[name] = _needed(on, other, phases(on, other)[0])
    culprit = min(without, key=without.__getitem__, default=None)
    what = "memory: the run" if culprit is None else f"{culprit}: {shown(given[culprit])}"
    raise UserError(f"{what} needs {in_bytes(needed)} of memory or more; there are {in_bytes(there)}")


def check_episodes(name: str, task: Task, n_skill: int, n_episode: int) -> None:
    """Refuses to roll out more episodes than fit."""
    there, needed = available(), _of_episodes(task, n_skill, n_episode)
    if needed > there:
        needs = f"{in_bytes(needed)} of memory or more; there are {in_bytes(there)}"
        raise UserError(f"{name}: {n_episode} needs {needs}")


def _needed(task: Task, method: Method, update: Any) -> float:
    """Bytes of an epoch, at least: its episodes, and the larger of making the first state and of learning from it."""
    c = method.config
    episodes = _of_episodes(task, c.n_skill, c.n_episode) + _of_episodes(task, c.n_skill, EVALUATION_EPISODES)
    key = jax.eval_shape(lambda: jax.random.key(0))
    try:
        first, state = jax.make_jaxpr(partial(initial_state, task, method), return_shape=True)(key)
        least = episodes + max(_size(state), _of_program(first))
        if least > available():  # what learns from so much may be too large to be written down
            return least
        collected = jax.eval_shape(lambda: Episodes.none(c.n_skill, c.n_episode, task))
        return max(least, episodes + _of_program(update.trace(state, collected, key).jaxpr))
    except OverflowError:
        return math.inf


def _of_episodes(task: Task, n_skill: int, n_episode: int) -> float:
    """Bytes of episodes and, where they are stepped on the host, of a copy there and of the environments."""
    rolled = _size(jax.eval_shape(lambda: Episodes.none(n_skill, n_episode, task)))
    return rolled if task.dynamics else 2 * rolled + _of_environments(task, n_skill * n_episode)


def _of_environments(task: Task, n: int) -> float:
    """Bytes of so many environments, by what a few of them add to the process."""
    if n <= FEW:
        return 0
    made = [task.make()]  # the first may bring what all share
    try:
        before = _resident()
        made += [task.make() for _ in range(MEASURED)]
        return n * max((_resident() - before) / MEASURED, SMALLEST)
    finally:
        for environment in made:
            environment.close()


def _of_program(program: ClosedJaxpr) -> float:
    """Bytes of what goes in and comes out, of all or of its largest part."""
    kept = [eqn for eqn in _equations(program.jaxpr) if eqn.primitive.name in KEPT and not _is_thin(eqn)]
    return max(_size([*part.invars, *part.outvars]) for part in (program.jaxpr, *kept))


def _is_thin(eqn: Any) -> bool:
    """Whether it is a matrix product over so few entries that the compiler may merge it into what uses it."""
    if eqn.primitive.name != "dot_general":
        return False
    (summed, _), _ = eqn.params["dimension_numbers"]
    return math.prod(eqn.invars[0].aval.shape[axis] for axis in summed) <= THIN


def _equations(jaxpr: Jaxpr) -> Iterator[Any]:
    """Those of a program and of all within it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for parameter in eqn.params.values():
            for inner in parameter if isinstance(parameter, tuple | list) else [parameter]:
                if isinstance(inner, ClosedJaxpr | Jaxpr):
                    yield from _equations(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _size(tree: Any) -> int:
    """Bytes of a tree of arrays, known by their shapes, or of a program's variables."""
    arrays = [getattr(leaf, "aval", leaf) for leaf in jax.tree.leaves(tree)]
    return sum(math.prod(array.shape) * _bytes(array.dtype) for array in arrays)


def _bytes(kind: Any) -> int:
    return 8 if jnp.issubdtype(kind, jax.dtypes.prng_key) else kind.itemsize


def available() -> float:
    """Bytes of memory that can still be had, within a container's limit; where that is unknown, all that there are."""
    information = Path("/proc/meminfo")
    if not information.exists():
        return _all_pages()
    there = 1024 * int(information.read_text().split("MemAvailable:")[1].split()[0])
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return there if text == "max" else min(there, int(text))


def _all_pages() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _resident() -> float:
    """Bytes that this process holds, or where that is unknown the most that it has held."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize()
    return peak_rss_mb() * 1024**2


def in_bytes(number: float) -> str:
    """As people say it: 1.5 GB."""
    for unit in ("MB", "GB", "TB"):
        number /= 1000 if unit != "MB" else 1e6
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number:,.0f} TB" if math.isfinite(number) else "more than can be counted"
