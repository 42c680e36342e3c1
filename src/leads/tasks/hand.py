"""The Shadow hand of HandReach-v3: twenty motors, five fingertips."""

# MuJoCo declares no types.
# pyright: reportAttributeAccessIssue=false

from functools import cache
from typing import Any

import mujoco
import numpy as np
from gymnasium_robotics.envs.shadow_dexterous_hand.reach import FINGERTIP_SITE_NAMES, MujocoHandReachEnv

from leads.tasks.robot import Robot
from leads.tasks.task import Task, seen_in_box

REACH = 0.2
"""Metres from the palm within which fingertips stay."""
FINGERS = ("forefinger", "middle finger", "ring finger", "little finger", "thumb")
COUNTED = ((0, 1), (2, 1), (4, 0))
"""(finger, axis): along the hand (y) for the fore and ring finger, across it (x) for the thumb."""


class Hand(Robot):
    """The hand as Gymnasium-Robotics simulates it, to the last bit."""

    camera = {"distance": 0.34, "azimuth": 55.0, "elevation": -25.0, "lookat": np.array([1, 0.9, 0.15])}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        self.original = _original()
        model = self.original.model
        self._tips = [model.site(name).id for name in FINGERTIP_SITE_NAMES]
        self._low, self._high = model.actuator_ctrlrange.T
        self._centre, self._range = (self._high + self._low) / 2.0, (self._high - self._low) / 2.0
        super().__init__(model, model.nu, render_mode)

    def begin(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.time = self.original.initial_time
        self.data.qpos[:] = self.original.initial_qpos
        self.data.qvel[:] = self.original.initial_qvel
        mujoco.mj_forward(self.model, self.data)

    def advance(self, action: np.ndarray) -> None:
        aim = self._centre + np.clip(action, -1, 1) * self._range
        self.data.ctrl[:] = np.clip(aim, self._low, self._high)
        mujoco.mj_step(self.model, self.data, nstep=self.original.n_substeps)

    def observe(self) -> np.ndarray:
        data = self.data
        return np.concatenate([data.qpos, data.qvel, data.site_xpos[self._tips].ravel()])


@cache
def _original() -> MujocoHandReachEnv:
    """One packaged environment, which finds the model's start."""
    return MujocoHandReachEnv()


def hand(**how: Any) -> Task:
    """Where the five fingertips are; coverage counts how far two fingers bend and how far the thumb comes over."""
    palm = _original().palm_xpos
    return Task(
        start=Hand().reset()[0],
        action_size=20,
        budget=100_000,
        features=lambda s: s[..., 48:63],
        **seen_in_box(low=np.tile(palm - REACH, 5), high=np.tile(palm + REACH, 5)),
        feature_names=tuple(f"{finger} {axis}" for finger in FINGERS for axis in "xyz"),
        counted=tuple(3 * finger + axis for finger, axis in COUNTED),
        make=Hand,
        fine_bins=20,
        **how,
    )
