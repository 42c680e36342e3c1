"""Robots simulated by MuJoCo, stepped without wrappers or look-ups of names; every episode begins in one state."""

# MuJoCo declares no types.
# pyright: reportAttributeAccessIssue=false

import sys
import warnings
from abc import abstractmethod
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.error import ResetNeeded

from leads.errors import UserError
from leads.tasks.opengl import told_mujoco

WIDTH, HEIGHT = 480, 360
"""Pixels of a picture."""
GL_CONTEXT = sys.modules[mujoco.Renderer.__module__].gl_context
"""Where MuJoCo's renderer looks for OpenGL."""


class Robot(gymnasium.Env[np.ndarray, np.ndarray]):
    """A simulation in its own `data`; `model` is shared by all of a kind, and its physics never change."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 25}  # noqa: RUF012 (as Gymnasium declares it)
    camera: dict[str, Any]
    """Where pictures are taken from: fields of MuJoCo's camera."""

    def __init__(self, model: mujoco.MjModel, action_size: int, render_mode: str | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(f"render_mode: {render_mode!r} is unknown; allowed are rgb_array and None")
        self.model, self.data, self.render_mode = model, mujoco.MjData(model), render_mode
        self._renderer: mujoco.Renderer | None = None
        self._begun = False
        self.begin()
        size = len(self.observe())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (action_size,), np.float32)

    @abstractmethod
    def begin(self) -> None:
        """Puts `data` into the first state of an episode."""

    @abstractmethod
    def advance(self, action: np.ndarray) -> None:
        """Moves `data` on by one step; what of `action` lies outside [-1, 1] counts as 1 or -1."""

    @abstractmethod
    def observe(self) -> np.ndarray:
        """The state, from `data`."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._begun = True
        self.begin()
        return self.observe().astype(np.float32), {}

    def step(self, action: np.ndarray):
        if not self._begun:
            raise ResetNeeded("call reset before step")
        action = np.asarray(action, np.float32)
        if action.shape != self.action_space.shape:
            raise ValueError(f"an action of shape {action.shape} was given; {self.action_space.shape} is needed")
        self.advance(action)
        return self.observe().astype(np.float32), 0.0, False, False, {}

    def render(self):
        """A picture of the robot."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws nothing without render_mode='rgb_array'")
            return None
        if not self._begun:
            raise ResetNeeded("call reset before render")
        self._renderer = self._renderer or new_renderer(self.model)
        self._renderer.update_scene(self.data, self._camera())
        return self._renderer.render()

    def _camera(self) -> Any:
        camera = mujoco.MjvCamera()
        for name, value in self.camera.items():
            setattr(camera, name, value)
        if self.camera.get("trackbodyid", -1) >= 0:
            camera.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        return camera

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def new_renderer(model: mujoco.MjModel) -> mujoco.Renderer:
    """What draws pictures of a model, or a clear line when there is no OpenGL."""
    try:
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, WIDTH)
        model.vis.global_.offheight = max(model.vis.global_.offheight, HEIGHT)
        with told_mujoco(GL_CONTEXT), warnings.catch_warnings(action="ignore"):  # the error says what GLFW warns of
            return mujoco.Renderer(model, HEIGHT, WIDTH)
    except Exception as error:  # each OpenGL backend has errors of its own
        raise UserError(
            f"rendering: no OpenGL without a screen ({error}); install EGL and set MUJOCO_GL=egl, or osmesa"
        ) from error
