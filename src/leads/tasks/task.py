"""What is explored: dynamics, a fixed start, the features that count and the grid they are counted on."""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np
from jaxtyping import Array, Bool, Float


@dataclass(frozen=True, eq=False)
class Task:
    """A task with box states and actions in [-1, 1]; every episode begins in the same state."""

    name: str
    start: np.ndarray
    """The fixed state s0."""
    action_size: int
    horizon: int
    """Steps of an episode, at most."""
    budget: int
    """Samples of a run, if none are given: those of the published study where there is one."""
    features: Callable[[Float[Array, "*batch state"]], Float[Array, "*batch feature"]]
    """What coverage looks at, from states."""
    low: np.ndarray
    """Lower corner of the coverage grid."""
    high: np.ndarray
    """Upper corner of the coverage grid."""
    make: Callable[..., gymnasium.Env]
    """The task as a Gymnasium environment; takes Gymnasium's `render_mode`."""
    step: Callable[[Float[Array, " state"], Float[Array, " action"]], tuple[Array, Bool[Array, ""]]] | None = None
    """(state, action) -> (state, terminal) as a JAX function; tasks without one are stepped on the host."""
    walls: np.ndarray | None = None
    """Segments (x1, y1, x2, y2) to draw, for mazes."""
    one_scale: bool = False
    """Whether all entries of a state are of about the size of 1; if not, networks see them scaled."""
    feature_names: tuple[str, ...] = ()
    """What the features are, for figures."""
    counted: tuple[int, ...] | None = None
    """Which features the grids divide, if not all."""
    note: str | None = None
    """What a user should know of it before training."""
    bins: int = 10
    """Cells a dimension of the coverage grid."""
    fine_bins: int = 50
    """Cells a dimension of the fine grid."""

    @property
    def state_size(self) -> int:
        return len(self.start)

    @property
    def grid_axes(self) -> tuple[int, ...]:
        """The features that the grids divide."""
        return tuple(range(len(self.low))) if self.counted is None else self.counted

    def scaled_features(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch feature"]:
        """Features with the box from low to high scaled to [-1, 1]."""
        centre, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        return (self.features(states) - centre.astype(np.float32)) / half.astype(np.float32)
