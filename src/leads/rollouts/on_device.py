"""Rolls out tasks whose dynamics are JAX functions: all skills and episodes together inside one scan."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.rollouts.noise import Colour, coloured_noise
from leads.tasks.task import Task

Act = Callable[[Float[Array, "*batch state"], Array, Float[Array, "*batch action"]], Float[Array, "*batch action"]]


def rollout(
    task: Task,
    act: Act,
    n_skill: int,
    n_episode: int,
    colour: Colour,
    key: PRNGKeyArray,
    begun: Int[Array, " skill"] | Int[Array, ""] | int | None = None,
) -> Episodes:
    """`n_episode` episodes of every skill; `act(state, skill, noise)` gives actions in [-1, 1].

    If only so many are to be `begun`, of all skills or of each, the others have no steps.
    """
    assert task.dynamics is not None, "a task without JAX dynamics is rolled out by on_host"
    everywhere = lambda function: jax.vmap(jax.vmap(function))
    step, observe = everywhere(task.dynamics.step), everywhere(task.dynamics.observe)
    batch = (n_skill, n_episode)
    noise = jnp.moveaxis(coloured_noise(key, colour, (*batch, task.horizon, task.action_size)), 2, 0)
    skill = jnp.broadcast_to(jnp.arange(n_skill)[:, None], batch)
    start = everywhere(task.dynamics.reset)(jax.random.split(jax.random.fold_in(key, 0), batch))

    def advance(carry, noise_t):
        simulator, alive = carry
        actions = act(observe(simulator), skill, noise_t)
        moved, terminal = step(simulator, actions)
        stay = lambda new, old: jnp.where(alive.reshape(*batch, *[1] * (new.ndim - 2)), new, old)
        moved = jax.tree.map(stay, moved, simulator)
        return (moved, alive & ~terminal), (observe(moved), actions, alive)

    here = jnp.arange(n_episode) < jnp.broadcast_to(n_episode if begun is None else begun, n_skill)[:, None]
    (_, survived), (states, actions, alive) = jax.lax.scan(advance, (start, here), noise)
    return Episodes(
        states=jnp.concatenate([observe(start)[:, :, None], jnp.moveaxis(states, 0, 2)], axis=2),
        actions=jnp.moveaxis(actions, 0, 2),
        lengths=jnp.sum(alive, axis=0, dtype=jnp.int32),
        terminated=here & ~survived,
    )
