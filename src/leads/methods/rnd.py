"""RND: one policy that goes where a random network cannot be predicted yet (Burda et al. 2019, arXiv:1810.12894)."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.config.fields import Positive, Share
from leads.data.episodes import Episodes
from leads.data.replay import Transitions
from leads.data.running_statistics import RunningStatistics
from leads.methods.intrinsic import Batch, Intrinsic, IntrinsicConfig
from leads.nn.networks import MLP


@dataclass(frozen=True)
class RndConfig(IntrinsicConfig):
    """The numbers of RND."""

    model_learning_rate: Positive[float] = 1e-4
    """Learning rate of the predictor (published: 1e-4)."""
    n_feature: Positive[int] = 512
    """Outputs of the random network and of its predictor (published: 512)."""
    fade: Share[float] = 0.9
    """Decay per epoch of past rewards in the statistics that normalise it (published: 1, over far longer runs)."""
    clip: Positive[float] = 5.0
    """Inputs are standardised and clipped to this (published: 5)."""


class Novelty(eqx.Module):
    """A random network that never changes, and one that learns to predict it."""

    random: MLP
    predictor: MLP
    statistics: RunningStatistics
    """Of the networks' inputs."""

    def __init__(self, key: PRNGKeyArray, sizes: tuple[int, ...]):
        random_key, predictor_key = jax.random.split(key)
        self.random, self.predictor = MLP(random_key, sizes), MLP(predictor_key, sizes)
        self.statistics = RunningStatistics.around(jnp.zeros(sizes[0]))

    def observed(self, x: Float[Array, "*batch feature"], is_real: Bool[Array, "*batch"], clip: float):
        """(itself with statistics updated by fresh states, their error)."""
        after = eqx.tree_at(lambda n: n.statistics, self, self.statistics.updated(x, is_real))
        return after, after.error(x, clip)

    def error(self, x: Float[Array, "*batch feature"], clip: float) -> Float[Array, "*batch"]:
        """Mean squared error of the prediction."""
        x = jax.lax.stop_gradient(self.statistics.whitened(x, clip))
        return jnp.mean((self.predictor(x) - jax.lax.stop_gradient(self.random(x))) ** 2, axis=-1)


class RndModel(eqx.Module):
    """The novelty, and the discounted sums of rewards that it has given, whose spread is the unit of reward."""

    novelty: Novelty
    returns: RunningStatistics


class Rnd(Intrinsic):
    """One policy; n_skill only says how many groups of episodes it collects."""

    Config = RndConfig
    title = "RND"

    @property
    def skill_size(self) -> int:
        return 0

    def init_model(self, key: PRNGKeyArray) -> RndModel:
        sizes = (self.feature_size, *self.config.model_hidden, self.config.n_feature)
        return RndModel(Novelty(key, sizes), RunningStatistics.around(jnp.zeros(1)))

    def observe_episodes(
        self, model: RndModel, x: Float[Array, "skill episode time1 feature"], episodes: Episodes
    ) -> RndModel:
        real = episodes.steps()
        novelty, error = model.novelty.observed(x[:, :, 1:], real, self.config.clip)

        def discounted(total, r):
            total = self.config.discount * total + r
            return total, total

        _, returns = jax.lax.scan(discounted, jnp.zeros(error.shape[:2]), jnp.moveaxis(error, 2, 0))
        returns = model.returns.faded(self.config.fade).updated(jnp.moveaxis(returns, 0, 2)[..., None], real)
        return RndModel(novelty, returns)

    def model_loss(self, model: RndModel, batch: Batch, key: PRNGKeyArray):
        """The error of the prediction."""
        loss = jnp.mean(model.novelty.error(batch.next_x, self.config.clip))
        return loss, {"prediction_error": loss}

    def reward(self, model: RndModel, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        """The error of the prediction in s', divided by the standard deviation of discounted sums of it."""
        unit = jnp.sqrt(model.returns.variance[0]) + 1e-8
        return model.novelty.error(batch.next_x, self.config.clip) / unit

    def afterwards(self, transitions: Transitions) -> Transitions:
        """The reward is not episodic: after a terminal state life goes on at the start."""
        next_s = jnp.where(transitions.terminal[:, None], jnp.asarray(self.task.start), transitions.next_s)
        alive = jnp.zeros_like(transitions.terminal)
        return eqx.tree_at(lambda t: (t.next_s, t.terminal), transitions, (next_s, alive))
