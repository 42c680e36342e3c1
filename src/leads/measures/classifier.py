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
        s2 = jnp.broadcast_to(s2, (*s1.shape[:-1], s2.shape[-1]))
        return self.network(jnp.concatenate([s1, a, s2, z], -1))[..., 0]

    def pairs(self, s1, a, z, s2):
        rows = [jnp.broadcast_to(x[:, None], (len(x), len(s2), x.shape[-1])) for x in (s1, a, z)]
        return self.log_ratio(rows[0], rows[1], rows[2], s2[None])

    def logits(self, s1, a, z, positives, marginal):
        return tuple(self.log_ratio(s1, a, z, s2) for s2 in positives), self.log_ratio(s1, a, z, marginal)[:, None]
