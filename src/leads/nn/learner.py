"""Parameters with their optimiser: the one way to take a gradient step."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

Model = TypeVar("Model")
Loss = Callable[..., tuple[Float[Array, ""], dict[str, Array]]]
"""(model, ...) -> (loss, metrics); what is not to be learnt is behind stop_gradient."""


class Learner(eqx.Module, Generic[Model]):
    """A model, a pytree of floating-point arrays, and the state of its Adam."""

    model: Model
    optimiser: optax.OptState
    learning_rate: float = eqx.field(static=True)

    @classmethod
    def of(cls, model: Model, learning_rate: float) -> "Learner[Model]":
        """Before the first step."""
        return cls(model, optax.adam(learning_rate).init(model), learning_rate)  # type: ignore[arg-type]

    def step(self, loss: Loss, *arguments: Any) -> "tuple[Learner[Model], dict[str, Array]]":
        """After one step down the gradient of `loss(model, *arguments)`, and the loss's metrics."""
        gradient, metrics = jax.grad(loss, has_aux=True)(self.model, *arguments)
        return self._descend(gradient), metrics

    def ascend(self, objective: Loss, *arguments: Any) -> "tuple[Learner[Model], dict[str, Array]]":
        """After one step up the gradient of `objective(model, *arguments)`, and the objective's metrics."""
        gradient, metrics = jax.grad(objective, has_aux=True)(self.model, *arguments)
        return self._descend(jax.tree.map(jnp.negative, gradient)), metrics

    def _descend(self, gradient: Any) -> "Learner[Model]":
        change, optimiser = optax.adam(self.learning_rate).update(gradient, self.optimiser)
        return Learner(eqx.apply_updates(self.model, change), optimiser, self.learning_rate)

    def with_model(self, model: Model) -> "Learner[Model]":
        """With another model of the same shape, such as after a projection."""
        return Learner(model, self.optimiser, self.learning_rate)


def follow(slow: Model, model: Model, rate: float) -> Model:
    """`slow` nearer to `model` by the share `rate` of their difference."""
    return jax.tree.map(lambda old, new: old + rate * (new - old), slow, model)


def take_steps(step: Callable[[Any, PRNGKeyArray], Any], learnt: Any, steps: Int[Array, ""], key: PRNGKeyArray):
    """`steps` times `step(learnt, key) -> (learnt, metrics)`: (learnt, means of the metrics)."""

    def one(i, so_far):
        learnt, sums = so_far
        learnt, metrics = step(learnt, jax.random.fold_in(key, i))
        return learnt, jax.tree.map(jnp.add, sums, metrics)

    shapes = jax.eval_shape(step, learnt, key)[1]
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    learnt, sums = jax.lax.fori_loop(0, steps, one, (learnt, nothing))
    return learnt, jax.tree.map(lambda total: total / steps, sums)
