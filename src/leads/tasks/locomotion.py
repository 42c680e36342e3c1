"""Bodies that walk (Gymnasium's v5), with their place in the world as part of the state."""

# MuJoCo declares no types.
# pyright: reportAttributeAccessIssue=false

from functools import cache
from typing import Any

import gymnasium
import mujoco
import numpy as np

from leads.tasks.robot import Robot
from leads.tasks.task import Task

STANDING = 0.7
"""Height at which the half-cheetah's torso begins, and from which its state counts; that of others counts from 0."""


class Walker(Robot):
    """A body as Gymnasium simulates it, to the last bit, without its noise at the start; the state is qpos and qvel.

    Falling ends nothing, so that how to stand up again can be explored as well.
    """

    packaged: str
    """The environment whose model and start these are."""

    def __init__(self, render_mode: str | None = None):
        self.original = _original(self.packaged)
        packaged_camera = self.original.mujoco_renderer.default_cam_config or {}
        self.camera = {"distance": 4.0, "elevation": -20.0, "trackbodyid": 1} | packaged_camera
        low, high = self.original.model.actuator_ctrlrange.T
        self._centre, self._range = (high + low) / 2, (high - low) / 2
        super().__init__(self.original.model, self.original.model.nu, render_mode)

    def begin(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.original.init_qpos
        self.data.qvel[:] = self.original.init_qvel
        mujoco.mj_forward(self.model, self.data)

    def advance(self, action: np.ndarray) -> None:
        self.data.ctrl[:] = self._centre + action * self._range
        mujoco.mj_step(self.model, self.data, nstep=self.original.frame_skip)

    def observe(self) -> np.ndarray:
        return np.concatenate([self.data.qpos, self.data.qvel])


class HalfCheetah(Walker):
    packaged = "HalfCheetah-v5"


class HalfCheetahPaper(HalfCheetah):
    """The same body under another name, for episodes as long as the paper's."""


class Walker2d(Walker):
    packaged = "Walker2d-v5"


class Hopper(Walker):
    packaged = "Hopper-v5"


class Ant(Walker):
    packaged = "Ant-v5"


class Humanoid(Walker):
    packaged = "Humanoid-v5"


@cache
def _original(name: str) -> Any:
    """One packaged environment of a kind, whose model is used."""
    return gymnasium.make(name).unwrapped


def _track(body: type[Walker], action_size: int, far: float, high: float, rise: float = 0.0, **how: Any) -> Task:
    """Where the torso is along the track and above it, in metres; its height is the second number of a state + rise."""
    return Task(
        start=body().reset()[0],
        action_size=action_size,
        budget=1_000_000,
        features=lambda s: s[..., 0:2] + np.asarray([0, rise], np.float32),
        low=np.array([-far, 0.0]),
        high=np.array([far, high]),
        unit=np.array([2.0, 0.5]),
        metres=(0,),
        feature_names=("torso x", "torso z"),
        make=body,
        **how,
    )


def half_cheetah(**how: Any) -> Task:
    """With room for skills that run."""
    return _track(HalfCheetah, 6, far=60.0, high=2.0, rise=STANDING, **how)


def half_cheetah_paper(**how: Any) -> Task:
    """The paper's failure case."""
    return _track(HalfCheetahPaper, 6, far=10.0, high=2.0, rise=STANDING, **how)


def walker2d(**how: Any) -> Task:
    return _track(Walker2d, 6, far=10.0, high=2.5, **how)


def hopper(**how: Any) -> Task:
    return _track(Hopper, 3, far=10.0, high=2.5, **how)


def _plane(body: type[Walker], action_size: int, far: float, **how: Any) -> Task:
    """Where the torso is on the floor, in metres."""
    return Task(
        start=body().reset()[0],
        action_size=action_size,
        budget=1_000_000,
        features=lambda s: s[..., 0:2],
        low=np.array([-far, -far]),
        high=np.array([far, far]),
        unit=np.ones(2),
        metres=(0, 1),
        feature_names=("torso x", "torso y"),
        make=body,
        **how,
    )


def ant(**how: Any) -> Task:
    return _plane(Ant, 8, far=25.0, **how)


def humanoid(**how: Any) -> Task:
    return _plane(Humanoid, 17, far=10.0, **how)
