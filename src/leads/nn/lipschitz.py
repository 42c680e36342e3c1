"""Networks that stretch no distance: every layer is divided by its spectral norm (Miyato et al. 2018)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leads.nn.networks import MLP


class LipschitzMLP(eqx.Module):
    """Dense layers with ReLU between them, all of spectral norm 1, so that |f(x) - f(y)| <= |x - y|."""

    network: MLP
    directions: tuple[Float[Array, " out"], ...]
    """The output direction that each layer stretches most, followed by power iteration."""

    def __init__(self, key: PRNGKeyArray, sizes: tuple[int, ...]):
        network_key, direction_key = jax.random.split(key)
        self.network = MLP(network_key, sizes)
        keys = jax.random.split(direction_key, len(sizes) - 1)
        self.directions = tuple(_unit(jax.random.normal(k, (size,))) for k, size in zip(keys, sizes[1:], strict=True))

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        weights = tuple(w / norm for w, norm in zip(self.network.weights, self.norms(), strict=True))
        return eqx.tree_at(lambda network: network.weights, self.network, weights)(x)

    def norms(self) -> list[Float[Array, ""]]:
        """The spectral norm of every layer, as far as it is known."""
        return [_norm(w, u) for w, u in zip(self.network.weights, self.directions, strict=True)]

    def iterated(self, times: int = 1) -> "LipschitzMLP":
        """With the norms better known by some power iterations."""

        def iterate(_, directions):
            return tuple(_unit(_unit(w @ u) @ w) for w, u in zip(self.network.weights, directions, strict=True))

        directions = jax.lax.fori_loop(0, times, iterate, self.directions)
        return eqx.tree_at(lambda self: self.directions, self, jax.lax.stop_gradient(directions))


def _norm(weight: Float[Array, "in out"], u: Float[Array, " out"]) -> Float[Array, ""]:
    u = jax.lax.stop_gradient(u)
    v = jax.lax.stop_gradient(_unit(weight @ u))
    return v @ weight @ u


def _unit(x: Float[Array, " n"]) -> Float[Array, " n"]:
    return x / (jnp.linalg.norm(x) + 1e-12)
