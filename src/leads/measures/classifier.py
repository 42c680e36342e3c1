"""The paper's classifier: one network on (s1, a, s2, z)."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.measures.measure import Measure
from leads.nn.networks import MLP


class Classifier(Measure):
    """f = network(s1, a, s2, z), hidden layers 256-128 in the paper (appendix table)."""

    network: MLP

    def __init__(
        self,
        key: PRNGKeyArray,
        state_size: int,
        action_size: int,
        skill_size: int,
        seen_size: int,
        hidden: tuple[int, ...] = (256, 128),
    ):
        self.network = MLP(key, (state_size + action_size + seen_size + skill_size, *hidden, 1))

    def log_ratio(self, s1, a, z, s2):
        inputs = s1, a, s2, z
        rows = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        return self.network(jnp.concatenate([jnp.broadcast_to(x, (*rows, x.shape[-1])) for x in inputs], -1))[..., 0]

    def pairs(self, s1, a, z, s2):
        return self.log_ratio(s1[:, None], a[:, None], z[:, None], s2[None])

    def logits(self, s1, a, z, positives, marginal):
        return tuple(self.log_ratio(s1, a, z, s2) for s2 in positives), self.log_ratio(s1, a, z, marginal)[:, None]
