"""What is explored: dynamics, a start, the features that count and the grid they are counted on."""

from __future__ import annotations  # naming jaxtyping's Array imports JAX, which `leads --help` does without

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leads.config.fields import shown
from leads.errors import UserError

if TYPE_CHECKING:
    import gymnasium
    from jaxtyping import Array, Bool, Float, PRNGKeyArray

StepCost = Literal["device", "cheap", "dear"]
"""What a step costs: a JAX function, a simulator of microseconds, or one of a millisecond (Fetch, Hand)."""

Corner = np.ndarray | Sequence[float]
"""A number for each feature."""


@dataclass(frozen=True)
class Dynamics:
    """A task as JAX functions of one episode; the simulator's state may be more, or other, than what is observed."""

    reset: Callable[[PRNGKeyArray], Any]
    """key -> simulator's first state."""
    step: Callable[[Any, Float[Array, " action"]], tuple[Any, Bool[Array, ""]]]
    """(simulator's state, action) -> (simulator's state, terminal)."""
    observe: Callable[[Any], Float[Array, " state"]]
    """Simulator's state -> the state that skills and coverage see."""


def no_environment(render_mode: str | None = None) -> gymnasium.Env:
    raise UserError("task: it has no Gymnasium environment; give one as its make")


@dataclass(frozen=True, eq=False)
class Task:
    """A task with box states, and actions that methods see in [-1, 1]."""

    name: str
    start: np.ndarray
    """s0, the state in which every episode begins, or a typical one where starts are random."""
    action_size: int
    horizon: int
    """Largest number of steps of an episode."""
    budget: int
    """Samples of a run by default: those of the published study where there is one."""
    features: Callable[[Float[Array, "*batch state"]], Float[Array, "*batch feature"]]
    """What coverage looks at, from states."""
    low: np.ndarray
    """Lower corner of the coverage grid."""
    high: np.ndarray
    """Upper corner of the coverage grid."""
    make: Callable[..., gymnasium.Env] = no_environment
    """The task as a Gymnasium environment, for stepping on the host and for films; takes `render_mode`."""
    action_space: gymnasium.spaces.Box | None = None
    """The actions of that environment; by default from -1 to 1."""
    dynamics: Dynamics | None = None
    """The task as JAX functions; a task without them is stepped on the host."""
    step_cost: StepCost = None  # type: ignore[assignment]
    """Decides how often skills are evaluated and which defaults apply; by default device with dynamics, else cheap."""
    unit: Corner | None = None
    """Length of each feature that networks see as 1; by default measured in a run's first epoch (`Scaling`)."""
    centre: Corner | None = None
    """Features that networks see as 0; by default those of the start."""
    periodic: tuple[int, ...] = ()
    """Indices of features that are angles, in radians: networks see their cosines and sines."""
    walls: np.ndarray | None = None
    """Segments (x1, y1, x2, y2) to draw, for mazes."""
    one_scale: bool = False
    """Whether all entries of a state are about as large as 1; if not, networks see them standardised."""
    feature_names: tuple[str, ...] = ()
    """What the features are, for figures."""
    metres: tuple[int, ...] = ()
    """Indices of features in metres that are also counted in cells of 1 m, however far they go."""
    counted: tuple[int, ...] | None = None
    """Indices of the features that the grids divide; by default all."""
    note: str | None = None
    """What a user should know before training."""
    bins: int = 10
    """Cells per dimension of the coverage grid."""
    fine_bins: int = 50
    """Cells per dimension of the fine grid."""

    def __post_init__(self):
        for name in ("start", "low", "high"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        if self.unit is not None:
            object.__setattr__(self, "unit", _lengths(self.unit, self.feature_size))
        if self.centre is not None and len(self.centre) != self.feature_size:
            raise UserError(
                f"centre: {len(self.centre)} numbers are given; give one for each of {self.feature_size} features"
            )
        for name in ("periodic", "metres"):
            if not set(getattr(self, name)) <= set(range(self.feature_size)):
                raise UserError(f"{name}: {getattr(self, name)} are not indices of {self.feature_size} features")
        cost = self.step_cost or ("device" if self.dynamics else "cheap")
        if cost == "device" and self.dynamics is None:
            raise UserError("step_cost: a task without dynamics is not stepped on the device; give cheap or dear")
        object.__setattr__(self, "step_cost", cost)

    @property
    def state_size(self) -> int:
        return len(self.start)

    @property
    def feature_size(self) -> int:
        """Features that coverage looks at."""
        return len(self.low)

    @property
    def network_feature_size(self) -> int:
        """Numbers that networks see of them: two of an angle."""
        return self.feature_size + len(self.periodic)

    @property
    def grid_axes(self) -> tuple[int, ...]:
        """The features that the grids divide."""
        return tuple(range(self.feature_size)) if self.counted is None else self.counted

    def environment_actions(self, scaled: Float[np.ndarray, "*batch action"]) -> np.ndarray:
        """Actions in [-1, 1] as the environment takes them: -1 is the lower bound of `action_space`, 1 the upper."""
        space = self.action_space
        if space is None:
            return scaled
        centre, half = (space.high + space.low) / 2, (space.high - space.low) / 2
        aim = centre + np.clip(scaled, -1, 1) * half
        return np.clip(aim, space.low, space.high).astype(space.dtype)  # rounding may have led beyond

    def boxed_features(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch feature"]:
        """Features with the box from low to high scaled to [-1, 1]."""
        centre, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        return (self.features(states) - centre.astype(np.float32)) / half.astype(np.float32)


def seen_in_box(low: Corner, high: Corner, ends: float = 1.0) -> dict[str, Any]:
    """Fields of a task whose networks see the middle of the box as 0 and its ends as +-`ends`."""
    lower, upper = np.asarray(low, float), np.asarray(high, float)
    return {"low": lower, "high": upper, "centre": (upper + lower) / 2, "unit": (upper - lower) / 2 / ends}


def _lengths(unit: Any, size: int) -> np.ndarray:
    """A task's unit, checked."""
    try:
        lengths = np.asarray(unit, float)
    except (TypeError, ValueError):
        lengths = np.empty(0)
    if lengths.shape != (size,) or not (np.isfinite(lengths) & (lengths > 0)).all():
        raise UserError(f"unit: {shown(unit)} is not allowed; give a length above 0 for each feature, {size} in all")
    return lengths
