import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from leads.errors import UserError
from leads.rollouts import on_device
from leads.tasks.gymnasium_maze import MARGIN, SIZE, MazeEnv
from leads.tasks.maze import MAZES, Maze, maze_task
from leads.tasks.registration import register

register()
SHIPPED = {"leads/MazeEasy-v0": "easy", "leads/MazeU-v0": "u", "leads/MazeHard-v0": "hard"}
MINE = Maze((0, 0), ((0.2, -0.5, 0.7, 0.6), (-0.8, -0.8, -0.3, 0.1)))


@pytest.mark.parametrize("name", SHIPPED)
def test_gymnasium_finds_nothing_wrong(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name).unwrapped)
        check_env(gymnasium.make(name, on_wall="stop", render_mode="rgb_array").unwrapped)
        check_env(gymnasium.make("leads/Maze-v0", maze=MINE).unwrapped)


def test_registering_again_is_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register()


@pytest.mark.parametrize("name", SHIPPED)
def test_spaces_start_reward_and_horizon(name):
    environment = gymnasium.make(name, on_wall="stop")
    assert environment.observation_space == environment.action_space == gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation, info = environment.reset(seed=3)
    assert observation.tolist() == list(MAZES[SHIPPED[name]].start) and info == {}
    for t in range(200):
        observation, reward, terminated, truncated, info = environment.step(np.float32([-1, 0.5]))
        assert (reward, terminated, truncated, info) == (0.0, False, t == 199, {})
    assert observation.tolist() != list(MAZES[SHIPPED[name]].start)


def test_hitting_the_wall_ends_the_episode_where_it_was():
    environment = gymnasium.make("leads/MazeU-v0")
    environment.reset()
    for t in range(10):
        observation, _, terminated, truncated, _ = environment.step(np.float32([1, 0]))
        assert (terminated, truncated) == (t == 9, False)
    assert observation == pytest.approx([-0.05, -0.5], abs=1e-6)


@pytest.mark.parametrize("on_wall", ["terminate", "stop"])
@pytest.mark.parametrize("maze", [*MAZES.values(), MINE], ids=[*MAZES, "mine"])
def test_steps_are_those_of_the_compiled_rollout_to_the_last_bit(maze, on_wall, monkeypatch):
    task = maze_task(maze, "maze", on_wall)
    noise = np.random.default_rng(1).normal(size=(2, 4, 40, 2)).repeat(5, axis=2)
    noise = jnp.asarray(noise + np.random.default_rng(2).normal(size=noise.shape), jnp.float32)
    monkeypatch.setattr(on_device, "coloured_noise", lambda key, colour, shape: noise)  # spares compiling the real one
    roll = jax.jit(lambda key: on_device.rollout(task, lambda s, z, noise: jnp.tanh(noise), 2, 4, "white", key))
    states, actions, lengths, terminated = map(np.asarray, jax.tree.leaves(roll(jax.random.key(1))))
    environment = MazeEnv(maze, on_wall)
    for index in np.ndindex(2, 4):
        path, ended = [environment.reset()[0]], False
        for a in actions[index][: lengths[index]]:
            assert not ended
            observation, _, ended, _, _ = environment.step(a)
            path.append(observation)
        assert np.array_equal(path, states[index][: lengths[index] + 1])
        assert ended == terminated[index]


def test_every_observation_is_its_own_array():
    environment = MazeEnv("easy")
    first, _ = environment.reset()
    first += 0.5
    assert environment.step(np.zeros(2))[0].tolist() == [0, 0]


# Pictures


def frame(environment, *actions) -> np.ndarray:
    environment.reset()
    for action in actions:
        environment.step(np.float32(action))
    return environment.render()


def pixel(picture, x, y) -> list[int]:
    scale = SIZE / (2 * (1 + MARGIN))
    return picture[int((1 + MARGIN - y) * scale), int((x + 1 + MARGIN) * scale)].tolist()


def test_a_picture_shows_walls_agent_start_and_trace():
    environment = gymnasium.make("leads/MazeU-v0", render_mode="rgb_array")
    white, wall, red, blue = [255] * 3, [0x2E, 0x34, 0x40], [0xE4, 0x57, 0x2E], [36, 90, 160]
    before, after = frame(environment), frame(environment, *[(0, 1)] * 20)
    for picture in (before, after):
        assert picture.shape == (400, 400, 3) and picture.dtype == np.uint8
        assert pixel(picture, 0, -0.5) == pixel(picture, 0, -0.99) == pixel(picture, 1, 0.3) == wall
        assert pixel(picture, 0, 0.5) == pixel(picture, 0.5, 0.5) == white
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 30  # smooth edges
    assert pixel(before, -0.5, -0.5) == red and pixel(before, -0.5, 0.5) == pixel(before, -0.5, 0) == white
    assert pixel(after, -0.5, 0.5) == red and pixel(after, -0.5, 0) not in (white, red, wall)
    # the trace gets darker on its way, and the start keeps its ring
    assert np.sum(pixel(after, -0.5, -0.3)) > np.sum(pixel(after, -0.5, 0.4)) > np.sum(blue)
    assert any(r < 60 and g > 140 and 120 < b < 160 for r, g, b in after.reshape(-1, 3).tolist())
    assert np.array_equal(frame(environment), before)


def test_rendering_needs_a_mode_and_a_reset():
    environment = MazeEnv("easy", render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        environment.render()
    with pytest.raises(ResetNeeded):
        environment.step(np.zeros(2))
    silent = MazeEnv("easy")
    silent.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None


def test_bad_arguments():
    with pytest.raises(UserError, match=r"^maze: 'hrad' is unknown; allowed are easy, u, hard and a Maze$"):
        MazeEnv("hrad")
    with pytest.raises(UserError, match=r"^render_mode: 'human' is unknown; allowed are rgb_array and None$"):
        MazeEnv("hard", render_mode="human")
    with pytest.raises(UserError, match=r"^on_wall: 'bounce' is unknown"):
        MazeEnv("hard", on_wall="bounce")  # type: ignore[arg-type]
    environment = MazeEnv("easy")
    environment.reset()
    with pytest.raises(ValueError):
        environment.step(np.zeros(3))
