"""What a way to improve LEADS's policy is."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from jaxtyping import Array, Float, PRNGKeyArray

from leads.config.fields import Config
from leads.data.episodes import Episodes
from leads.tasks.task import Task

if TYPE_CHECKING:
    from leads.methods.leads import Leads, LeadsState

Gaussian = tuple[Float[Array, "*batch action"], Float[Array, "*batch action"]]
"""Mean and log standard deviation before squashing."""


class Improvement(ABC):
    """Made from (config, task, skill size). What it learns is `LeadsState.policy`; its functions are pure."""

    Config: type[Config]

    def __init__(self, config: Any, task: Task, skill_size: int):
        self.config, self.task, self.skill_size = config, task, skill_size

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> Any:
        """The policy before anything is learnt, with all that learning it needs."""

    @abstractmethod
    def policy(self, policy: Any, s: Float[Array, "*batch state"], z: Float[Array, "*batch skill"]) -> Gaussian:
        """The policy that collects, and that the measure is fitted to."""

    def skill(self, policy: Any, s: Float[Array, "*batch state"], z: Float[Array, "*batch skill"]) -> Gaussian:
        """The skill that is learnt, as it is evaluated and used."""
        return self.policy(policy, s, z)

    @abstractmethod
    def improve(
        self, leads: "Leads", state: "LeadsState", episodes: Episodes, recent: Episodes, key: PRNGKeyArray
    ) -> "tuple[LeadsState, dict[str, Array]]":
        """Phase 4 of an epoch, after targets were chosen: (state, metrics).

        `episodes` are this epoch's, `recent` those that the measure learns from.
        """
