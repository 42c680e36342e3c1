"""Rolls out tasks whose dynamics are JAX functions: all skills and episodes together inside one scan."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.rollouts.noise import Colour, coloured_noise
from leads.tasks.task import Task

Act = Callable[[Float[Array, "*batch state"], Array, Float[Array, "*batch action"]], Float[Array, "*batch action"]]


def rollout(task: Task, act: Act, n_skill: int, n_episode: int, colour: Colour, key: PRNGKeyArray) -> Episodes:
    """`n_episode` episodes of every skill from the start; `act(state, skill, noise)` gives actions in [-1, 1]."""
    assert task.step is not None, "a task without JAX dynamics is rolled out by on_host"
    step = jax.vmap(jax.vmap(task.step))
    batch = (n_skill, n_episode)
    noise = jnp.moveaxis(coloured_noise(key, colour, (*batch, task.horizon, task.action_size)), 2, 0)
    skill = jnp.broadcast_to(jnp.arange(n_skill)[:, None], batch)
    start = jnp.broadcast_to(jnp.asarray(task.start), (*batch, task.state_size))

    def advance(carry, noise_t):
        states, alive = carry
        actions = act(states, skill, noise_t)
        moved, terminal = step(states, actions)
        moved = jnp.where(alive[..., None], moved, states)
        return (moved, alive & ~terminal), (moved, actions, alive)

    (_, survived), (states, actions, alive) = jax.lax.scan(advance, (start, jnp.ones(batch, bool)), noise)
    return Episodes(
        states=jnp.concatenate([start[:, :, None], jnp.moveaxis(states, 0, 2)], axis=2),
        actions=jnp.moveaxis(actions, 0, 2),
        lengths=jnp.sum(alive, axis=0, dtype=jnp.int32),
        terminated=~survived,
    )
