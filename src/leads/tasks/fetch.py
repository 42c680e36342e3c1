"""The Fetch arm: FetchReach-v4, whose gripper can go anywhere, and FetchSlide-v4, with a puck on a table to hit."""

# MuJoCo declares no types.
# pyright: reportAttributeAccessIssue=false

from functools import cache
from typing import Any

import mujoco
import numpy as np
from gymnasium_robotics.envs.fetch.reach import MujocoFetchReachEnv
from gymnasium_robotics.envs.fetch.slide import MujocoFetchSlideEnv
from gymnasium_robotics.utils.rotations import mat2euler

from leads.tasks.robot import Robot
from leads.tasks.task import Task, seen_in_box

STRIDE = 0.05
"""Metres by which an action of 1 moves the gripper's aim."""
TURN = np.array([1.0, 0.0, 1.0, 0.0])
"""What the packaged environment adds to the gripper's rotation, a quaternion, in every step."""
PUCK = (1.113, 0.749)
"""Where the puck begins: in front of the gripper and clear of it."""


class FetchReach(Robot):
    """The arm as Gymnasium-Robotics simulates it, to the last bit; the fourth action, of the fingers, has no effect."""

    packaged: Any = MujocoFetchReachEnv
    """The environment whose model and start these are."""
    camera = {"distance": 2.2, "azimuth": 132.0, "elevation": -14.0, "lookat": np.array([1.1, 0.75, 0.6])}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        self.original = _original(self.packaged)
        model = self.original.model
        self._grip = model.site("robot0:grip").id
        self._wrist = model.body("robot0:gripper_link").id
        fingers = [model.joint(f"robot0:{side}_gripper_finger_joint").id for side in "rl"]
        self._finger_qpos, self._finger_qvel = model.jnt_qposadr[fingers], model.jnt_dofadr[fingers]
        self._seconds = self.original.n_substeps * model.opt.timestep
        self._linear, self._angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        super().__init__(model, 4, render_mode)

    def begin(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.time = self.original.initial_time
        self.data.qpos[:] = self.original.initial_qpos
        self.data.qvel[:] = self.original.initial_qvel
        self._place()
        mujoco.mj_forward(self.model, self.data)

    def _place(self) -> None:
        """Puts what is not the arm into its place."""

    def advance(self, action: np.ndarray) -> None:
        data = self.data
        data.mocap_pos[0] = data.xpos[self._wrist] + STRIDE * np.clip(action[:3], -1, 1)
        data.mocap_quat[0] = data.xquat[self._wrist] + TURN
        mujoco.mj_step(self.model, data, nstep=self.original.n_substeps)
        data.qpos[self._finger_qpos] = 0.0
        mujoco.mj_forward(self.model, data)

    def observe(self) -> np.ndarray:
        grip, velocity, _ = self._site(self._grip)
        return np.concatenate([grip, *self._between(grip, velocity), velocity, self._finger_velocity()])

    def _between(self, grip: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, ...]:
        """What the state has between the gripper's position and velocity."""
        return (self.data.qpos[self._finger_qpos],)

    def _finger_velocity(self) -> np.ndarray:
        return self.data.qvel[self._finger_qvel] * self._seconds

    def _site(self, site: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A site's position, and its velocity and rotation in the time of a step."""
        mujoco.mj_jacSite(self.model, self.data, self._linear, self._angular, site)
        qvel, seconds = self.data.qvel, self._seconds
        return self.data.site_xpos[site], self._linear @ qvel * seconds, self._angular @ qvel * seconds


class FetchSlide(FetchReach):
    """The arm and a puck that slides where the arm cannot reach; it begins in one place, not at random."""

    packaged = MujocoFetchSlideEnv
    camera = {"distance": 2.1, "azimuth": 132.0, "elevation": -25.0, "lookat": np.array([1.25, 0.75, 0.42])}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        model = _original(self.packaged).model
        self._puck, self._puck_qpos = model.site("object0").id, model.joint("object0:joint").qposadr[0]
        super().__init__(render_mode)

    def _place(self) -> None:
        self.data.qpos[self._puck_qpos : self._puck_qpos + 2] = PUCK

    def _between(self, grip: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, ...]:
        puck, puck_velocity, puck_rotation = self._site(self._puck)
        angles = mat2euler(self.data.site_xmat[self._puck].reshape(3, 3))
        fingers = self.data.qpos[self._finger_qpos]
        return puck, puck - grip, fingers, angles, puck_velocity - velocity, puck_rotation


@cache
def _original(packaged: Any) -> Any:
    """One packaged environment of a kind, which finds the model's start."""
    return packaged()


def fetch_reach(**how: Any) -> Task:
    """Where the gripper can be, in metres."""
    return Task(
        start=FetchReach().reset()[0],
        action_size=4,
        budget=200_000,
        features=lambda s: s[..., 0:3],
        **seen_in_box(low=(0.2, -0.3, 0.0), high=(1.8, 1.75, 1.6), ends=5.0),
        feature_names=("gripper x", "gripper y", "gripper z"),
        make=FetchReach,
        fine_bins=20,
        **how,
    )


def fetch_slide(**how: Any) -> Task:
    """Where the puck can be on the table and beside it, in metres."""
    return Task(
        start=FetchSlide().reset()[0],
        action_size=4,
        budget=100_000,
        features=lambda s: s[..., 3:5],
        **seen_in_box(low=(0.5, 0.1), high=(1.9, 1.4)),
        feature_names=("puck x", "puck y"),
        make=FetchSlide,
        **how,
    )
