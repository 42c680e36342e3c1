"""Numerical faults: a number that is not finite stops a run, by name, before anything is made of it."""

from typing import Any

import jax
import jax.numpy as jnp

from leads.errors import UserError


def check_finite(epoch: int, what: str, tree: Any, last_good: int) -> None:
    """Refuses NaN and infinity in a tree of arrays, with the checkpoint that is left to go on from."""
    leaves = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}
    numbers = {name: leaf for name, leaf in leaves.items() if jnp.issubdtype(leaf.dtype, jnp.floating)}
    for name, finite in zip(numbers, _are_finite(list(numbers.values())), strict=True):
        if not finite:
            left = f"the checkpoint of epoch {last_good} is kept" if last_good else "there is no checkpoint yet"
            raise UserError(f"epoch {epoch}: {what}{name} is not finite (NaN or infinity); {left}")


@jax.jit
def _are_finite(leaves: list[jax.Array]) -> list[jax.Array]:
    return [jnp.all(jnp.isfinite(leaf)) for leaf in leaves]
