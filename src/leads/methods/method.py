"""What a method is: pure functions from states and episodes to states. And what only some methods can do."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.measures.measure import AfterEnd
from leads.rollouts.noise import Colour

States = Float[Array, "*batch state"]
Actions = Float[Array, "*batch action"]


class Method(Protocol):
    """Made from (config, task). Everything that training changes is in the State, which is handed on."""

    Config: ClassVar[type]
    """A frozen `leads.config.fields.Config`; every method's has n_skill and n_episode, episodes per skill and epoch.

    If it has `epoch_samples` too, or divides episodes, fewer may be begun; the others have no steps.
    """
    title: ClassVar[str]
    """Its name in tables and figures."""
    learns: ClassVar[bool]
    """False for a control: `update` changes nothing."""

    config: Any
    noise: Colour
    """Colour of the exploration noise."""
    evaluation_noise: Colour
    """Colour of the noise in evaluation."""

    def init(self, key: PRNGKeyArray) -> Any: ...

    def act(self, state: Any, s: States, skill: Int[Array, "*batch"], noise: Actions) -> Actions:
        """The learnt skill's actions in [-1, 1]; `noise` is standard normal, zero for the mean action."""
        ...

    def explore(self, state: Any, s: States, skill: Int[Array, "*batch"], noise: Actions) -> Actions:
        """Actions while collecting, of the same kind."""
        ...

    def update(self, state: Any, episodes: Episodes, key: PRNGKeyArray) -> tuple[Any, dict[str, Array]]:
        """One epoch of learning from freshly collected episodes: (state, metrics)."""
        ...


@runtime_checkable
class HasTargets(Protocol):
    """A method that sends each skill to a state of its choice."""

    def targets(self, state: Any) -> Float[Array, "skill state"]:
        """The state each skill is sent to."""
        ...

    def uncertainty(self, state: Any, s: Float[Array, "n state"]) -> Float[Array, "skill n"]:
        """u(s, z), by which targets are chosen."""
        ...


@runtime_checkable
class LearnsMeasure(Protocol):
    """A method that learns a successor state measure."""

    def log_measure(
        self, state: Any, s1: Float[Array, "*skill state"], s2: Float[Array, "n state"]
    ) -> Float[Array, "skill n"]:
        """f(s1, s2, z) of every skill; s1 is one state, or one for each skill."""
        ...

    def landmarks(self, state: Any) -> Float[Array, "n state"]:
        """States spread over all that was visited, at which the measure is known."""
        ...

    def marginal(self, state: Any, collect: Callable[[], Episodes], key: PRNGKeyArray) -> Float[Array, "n state"]:
        """Draws of p(s), which the measure is relative to; `collect` gives freshly collected episodes, if needed."""
        ...

    def future_weights(self, horizon: int) -> Float[np.ndarray, " time"]:
        """What a visit 1, 2, ... steps ahead counts for in the measure."""
        ...

    @property
    def after_end(self) -> AfterEnd:
        """What the measure takes to follow a terminal state."""
        ...


@runtime_checkable
class DividesEpisodes(Protocol):
    """A method that collects more with some skills than with others."""

    def collects(self, state: Any) -> Float[Array, " skill"]:
        """Episodes of each skill, relative to those of the others."""
        ...


def targets_of(method: Method, state: Any) -> Float[Array, "skill state"] | None:
    """The state each skill is sent to, of a method that has such a thing."""
    return method.targets(state) if isinstance(method, HasTargets) else None
