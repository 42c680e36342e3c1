"""What LEADS leaves to choose: each field is an option of `leads train --method leads`."""

from dataclasses import dataclass
from typing import Literal

from leads.config import limits
from leads.errors import UserError
from leads.measures.c_learning import AfterEnd
from leads.rollouts.noise import Colour


@dataclass(frozen=True)
class LeadsConfig:
    """Every number of LEADS, with the published value in brackets where there is one."""

    n_skill: int = 6
    """Number of skills (paper: 6)."""
    skill_size: int = 20
    """Dimension of the orthonormal skill vectors z (paper: 20)."""
    n_episode: int = 16
    """Episodes per skill and epoch (paper: 16)."""
    noise: Colour = "pink"
    """Colour of the action noise while collecting (paper: white)."""
    noise_scale: float = 1.0
    """By what the action noise is multiplied while collecting (paper: 1)."""
    actor_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of the policy (paper: 256,256)."""

    measure: Literal["factorised", "classifier"] = "factorised"
    """Form of the measure: <phi(s1,a,z), psi(s2)> or one network on all (paper: classifier)."""
    measure_of: Literal["features", "state"] = "features"
    """What of s2 the measure sees: the task's features, scaled to their box, or the whole state (paper: state)."""
    measure_hidden: tuple[int, ...] = (128, 128)
    """Hidden layers of the measure's networks (paper: 256,128)."""
    measure_embedding: int = 64
    """Size of phi and psi in the factorised form."""
    measure_steps: int = 256
    """Gradient steps on the measure after collecting (paper: 256)."""
    measure_batch_size: int = 256
    """Transitions a step of the measure; the factorised form sees all pairs of them (paper: 1024)."""
    memory: int = 1
    """Epochs whose episodes the measure learns from, this one and those before it (paper: 1)."""
    measure_learning_rate: float = 5e-4
    """Adam's rate for the measure (paper: 5e-4)."""
    mc_weight: float = 0.5
    """Lambda: weight of the Monte Carlo loss against the temporal difference loss (paper: .5)."""
    discount: float = 0.95
    """Gamma (paper: .95)."""
    futures: Literal["uniform", "geometric"] = "uniform"
    """Monte Carlo positives: uniform over the rest of the horizon, or Geometric(1 - gamma) ahead (paper: geometric)."""
    after_end: AfterEnd = "vanish"
    """After a terminal state: it repeats for ever (absorb), or nothing follows, so that lives count (paper: absorb)."""
    marginal: Literal["archive", "epoch"] = "archive"
    """p(s), what the measure is relative to: the archive, nearly uniform, or this epoch's states (paper: epoch)."""
    td_cap: float = 100.0
    """Upper bound of the weight w in the temporal difference loss (paper: none)."""

    uncertainty: Literal["balanced", "bounded", "literal"] = "balanced"
    """u_t(s,z): a fair division of the archive, eq:measure bounded, or eq:measure as printed (paper: literal)."""
    contrast: float = 5.0
    """Balanced u: how sharply visits decide whose a state is."""
    reachable: float = 0.02
    """Balanced u: the measure m(s0,s,z) below which a state is hardly sent for."""
    separation_weight: float = 1.0
    """Bounded u: weight of being far from other skills, seen from s0."""
    repulsion_weight: float = 2.0
    """Bounded u: weight of being far from other skills, seen from the last targets."""
    novelty_weight: float = 2.0
    """Bounded u: weight of being new."""
    floor: float = 0.1
    """Bounded u: e in log((p + e) / (k q + e))."""
    sharpness: float = 100.0
    """Bounded u: k in the same ratio."""
    candidates: Literal["archive", "epoch"] = "archive"
    """Bounded and literal u: targets are chosen among archived states, or states of this epoch's D_z (paper: epoch)."""
    n_targets: int = 256
    """Targets per skill and epoch: draws from exp u if balanced, else the best by u (paper: 1)."""
    n_together: int = 1
    """Targets that a step of the policy takes together: it is enough to be at one of them (paper: 1)."""
    archive_size: int = 1024
    """States kept, spread evenly over all that was ever visited."""
    archive_admit: int = 512
    """New states that may enter the archive in an epoch."""
    history_decay: float = 0.9
    """Weight of an epoch's measures in the history, per epoch of age (paper: 1)."""

    objective: Literal["leads", "lower_bound", "lower_bound_diversity"] = "leads"
    """eq:objective_function, or the earlier bounds eq:lower_bound, eq:lower_bound_diversity (paper: leads)."""
    offset: float = 30.0
    """The number beside the sum in the denominator of the objective; G saturates once m is far above it (paper: 1)."""
    policy_steps: int = 64
    """Gradient steps on the policy an epoch (paper: 16)."""
    policy_batch_size: int = 128
    """States a step of the policy, each with the actions of every skill (paper: 1024)."""
    policy_learning_rate: float = 5e-4
    """Adam's rate for the policy (paper: 5e-4)."""
    policy_average: float = 0.99
    """Decay, per step of the policy, of the average of its weights that is the learnt skill; 0: the last (paper: 0)."""
    td_steps: int = 4
    """Off-policy steps on the measure after each step of the policy (paper: 1)."""
    entropy: float = 0.005
    """Lambda_h, weight of the action entropy (paper: .05)."""
    target_entropy: float = 0.05
    """Weight of the action entropy at the targets, to wander once there (paper: 0)."""

    def __post_init__(self):
        limits.above_zero(self, "n_skill", "n_episode", "memory", "n_targets", "n_together", "policy_steps")
        limits.above_zero(
            self, "measure_steps", "measure_batch_size", "archive_size", "archive_admit", "policy_batch_size"
        )
        limits.above_zero(
            self,
            "measure_learning_rate",
            "policy_learning_rate",
            "td_cap",
            "offset",
            "reachable",
            "contrast",
            "noise_scale",
        )
        limits.from_zero(self, "td_steps")
        limits.between_zero_and_one(self, "discount")
        limits.share(self, "mc_weight", "history_decay")
        limits.sizes(self, "actor_hidden", "measure_hidden")
        if not 0 <= self.policy_average < 1:
            raise UserError(f"policy_average: {self.policy_average} is not allowed; give a number from 0 to below 1")
        if self.skill_size < self.n_skill:
            raise UserError(f"skill_size: {self.skill_size} is not allowed; give at least n_skill, {self.n_skill}")
        most = self.archive_size // (self.n_skill if self.candidates == "epoch" else 1)
        if self.uncertainty != "balanced" and self.n_targets > most:
            raise UserError(f"n_targets: {self.n_targets} is not allowed; give at most {most}")
