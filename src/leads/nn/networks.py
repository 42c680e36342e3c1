"""Networks as plain pytrees of arrays: every leaf is an array, so they stack, scan and save as they are."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class MLP(eqx.Module):
    """Dense layers with ReLU between them; works on any number of leading axes."""

    weights: tuple[Float[Array, "in out"], ...]
    biases: tuple[Float[Array, " out"], ...]

    def __init__(self, key: PRNGKeyArray, sizes: tuple[int, ...]):
        keys = jax.random.split(key, len(sizes) - 1)
        bounds = [1 / size**0.5 for size in sizes[:-1]]
        self.weights = tuple(
            jax.random.uniform(k, (i, o), minval=-b, maxval=b)
            for k, i, o, b in zip(keys, sizes, sizes[1:], bounds, strict=False)
        )
        self.biases = tuple(jnp.zeros(o) for o in sizes[1:])

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(x @ weight + bias)
        return x @ self.weights[-1] + self.biases[-1]


class Actor(eqx.Module):
    """The policy pi(a|s,z): a network with a mean and a log standard deviation head (paper, appendix table)."""

    network: MLP

    def __init__(self, key: PRNGKeyArray, state_size: int, skill_size: int, action_size: int, hidden: tuple[int, ...]):
        self.network = MLP(key, (state_size + skill_size, *hidden, 2 * action_size))

    def __call__(
        self, s: Float[Array, "*batch state"], z: Float[Array, "*batch skill"]
    ) -> tuple[Float[Array, "*batch action"], Float[Array, "*batch action"]]:
        """Mean and log standard deviation of the Gaussian before squashing."""
        mean, log_std = jnp.split(self.network(jnp.concatenate([s, z], -1)), 2, axis=-1)
        return mean, LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (jnp.tanh(log_std) + 1)


LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
