"""Skills as directions: a reward for moving along z in a learnt space phi, what LSD, CSD and METRA have in common."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leads.config.fields import at_least
from leads.errors import UserError
from leads.methods.intrinsic import Batch, Intrinsic, IntrinsicConfig


@dataclass(frozen=True)
class DisplacementConfig(IntrinsicConfig):
    """What LSD, CSD and METRA share."""

    skills: Literal["discrete", "continuous"] = "discrete"
    """Numbers 1 to n_skill, or directions; n_skill of these, drawn anew, are collected with in each epoch."""
    direction_size: Annotated[int, at_least(2)] = 2
    """Dimension of continuous skills (published: 2 to 4)."""

    def check(self) -> None:
        if self.skills == "discrete" and self.n_skill < 2:
            raise UserError(f"n_skill: {self.n_skill} is not allowed; give at least 2, for one skill has no direction")


class Displacement(Intrinsic):
    """r = (phi(s') - phi(s)) . z; the methods differ in what bounds phi."""

    @property
    def skill_size(self) -> int:
        return self.config.n_skill if self.config.skills == "discrete" else self.config.direction_size

    def draw_skills(self, key: PRNGKeyArray) -> Float[Array, "skill skill_size"]:
        if self.config.skills == "discrete":
            return super().draw_skills(key)
        directions = jax.random.normal(key, (self.config.n_skill, self.skill_size))
        return directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)

    def direction(self, z: Float[Array, "*batch skill_size"]) -> Float[Array, "*batch skill_size"]:
        """z as a direction in phi's space: of discrete skills zero-centred, (onehot - 1/N) N/(N - 1)."""
        if self.config.skills == "continuous":
            return z
        n = self.config.n_skill
        return (z - 1 / n) * n / (n - 1)

    def displacement(self, model: Any, batch: Batch) -> Float[Array, "batch skill_size"]:
        """phi(s') - phi(s)."""
        return model.phi(batch.next_x) - model.phi(batch.x)

    def reward(self, model: Any, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        return jnp.sum(self.displacement(model, batch) * self.direction(batch.z), axis=-1)
