"""Bodies that walk: HalfCheetah, Ant and Humanoid (v5), with their place in the world as part of the state."""

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
"""Height at which the half-cheetah's torso begins, and from which its state counts."""


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


class Ant(Walker):
    packaged = "Ant-v5"


class Humanoid(Walker):
    packaged = "Humanoid-v5"


@cache
def _original(name: str) -> Any:
    """One packaged environment of a kind, whose model is used."""
    return gymnasium.make(name).unwrapped


def half_cheetah(**how: Any) -> Task:
    """Where the torso is along the track and above it, in metres: the paper's failure case."""
    return Task(
        start=HalfCheetah().reset()[0],
        action_size=6,
        budget=1_000_000,
        features=lambda s: s[..., 0:2] + np.asarray([0, STANDING], np.float32),
        low=np.array([-10.0, 0.0]),
        high=np.array([10.0, 2.0]),
        feature_names=("torso x", "torso z"),
        make=HalfCheetah,
        **how,
    )


def _plane(body: type[Walker], action_size: int, **how: Any) -> Task:
    """Where the torso is on the floor, in metres."""
    return Task(
        start=body().reset()[0],
        action_size=action_size,
        budget=1_000_000,
        features=lambda s: s[..., 0:2],
        low=np.array([-10.0, -10.0]),
        high=np.array([10.0, 10.0]),
        feature_names=("torso x", "torso y"),
        make=body,
        **how,
    )


def ant(**how: Any) -> Task:
    return _plane(Ant, 8, **how)


def humanoid(**how: Any) -> Task:
    return _plane(Humanoid, 17, **how)
