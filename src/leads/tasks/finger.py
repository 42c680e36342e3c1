"""The finger of the DeepMind Control Suite (turn_hard): two joints that push a spinner round its hinge."""

# MuJoCo declares no types.
# pyright: reportAttributeAccessIssue=false

from functools import cache
from importlib import resources
from math import cos, sin, sqrt
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np

from leads.tasks.robot import Robot
from leads.tasks.task import Task, seen_in_box

ANGLES = (np.pi / 2, 0.0, np.pi / 2)
"""Of the proximal and distal joint and the hinge, at the start."""
TARGET_SIZE = 0.03
"""Radius of turn_hard's target, which here always stands straight above the hinge."""
SUBSTEPS = 2
COMMON = ("materials", "skybox", "visual")
"""What the model's file includes."""
SENSORS = ("proximal", "distal", "proximal_velocity", "distal_velocity", "hinge_velocity", "tip", "target", "spinner")
"""The model's first sensors, in its order; positions have three numbers. The two of touch follow."""


class Finger(Robot):
    """The finger as dm_control simulates it, to the last bit; the state is its observation and the hinge's angle."""

    metadata = Robot.metadata | {"render_fps": 50}
    camera = {"distance": 1.15, "azimuth": 90.0, "elevation": -5.0, "lookat": np.array([0, 0, 0.4])}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        super().__init__(_model(), 2, render_mode)

    def begin(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = ANGLES
        mujoco.mj_forward(self.model, self.data)

    def advance(self, action: np.ndarray) -> None:
        """As dm_control steps, so that sensors are those of the new position."""
        self.data.ctrl[:] = action
        mujoco.mj_step2(self.model, self.data)
        mujoco.mj_step(self.model, self.data, nstep=SUBSTEPS - 1)
        mujoco.mj_step1(self.model, self.data)

    def observe(self) -> np.ndarray:
        sensors = self.data.sensordata
        tip, target, spinner = sensors[5:8:2], sensors[8:11:2], sensors[11:14:2]
        x, z = target - tip
        hinge = self.data.qpos[2]
        state = np.empty(14)
        state[0:2] = sensors[0:2]
        state[2:4] = tip - spinner
        state[4:7] = sensors[2:5]
        state[7:9] = np.log1p(sensors[14:16])
        state[9:11] = target - spinner
        state[11:14] = sqrt(x * x + z * z) - TARGET_SIZE, sin(hinge), cos(hinge)
        return state


@cache
def _model() -> mujoco.MjModel:
    suite = resources.files("dm_control") / "suite"  # as files, because importing dm_control's suite begins OpenGL
    assets = {f"./common/{name}.xml": (suite / f"common/{name}.xml").read_bytes() for name in COMMON}
    model = mujoco.MjModel.from_xml_string((suite / "finger.xml").read_text(), assets)
    assert tuple(model.sensor(i).name for i in range(len(SENSORS))) == SENSORS
    hinge = model.body("spinner").pos
    model.site("target").pos[:] = hinge + [0.0, 0.0, model.geom("cap1").size.sum()]
    model.site("target").size[0] = TARGET_SIZE
    return model


def finger_turn(**how: Any) -> Task:
    """Angles of both joints, which have ends, and of the hinge, which has none: a circle as long as its interval."""
    return Task(
        start=Finger().reset()[0],
        action_size=2,
        budget=100_000,
        features=lambda s: jnp.concatenate([s[..., 0:2], jnp.arctan2(s[..., 12:13], s[..., 13:14])], -1),
        **seen_in_box(low=(-1.92, -1.92, -np.pi), high=(1.92, 1.92, np.pi), ends=5.0),
        periodic=(2,),
        feature_names=("proximal angle", "distal angle", "hinge angle"),
        make=Finger,
        fine_bins=20,
        **how,
    )
