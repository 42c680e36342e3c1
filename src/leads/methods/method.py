"""What a method is: pure functions from states and episodes to states."""

from typing import Any, Protocol

from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.rollouts.noise import Colour


class Method(Protocol):
    """Made from (config, task). Everything that training changes is in the State, which is handed on."""

    config: Any
    """A frozen dataclass; every method's has n_skill and n_episode, the episodes per skill and epoch."""
    learns: bool
    """Whether anything changes by `update`."""
    noise: Colour
    """Colour of the action noise while collecting."""
    evaluation_noise: Colour
    """Colour of the action noise while evaluating."""

    def init(self, key: PRNGKeyArray) -> Any: ...

    def act(
        self,
        state: Any,
        s: Float[Array, "*batch state"],
        skill: Int[Array, "*batch"],
        noise: Float[Array, "*batch action"],
    ) -> Float[Array, "*batch action"]:
        """The learnt skill's actions in [-1, 1]; `noise` is standard normal, zero for the mean action."""
        ...

    def explore(
        self,
        state: Any,
        s: Float[Array, "*batch state"],
        skill: Int[Array, "*batch"],
        noise: Float[Array, "*batch action"],
    ) -> Float[Array, "*batch action"]:
        """Actions while collecting, of the same kind."""
        ...

    def update(self, state: Any, episodes: Episodes, key: PRNGKeyArray) -> tuple[Any, dict[str, Array]]:
        """One epoch of learning from freshly collected episodes."""
        ...

    def targets(self, state: Any) -> Float[Array, "skill state"] | None:
        """The state each skill is sent to, for methods that have such a thing."""
        ...
