import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.rollouts import on_device, on_host
from leads.tasks import make_task
from leads.tasks.task import Dynamics, Task

SPEED = jnp.asarray([1.0, 0.75, 0.5])


def line_task() -> Task:
    """A line that ends at 3, four steps long: skills end before the horizon, at it, and not at all."""
    return Task(
        name="line",
        start=np.zeros(1, np.float32),
        action_size=1,
        horizon=4,
        budget=1,
        features=lambda s: s,
        low=np.zeros(1),
        high=np.full(1, 4.0),
        make=lambda: pytest.fail("a task on the device needs no environment"),
        step_cost="device",
        dynamics=Dynamics(lambda key: jnp.zeros(1), lambda s, a: (s + a, s[0] + a[0] >= 3), lambda s: s),
    )


def test_lengths_ends_and_padding():
    act = lambda s, skill, noise: SPEED[skill][..., None]
    episodes = on_device.rollout(line_task(), act, 3, 2, "white", jax.random.key(0))
    for episode in (0, 1):
        states = episodes.states[:, episode, :, 0].tolist()
        assert states == [[0, 1, 2, 3, 3], [0, 0.75, 1.5, 2.25, 3], [0, 0.5, 1, 1.5, 2]]
        assert episodes.lengths[:, episode].tolist() == [3, 4, 4]
        assert episodes.terminated[:, episode].tolist() == [True, True, False]
    assert episodes.actions.shape == (3, 2, 4, 1)
    assert episodes.horizon == 4
    assert int(episodes.samples()) == 22
    assert episodes.steps()[0, 0].tolist() == [True, True, True, False]


@pytest.mark.parametrize("on_wall", ["terminate", "stop"])
def test_a_maze_step_by_step(on_wall, monkeypatch):
    """Against the same noise and dynamics in a Python loop."""
    noise, asked = np.random.default_rng(0).normal(size=(3, 2, 200, 2)).astype(np.float32), []
    monkeypatch.setattr(on_device, "coloured_noise", lambda *arguments: asked.append(arguments[1:]) or noise)
    task, key = make_task("maze-hard", on_wall=on_wall), jax.random.key(5)
    assert task.dynamics is not None
    step = jax.jit(task.dynamics.step)
    act = lambda s, skill, noise: jnp.tanh(noise + skill[..., None] - 1)
    episodes = jax.jit(lambda key: on_device.rollout(task, act, 3, 2, "pink", key))(key)
    episodes = jax.tree.map(np.asarray, episodes)
    assert asked == [("pink", (3, 2, 200, 2))]
    assert np.allclose(episodes.actions, np.tanh(noise + np.arange(-1, 2)[:, None, None, None]), atol=1e-6)
    for index in np.ndindex(3, 2):
        s, length, terminal = task.start, 0, False
        for t, a in enumerate(episodes.actions[index]):
            if not terminal:
                s, terminal = step(s, a)
                length += 1
            assert np.array_equal(episodes.states[index][t + 1], s)
        assert episodes.lengths[index] == length
        assert episodes.terminated[index] == terminal
    if on_wall == "stop":
        assert np.all(episodes.lengths == 200) and not np.any(episodes.terminated)
    else:
        assert np.any(episodes.terminated) and np.min(episodes.lengths) < 200


def test_the_key_decides():
    task = make_task("maze-easy")
    roll = jax.jit(lambda key: on_device.rollout(task, lambda s, z, noise: noise, 2, 2, "white", key).states)
    one, same, other = (np.asarray(roll(jax.random.key(seed))) for seed in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert len(np.unique(one[:, :, 1].reshape(-1, 2), axis=0)) == 4  # every episode has noise of its own


@pytest.mark.parametrize("name", ["maze-u", "finger"])
def test_episodes_that_are_not_begun_have_no_steps(name):
    """The others are as they would be without them, on the device and on the host."""
    task = make_task(name)
    act = jax.tree_util.Partial(lambda s, skill, noise: jnp.tanh(noise))
    roll = on_device.rollout if task.dynamics else on_host.rollout
    whole = roll(task, act, 2, 3, "white", jax.random.key(0))
    some = roll(task, act, 2, 3, "white", jax.random.key(0), begun=2)
    of_each = roll(task, act, 2, 3, "white", jax.random.key(0), begun=np.array([1, 3]))
    for episodes, begun in ((some, (2, 2)), (of_each, (1, 3))):
        for skill, n in enumerate(begun):
            assert not np.any(episodes.lengths[skill, n:]) and not np.any(episodes.terminated[skill, n:])
            for all_of_it, part in zip(jax.tree.leaves(whole), jax.tree.leaves(episodes), strict=True):
                np.testing.assert_array_equal(all_of_it[skill, :n], part[skill, :n])
