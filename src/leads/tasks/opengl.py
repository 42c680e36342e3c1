"""OpenGL without a screen: MuJoCo then draws by EGL, but has to be told so. Only what draws is concerned."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from typing import Any


def chosen() -> str | None:
    """What the user has chosen to draw by; without a screen EGL, if it is there; None leaves it to MuJoCo."""
    own = os.environ.get("MUJOCO_GL")
    if own or sys.platform != "linux" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ:
        return own
    return "egl" if find_library("EGL") else "disable"  # MuJoCo would try a screen, and abort when it tries again


@contextmanager
def told_gymnasium() -> Iterator[None]:
    """While pictures are drawn: Gymnasium's own robots look for it in the process's environment only then."""
    before, now = os.environ.get("MUJOCO_GL"), chosen()
    if now is not None:
        os.environ["MUJOCO_GL"] = now
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("MUJOCO_GL", None)


@contextmanager
def told_mujoco(gl_context: Any) -> Iterator[None]:
    """While a renderer is made: MuJoCo, whose `gl_context` this is, chose when it was imported, maybe long before."""
    now = chosen()
    if now == "disable":
        raise RuntimeError("MUJOCO_GL is disable, or there is neither a screen nor EGL")
    before = gl_context.GLContext
    if now == "egl":
        from mujoco.egl import GLContext  # here, as importing it begins EGL

        gl_context.GLContext = GLContext
    try:
        yield
    finally:
        gl_context.GLContext = before
