"""Rollouts of a method's skills, on the device or on the host, whichever the task needs."""

from collections.abc import Callable
from typing import Any, Self

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.methods.method import Method
from leads.rollouts import on_device, on_host
from leads.rollouts.noise import Colour
from leads.tasks.task import Task


class Rollout:
    """Call it with (method's state, key) for fresh episodes of all skills; compiled once, environments kept.

    Given a number as well, or one for each skill, only so many are begun, and the others have no steps.

    Close it when it is no longer needed: environments may hold memory and files outside Python.
    """

    def __init__(
        self,
        task: Task,
        act: Callable[..., Array],
        n_skill: int,
        n_episode: int,
        colour: Colour,
        threads: int = 1,
    ):
        """`act(method's state, states, skill, noise)` gives actions in [-1, 1]."""
        self.environments = [] if task.dynamics else on_host.environments_of(task, n_skill * n_episode)
        size = n_skill, n_episode
        of = lambda state: jax.tree_util.Partial(act, state)
        if task.dynamics:
            self._roll = jax.jit(
                lambda state, key, begun: on_device.rollout(task, of(state), *size, colour, key, begun)
            )
        else:
            self._roll = lambda state, key, begun: on_host.rollout(
                task, of(state), *size, colour, key, self.environments, threads, begun
            )

    def __call__(self, state: Any, key: PRNGKeyArray, begun: np.ndarray | int | None = None) -> Episodes:
        return self._roll(state, key, begun)

    def close(self) -> None:
        while self.environments:
            self.environments.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def collection(task: Task, method: Method, threads: int = 1) -> Rollout:
    """Episodes to learn from, as the method explores."""
    c = method.config
    return Rollout(task, method.explore, c.n_skill, c.n_episode, method.noise, threads)


def evaluation(task: Task, method: Method, n_episode: int, noise: Colour | None = None, threads: int = 1) -> Rollout:
    """Episodes of the learnt skills as they are evaluated, or with noise of another colour."""
    return Rollout(task, method.act, method.config.n_skill, n_episode, noise or method.evaluation_noise, threads)
