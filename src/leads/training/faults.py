"""Faults that stop a run by name: numbers that are not finite, before anything is made of them, and lack of memory."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leads.data.episodes import Episodes
from leads.errors import UserError

OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory")
"""What XLA says then."""


def check_finite(what: str, tree: Any) -> None:
    """Refuses NaN and infinity in a tree of arrays."""
    leaves = {jax.tree_util.keystr(path): jnp.asarray(x) for path, x in jax.tree_util.tree_flatten_with_path(tree)[0]}
    numbers = {name: leaf for name, leaf in leaves.items() if jnp.issubdtype(leaf.dtype, jnp.floating)}
    for name, finite in zip(numbers, _are_finite(list(numbers.values())), strict=True):
        if not finite:
            raise UserError(f"{what}{name} is not finite (NaN or infinity)")


@jax.jit
def _are_finite(leaves: list[jax.Array]) -> list[jax.Array]:
    return [jnp.all(jnp.isfinite(leaf)) for leaf in leaves]


def check_episodes(episodes: Episodes) -> None:
    """Refuses states and actions that are not finite, with the first step at which one is."""
    if all(_are_finite([episodes.states, episodes.actions])):
        return
    observed, acted = _first_fault(episodes.states), 1 + _first_fault(episodes.actions)
    what = "environment: its observation" if observed < acted else "method: its action"
    when = f"step {min(observed, acted)} of an episode" if observed else "reset"
    raise UserError(f"{what} at {when} is not finite (NaN or infinity)")


def _first_fault(numbers: Float[Array, "skill episode time n"]) -> float:
    """The first time at which one of them is not finite; infinity if they all are."""
    _, _, times, _ = np.nonzero(~np.isfinite(np.asarray(numbers)))
    return min(times.tolist(), default=np.inf)


def named(error: BaseException) -> str | None:
    """What a fault is called; None for what is not a fault of this kind, but an interruption or a mistake in code."""
    if isinstance(error, UserError):
        return str(error)
    said = str(error) if isinstance(error, RuntimeError) else ""
    ran_out = isinstance(error, MemoryError) or any(words in said for words in OUT_OF_MEMORY)
    return "there was not enough memory" if ran_out else None
