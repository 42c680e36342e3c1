"""Rolls out tasks that are only Gymnasium environments: many step on the host, one compiled policy acts for all."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.errors import UserError, in_a_line
from leads.rollouts.noise import Colour, coloured_noise
from leads.rollouts.on_device import Act
from leads.tasks.task import Task


def rollout(
    task: Task,
    act: Act,
    n_skill: int,
    n_episode: int,
    colour: Colour,
    key: PRNGKeyArray,
    environments: Sequence[gymnasium.Env] | None = None,
    threads: int = 1,
    begun: np.ndarray | int | None = None,
) -> Episodes:
    """`n_episode` episodes of every skill; `act(state, skill, noise)` gives actions in [-1, 1].

    If only so many are to be `begun`, of all skills or of each, the others have no steps.
    `act` is compiled once for all calls if it is a pytree like `jax.tree_util.Partial(method.act, state)`; a new
    function is compiled anew. `environments` (n_skill * n_episode, from task.make) may be reused across calls; without
    them, new ones are made and closed. They are divided among `threads`, which run side by side where a simulator
    releases Python's lock while it steps.
    """
    batch, n = (n_skill, n_episode), n_skill * n_episode
    if environments is None:
        made = environments_of(task, n)
        try:
            return rollout(task, act, n_skill, n_episode, colour, key, made, threads, begun)
        finally:
            for environment in made:
                environment.close()
    noise = np.asarray(_noise(key, colour, (*batch, task.horizon, task.action_size)))
    skill = jnp.broadcast_to(jnp.arange(n_skill)[:, None], batch)
    seeds = np.asarray(jax.random.randint(jax.random.fold_in(key, 0), (n,), 0, 2**31 - 1))

    states = np.empty((task.horizon + 1, n, task.state_size), np.float32)
    actions = np.empty((task.horizon, n, task.action_size), np.float32)
    lengths, terminated = np.zeros(n, np.int32), np.zeros(n, bool)
    each = np.broadcast_to(n_episode if begun is None else begun, n_skill)
    alive = (np.arange(n_episode) < each[:, None]).reshape(-1)

    def reset(mine: range) -> None:
        for i in mine:
            try:
                states[0, i] = _observed(environments[i].reset(seed=int(seeds[i]))[0], task)
            except Exception as error:  # environments have errors of their own
                raise _failed("reset", error) from error

    def step(t: int, given: np.ndarray, mine: range) -> None:
        for i in mine:
            if not alive[i]:
                continue
            try:
                state, _, terminated[i], truncated, _ = environments[i].step(given[i].copy())
                states[t + 1, i] = _observed(state, task)
            except Exception as error:
                raise _failed(f"step {t + 1} of an episode", error) from error
            lengths[i] += 1
            alive[i] = not (terminated[i] or truncated)

    threads = min(threads, n)
    shares = [range(n)[k::threads] for k in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        everyone = map if threads == 1 else pool.map
        list(everyone(reset, shares))
        _check_finite(states[0], "environment: its observation at reset")
        for t in range(task.horizon):
            actions[t] = np.reshape(_actions(act, states[t].reshape(*batch, -1), skill, noise[t]), (n, -1))
            _check_finite(actions[t], f"method: its action at step {t + 1} of an episode")
            states[t + 1] = states[t]
            list(everyone(partial(step, t, task.environment_actions(actions[t])), shares))
            _check_finite(states[t + 1], f"environment: its observation at step {t + 1} of an episode")
    return Episodes(
        states=jnp.asarray(np.moveaxis(states, 0, 1).reshape(*batch, task.horizon + 1, -1)),
        actions=jnp.asarray(np.moveaxis(actions, 0, 1).reshape(*batch, task.horizon, -1)),
        lengths=jnp.asarray(lengths.reshape(batch)),
        terminated=jnp.asarray(terminated.reshape(batch)),
    )


def environments_of(task: Task, n: int) -> list[gymnasium.Env]:
    """So many environments of a task; if one cannot be made, none is left open."""
    made: list[gymnasium.Env] = []
    try:
        for _ in range(n):
            made.append(task.make())
        _check_actions(task, made[0])
    except BaseException as error:
        for environment in made:
            environment.close()
        raise (_failed("making it", error) if isinstance(error, Exception) else error) from None
    return made


def _check_actions(task: Task, environment: gymnasium.Env) -> None:
    """Refuses an environment in which other actions would happen than the task says."""
    there = getattr(environment, "action_space", None)
    said = task.action_space or Box(-1, 1, (task.action_size,), np.float32)
    if isinstance(there, Box) and not all(map(np.array_equal, (there.low, there.high), (said.low, said.high))):
        raise UserError(f"task: its environment takes actions of {there}, but its action_space is {said}")


def _failed(what: str, error: Exception) -> UserError:
    """Errors of environments do not say when they happened."""
    return error if isinstance(error, UserError) else UserError(f"environment: {what} failed ({in_a_line(error)})")


def _observed(state: Any, task: Task) -> Any:
    """An observation, which NumPy would otherwise stretch to the size of a state."""
    if np.shape(state) != (task.state_size,):
        raise ValueError(f"an observation of shape {np.shape(state)} was given; {(task.state_size,)} is needed")
    return state


def _check_finite(numbers: np.ndarray, what: str) -> None:
    if not np.isfinite(numbers).all():
        raise UserError(f"{what} is not finite (NaN or infinity)")


@eqx.filter_jit
def _actions(
    act: Act,
    states: Float[np.ndarray, "*batch state"],
    skill: Int[Array, "*batch"],
    noise: Float[np.ndarray, "*batch action"],
) -> Float[Array, "*batch action"]:
    return act(jnp.asarray(states), skill, jnp.asarray(noise))


@eqx.filter_jit
def _noise(key: PRNGKeyArray, colour: Colour, shape: tuple[int, ...]) -> Float[Array, "time *batch action"]:
    """The noise that on_device draws from the same key."""
    return jnp.moveaxis(coloured_noise(key, colour, shape), -2, 0)
