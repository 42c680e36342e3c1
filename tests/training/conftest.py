"""Episodes by hand."""

import jax.numpy as jnp
import pytest

from leads.data.episodes import Episodes


@pytest.fixture(scope="session")
def walked():
    """Makes episodes from points [skill][episode][time], padded with the last one."""

    def make(paths: list[list[list[tuple[float, float]]]]) -> Episodes:
        horizon = max(len(path) for skill in paths for path in skill) - 1
        padded = [[path + [path[-1]] * (horizon + 1 - len(path)) for path in skill] for skill in paths]
        lengths = [[len(path) - 1 for path in skill] for skill in paths]
        return Episodes(
            states=jnp.asarray(padded, jnp.float32),
            actions=jnp.zeros((len(paths), len(paths[0]), horizon, 2)),
            lengths=jnp.asarray(lengths, jnp.int32),
            terminated=jnp.asarray(lengths) < horizon,
        )

    return make
