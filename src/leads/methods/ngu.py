"""NGU's reward on SAC: new in this episode, and more so if new in life (Badia et al. 2020, arXiv:2002.06038)."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.config.fields import Layers, NonNegative, Positive, at_least
from leads.data.episodes import Episodes
from leads.data.running_statistics import RunningStatistics
from leads.methods.intrinsic import Batch, Intrinsic
from leads.methods.rnd import Novelty, RndConfig
from leads.nn.networks import MLP
from leads.tasks.task import Task


@dataclass(frozen=True)
class NguConfig(RndConfig):
    """The numbers of NGU, after those of its life-long novelty, RND."""

    reward_scale: Positive[float] = 0.1
    """Scale of the rewards, which are about 1 / sqrt(k epsilon) = 30 where neighbours are at their mean distance."""
    embedding_hidden: Layers = (64,)
    """Hidden layers of the embedding; small, for every earlier state of an episode passes through it."""
    embedding: Positive[int] = 32
    """Size of the embedding, in which actions can be told from s and s' (published: 32)."""
    neighbours: Positive[int] = 10
    """k: nearest states of the episode that count (published: 10)."""
    kernel_epsilon: Positive[float] = 1e-4
    """Epsilon of the kernel (published: 1e-4)."""
    kernel_cluster: NonNegative[float] = 0.008
    """Squared distance, relative to the mean, below which two states are the same (published: .008)."""
    kernel_constant: Positive[float] = 1e-3
    """c, beside the root of the sum of kernels (published: 1e-3)."""
    most_similar: Positive[float] = 8.0
    """Similarity above which there is no reward (published: 8, which ten neighbours never reach)."""
    most_novel: Annotated[float, at_least(1)] = 5.0
    """L: upper bound of the life-long factor (published: 5)."""


class NguModel(eqx.Module):
    """The embedding with its inverse dynamics, the life-long novelty, and mean and spread of the latter."""

    embedding: MLP
    inverse: MLP
    """The action from the embeddings of s and s'."""
    novelty: Novelty
    errors: RunningStatistics


class Ngu(Intrinsic):
    """One policy; n_skill only says how many groups of episodes it collects."""

    Config = NguConfig
    title = "NGU"
    seconds_per_step = 2.2e-2

    def __init__(self, config: NguConfig, task: Task):
        super().__init__(config, task)
        self.earlier = task.horizon - 1

    @property
    def skill_size(self) -> int:
        return 0

    def init_model(self, key: PRNGKeyArray) -> NguModel:
        c, keys = self.config, jax.random.split(key, 3)
        return NguModel(
            embedding=MLP(keys[0], (self.feature_size, *c.embedding_hidden, c.embedding)),
            inverse=MLP(keys[1], (2 * c.embedding, *c.embedding_hidden, self.task.action_size)),
            novelty=Novelty(keys[2], (self.feature_size, *c.model_hidden, c.n_feature)),
            errors=RunningStatistics.around(jnp.zeros(1)),
        )

    def observe_episodes(
        self, model: NguModel, x: Float[Array, "skill episode time1 feature"], episodes: Episodes
    ) -> NguModel:
        real = episodes.steps()
        novelty, error = model.novelty.observed(x[:, :, 1:], real, self.config.clip)
        errors = model.errors.faded(self.config.fade).updated(error[..., None], real)
        return NguModel(model.embedding, model.inverse, novelty, errors)

    def model_loss(self, model: NguModel, batch: Batch, key: PRNGKeyArray):
        """Squared error of the action told from s and s', and the error of RND's prediction."""
        pair = jnp.concatenate([model.embedding(batch.x), model.embedding(batch.next_x)], axis=-1)
        inverse = jnp.mean((model.inverse(pair) - batch.a) ** 2)
        prediction = jnp.mean(model.novelty.error(batch.next_x, self.config.clip))
        return inverse + prediction, {"inverse_error": inverse, "prediction_error": prediction}

    def reward(self, model: NguModel, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        """r = r_episode min(max(alpha, 1), L), alpha = 1 + (error - mean) / std of RND's error."""
        error = model.novelty.error(batch.next_x, self.config.clip)
        alpha = 1 + (error - model.errors.mean[0]) / (jnp.sqrt(model.errors.variance[0]) + 1e-8)
        memory = jnp.concatenate([batch.x[:, None], batch.earlier_x], axis=1)
        is_there = jnp.concatenate([jnp.ones((len(error), 1)), batch.is_earlier], axis=1) > 0
        here = model.embedding(batch.next_x)[:, None]
        distances = jnp.sum((here - model.embedding(memory)) ** 2, axis=-1)
        return self.episodic(distances, is_there) * jnp.clip(alpha, 1.0, self.config.most_novel)

    def episodic(
        self, squared_distances: Float[Array, "batch earlier"], is_there: Bool[Array, "batch earlier"]
    ) -> Float[Array, " batch"]:
        """1 / (root of the sum of kernels over the k nearest + c), of distances relative to their mean in the batch."""
        c = self.config
        k = min(c.neighbours, squared_distances.shape[1])
        nearest = -jax.lax.top_k(-jnp.where(is_there, squared_distances, jnp.inf), k)[0]
        counted = jnp.isfinite(nearest)
        mean = jnp.sum(jnp.where(counted, nearest, 0.0)) / jnp.sum(counted)
        relative = jnp.where(counted, nearest / jnp.maximum(mean, 1e-12), jnp.inf)
        kernel = c.kernel_epsilon / (jnp.maximum(relative - c.kernel_cluster, 0.0) + c.kernel_epsilon)
        similarity = jnp.sqrt(jnp.sum(kernel, axis=-1)) + c.kernel_constant
        return jnp.where(similarity > c.most_similar, 0.0, 1 / similarity)
