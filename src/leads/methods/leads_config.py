"""What LEADS leaves to choose: each field is an option of `leads train --method leads`."""

from dataclasses import dataclass
from typing import Literal

from leads.config.fields import Chosen, Config, Positive, Share, choose
from leads.errors import UserError
from leads.improvement import IMPROVEMENTS
from leads.measures import MEASURES
from leads.rollouts.noise import Colour
from leads.tasks.task import Task


@dataclass(frozen=True)
class LeadsConfig(Config):
    """The numbers of LEADS, with the published value in brackets where there is one."""

    n_skill: Positive[int] = 6
    """Number of skills (paper: 6)."""
    skill_size: Positive[int] = 20
    """Dimension of the orthonormal skill vectors z (paper: 20)."""
    n_episode: Positive[int] = 16
    """Episodes per skill and epoch, at most (paper: 16)."""
    epoch_samples: Positive[int] | None = None
    """Samples of an epoch, about: where episodes last long, fewer than n_episode are begun; none: always n_episode."""
    noise: Colour = "pink"
    """Colour of the exploration noise (paper: white)."""
    noise_scale: Positive[float] = 1.0
    """Scale of the exploration noise (paper: 1)."""

    measure: Chosen = choose(MEASURES, "c-learning")
    """Estimator of the measure, whose options come next (paper: c-learning)."""
    measure_of: Literal["features", "state"] = "features"
    """What the measure sees of s2: the task's features, or the whole state (paper: state)."""
    measure_steps: Positive[int] = 128
    """Gradient steps on the measure after collecting (paper: 256)."""
    measure_batch_size: Positive[int] = 192
    """Batch size of the measure's updates; the factorised form compares all pairs (paper: 1024)."""
    measure_learning_rate: Positive[float] = 5e-4
    """Learning rate of the measure (paper: 5e-4)."""
    memory: Positive[int] = 1
    """Epochs of episodes that the measure learns from, the newest among them (paper: 1)."""
    from_start: Share[float] = 0.0
    """Share of the measure's batches that begins at an episode's start, which is where its maps are asked for."""
    marginal: Literal["archive", "epoch"] = "archive"
    """p(s), what the measure is relative to: the archive, nearly uniform, or this epoch's states (paper: epoch)."""

    uncertainty: Literal["balanced", "bounded", "literal"] = "balanced"
    """u_t(s,z): a fair division of the archive, eq:measure bounded, or eq:measure as printed (paper: literal)."""
    contrast: Positive[float] = 5.0
    """Balanced u: how sharply visits decide whose a state is."""
    reachable: Positive[float] = 0.02
    """Balanced u: value of m(s0,s,z) below which a state is rarely a target."""
    separation_weight: float = 1.0
    """Bounded u: weight of being far from other skills, starting from s0."""
    repulsion_weight: float = 2.0
    """Bounded u: weight of being far from other skills, starting from the last targets."""
    novelty_weight: float = 2.0
    """Bounded u: weight of novelty."""
    floor: Positive[float] = 0.1
    """Bounded u: e in log((p + e) / (k q + e))."""
    sharpness: Positive[float] = 100.0
    """Bounded u: k in the same ratio."""
    candidates: Literal["archive", "epoch"] = "archive"
    """Bounded and literal u: targets are chosen among archived states, or states of this epoch's D_z (paper: epoch)."""
    n_targets: Positive[int] = 256
    """Targets per skill and epoch: draws from exp u if balanced, else the best by u (paper: 1)."""
    archive_size: Positive[int] = 1024
    """States kept, spread evenly over all that was ever visited."""
    archive_admit: Positive[int] = 512
    """New states that may enter the archive per epoch."""
    visits: Literal["measure", "count"] = "measure"
    """What says how often a skill was at an archived state: m(s0,s,z), or a count of states nearest to it."""
    history_decay: Share[float] = 0.9
    """Weight of an epoch's measures in the history, per epoch of age (paper: 1)."""

    improve: Chosen = choose(IMPROVEMENTS, "measure")
    """How the policy is improved, with options of its own: sac, or through the measure's gradient (paper: measure)."""

    def check(self) -> None:
        if self.skill_size < self.n_skill:
            raise UserError(f"skill_size: {self.skill_size} is not allowed; give at least n_skill, {self.n_skill}")
        most = self.archive_size // (self.n_skill if self.candidates == "epoch" else 1)
        if self.uncertainty != "balanced" and self.n_targets > most:
            raise UserError(f"n_targets: {self.n_targets} is not allowed; give at most {most}")

    def check_on(self, task: Task) -> None:
        """Refuses what the task has not enough states for; the default does no harm where an epoch has fewer."""
        most = max(self.n_skill * self.n_episode * task.horizon, LeadsConfig.archive_admit)
        if self.archive_admit > most:
            raise UserError(
                f"archive_admit: {self.archive_admit} is not allowed; give at most the states of an epoch, {most}"
            )
