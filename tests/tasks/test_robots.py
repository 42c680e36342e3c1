"""Robots step as the packaged environments do, to the last bit, from one and the same start."""

import warnings

import gymnasium
import mujoco
import numpy as np
import pytest
from dm_control.rl import control
from dm_control.suite import base, finger
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium_robotics.envs.fetch.reach import MujocoFetchReachEnv
from gymnasium_robotics.envs.fetch.slide import MujocoFetchSlideEnv
from gymnasium_robotics.envs.shadow_dexterous_hand.reach import MujocoHandReachEnv

from leads.errors import UserError
from leads.tasks import TASKS, make_task
from leads.tasks.fetch import PUCK, FetchReach, FetchSlide
from leads.tasks.finger import ANGLES, Finger
from leads.tasks.hand import Hand
from leads.tasks.locomotion import Ant, HalfCheetah, HalfCheetahPaper, Hopper, Humanoid, Walker2d
from leads.tasks.registration import register
from leads.tasks.robot import new_renderer
from leads.training import grid

register()
KINDS = {
    "fetch-reach": FetchReach,
    "fetch-slide": FetchSlide,
    "finger": Finger,
    "hand": Hand,
    "half-cheetah": HalfCheetah,
    "half-cheetah-paper": HalfCheetahPaper,
    "walker2d": Walker2d,
    "hopper": Hopper,
    "ant": Ant,
    "humanoid": Humanoid,
}
every_kind = pytest.mark.parametrize("name", KINDS)


def random_actions(size: int, steps: int, seed: int = 0) -> np.ndarray:
    """Actions that last for some steps, so that they lead somewhere; a third of their numbers lies beyond [-1, 1]."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.5, 1.5, (-(-steps // 5), size)).repeat(5, axis=0)[:steps].astype(np.float32)


def walk(environment, actions) -> np.ndarray:
    """The states of an episode."""
    return np.stack([environment.reset()[0], *(environment.step(action)[0] for action in actions)])


def simulation(environment) -> np.ndarray:
    """All that decides how a simulation goes on."""
    parts = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(environment.model, parts))
    mujoco.mj_getState(environment.model, environment.data, state, parts)
    return state


def test_all_robots_are_tested_here():
    assert list(KINDS) == [name for name, entry in TASKS.items() if entry.module != "maze"]
    for name, kind in KINDS.items():
        assert make_task(name).make is kind


# Like the packaged environments


class SlideFromHere(MujocoFetchSlideEnv):
    """The packaged environment with its puck at one place."""

    def _reset_sim(self):
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.time = self.initial_time
        self.data.qpos[:] = self.initial_qpos
        self.data.qvel[:] = self.initial_qvel
        puck = self._utils.get_joint_qpos(self.model, self.data, "object0:joint")
        puck[:2] = PUCK
        self._utils.set_joint_qpos(self.model, self.data, "object0:joint", puck)
        self._mujoco.mj_forward(self.model, self.data)
        return True


@pytest.mark.parametrize(
    "packaged, kind, steps, what_moves",
    [
        (MujocoFetchReachEnv, FetchReach, 200, slice(0, 3)),
        (SlideFromHere, FetchSlide, 50, slice(3, 5)),
        (MujocoHandReachEnv, Hand, 50, slice(48, 63)),
    ],
)
def test_arms_and_hand_step_like_gymnasium_robotics_to_the_last_bit(packaged, kind, steps, what_moves):
    theirs, ours = packaged(), kind()
    for episode in range(2):
        actions = random_actions(ours.action_space.shape[0], steps, seed=episode)
        actions[:10, :3] = 1.2, 0, 0  # to where the puck is
        expected = [theirs.reset(seed=episode)[0], *(theirs.step(action)[0] for action in actions)]
        states = walk(ours, actions)
        assert states.dtype == np.float32
        assert np.array_equal(states, np.float32([observation["observation"] for observation in expected]))
        assert np.ptp(states[:, what_moves], axis=0).max() > 0.1


def test_the_arms_fourth_action_has_no_effect():
    actions = random_actions(4, 20)
    others = actions * np.float32([1, 1, 1, -1])
    assert np.array_equal(walk(FetchSlide(), actions), walk(FetchSlide(), others))


class TurnFromHere(finger.Turn):
    """turn_hard with one start and its target straight above the hinge."""

    def initialize_episode(self, physics):
        x, z = physics.named.data.xanchor["hinge", ["x", "z"]]
        above = z + physics.named.model.geom_size["cap1"].sum()
        physics.named.model.site_pos["target", ["x", "z"]] = x, above
        physics.named.model.site_size["target", 0] = self._target_radius
        physics.named.data.qpos[["proximal", "distal", "hinge"]] = ANGLES
        base.Task.initialize_episode(self, physics)


def test_the_finger_steps_like_dm_control_to_the_last_bit():
    physics = finger.Physics.from_xml_string(*finger.get_model_and_assets())
    theirs = control.Environment(
        physics, TurnFromHere(finger._HARD_TARGET_SIZE), control_timestep=finger._CONTROL_TIMESTEP
    )
    ours, touch, turned = Finger(), 0.0, 0.0
    for episode in range(4):
        actions = random_actions(2, 50, seed=episode)
        expected = []
        for action in (None, *actions):
            seen = (theirs.reset() if action is None else theirs.step(action)).observation
            angle = physics.named.data.qpos["hinge"].item()
            expected.append([*np.concatenate([np.ravel(part) for part in seen.values()]), np.sin(angle), np.cos(angle)])
        states = walk(ours, actions)
        assert states.dtype == np.float32 and states.shape == (51, 14)
        assert np.array_equal(states, np.float32(expected))
        touch, turned = max(touch, states[:, 7:9].max()), max(turned, np.ptp(states[:, 13]))
    assert touch > 1 and turned > 0.3  # it pushed the spinner


@pytest.mark.parametrize("kind", [HalfCheetah, Walker2d, Hopper, Ant, Humanoid])
def test_bodies_step_like_gymnasium_to_the_last_bit(kind):
    theirs, ours = gymnasium.make(kind.packaged, reset_noise_scale=0).unwrapped, kind()
    strength = theirs.model.actuator_ctrlrange[:, 1]
    assert np.array_equal(theirs.model.actuator_ctrlrange[:, 0], -strength)
    for episode in range(2):
        actions = random_actions(len(strength), 60, seed=episode)
        theirs.reset(seed=episode)
        expected = [np.concatenate([theirs.data.qpos, theirs.data.qvel])]
        for action in actions:
            theirs.step(np.clip(action, -1, 1) * strength)
            expected.append(np.concatenate([theirs.data.qpos, theirs.data.qvel]))
        states = walk(ours, actions)
        assert states.dtype == np.float32
        assert np.array_equal(states, np.float32(expected))
        assert np.ptp(states, axis=0).max() > 1


# One start, and none disturbs another


@every_kind
def test_every_reset_gives_the_same_state_whatever_the_seed_and_whatever_came_before(name):
    task = make_task(name)
    environment, fresh = task.make(), task.make()
    fresh.reset(seed=7)
    for seed in (None, 0, 1):
        state, info = environment.reset(seed=seed)
        assert np.array_equal(state, task.start) and state.dtype == task.start.dtype == np.float32 and info == {}
        assert np.array_equal(simulation(environment), simulation(fresh))
        for action in random_actions(task.action_size, 5):
            environment.step(action)
        assert not np.array_equal(simulation(environment), simulation(fresh))


@every_kind
def test_two_environments_stepped_in_turns_do_not_disturb_each_other(name):
    one, other = KINDS[name](), KINDS[name]()
    size = one.action_space.shape[0]
    actions, others = random_actions(size, 20, seed=0), random_actions(size, 20, seed=1)
    alone, alone_too = walk(one, actions), walk(other, others)
    in_turns = [(one.reset()[0], other.reset()[0])]
    in_turns += [(one.step(a)[0], other.step(b)[0]) for a, b in zip(actions, others, strict=True)]
    assert np.array_equal(np.stack(in_turns, 1), [alone, alone_too])
    assert not np.array_equal(alone, alone_too)


@every_kind
def test_every_state_is_its_own_array(name):
    environment = KINDS[name]()
    first, _ = environment.reset()
    kept = first.copy()
    second, *_ = environment.step(np.ones(environment.action_space.shape, np.float32))
    second += 1
    assert np.array_equal(first, kept)
    assert np.array_equal(environment.reset()[0], kept)


# What counts


def features(environment, name: str) -> np.ndarray:
    return np.asarray(make_task(name).features(environment.observe()))


def moved(name: str, steps: int = 10):
    """An environment in the middle of an episode, with all that MuJoCo derives from its position up to date."""
    environment = KINDS[name]()
    walk(environment, random_actions(environment.action_space.shape[0], steps))
    mujoco.mj_forward(environment.model, environment.data)
    return environment


def test_of_the_arm_the_gripper_counts():
    environment = moved("fetch-reach")
    assert np.array_equal(features(environment, "fetch-reach"), environment.data.site("robot0:grip").xpos)


def test_of_the_slide_the_puck_counts():
    environment = FetchSlide()
    assert features(environment, "fetch-slide").tolist() == pytest.approx(PUCK, abs=1e-12)
    walk(environment, np.float32([(1, 0.2, 0, 0)] * 15))
    puck = environment.data.joint("object0:joint").qpos[:2]
    assert features(environment, "fetch-slide") == pytest.approx(puck, abs=1e-9)
    assert puck[0] > PUCK[0] + 0.1


@pytest.mark.parametrize(
    "hinge, wrapped", [(1, 1), (3.5, 3.5 - 2 * np.pi), (-3.5, 2 * np.pi - 3.5), (20, 20 - 6 * np.pi)]
)
def test_of_the_finger_three_angles_count_the_hinges_wrapped(hinge, wrapped):
    environment = Finger()
    environment.data.qpos[:] = 0.3, -0.4, hinge
    mujoco.mj_forward(environment.model, environment.data)
    assert features(environment, "finger") == pytest.approx([0.3, -0.4, wrapped], abs=1e-6)


def test_of_the_hand_the_fingertips_count():
    environment, task = moved("hand"), make_task("hand")
    tips = [environment.data.site(f"robot0:S_{finger}tip").xpos for finger in ("ff", "mf", "rf", "lf", "th")]
    assert np.array_equal(features(environment, "hand").reshape(5, 3), tips)
    axes = ("forefinger y", "ring finger y", "thumb x")
    assert tuple(task.feature_names[i] for i in task.grid_axes) == axes and task.grid_axes == task.counted
    assert grid.n_cells(task, task.bins) == 10**3


@pytest.mark.parametrize(
    "motors, counted",
    [(("FFJ2", "FFJ1"), "forefinger y"), (("RFJ2", "RFJ1"), "ring finger y"), (("THJ1", "THJ0"), "thumb x")],
)
def test_the_hands_counted_axes_are_those_along_which_a_finger_moves_most(motors, counted):
    environment, task, ends = Hand(), make_task("hand"), []
    for side in (-1, 1):
        environment.reset()
        action = np.zeros(20, np.float32)
        action[[environment.model.actuator(f"robot0:A_{motor}").id for motor in motors]] = side
        for _ in range(25):
            state, *_ = environment.step(action)
        ends.append(np.asarray(task.features(state)))
    distance = np.abs(ends[1] - ends[0])
    assert task.feature_names[np.argmax(distance)] == counted
    assert distance.max() > 0.4 / task.bins  # more than a cell


def test_of_bodies_the_torso_counts():
    for name in ("half-cheetah", "half-cheetah-paper", "walker2d", "hopper", "ant", "humanoid"):
        axes = [0, 1] if name in ("ant", "humanoid") else [0, 2]
        environment = moved(name, steps=30)
        torso = environment.data.body("torso").xpos[axes]
        assert features(environment, name) == pytest.approx(torso, abs=1e-6)
        assert np.abs(torso).max() > 0.01


@every_kind
def test_the_start_lies_inside_the_grid_and_cells_are_counted_from_its_lower_corner(name):
    task = make_task(name)
    counted = np.asarray(task.features(task.start))
    assert np.all(task.low < counted) and np.all(counted < task.high)
    assert len(task.feature_names) == len(counted)
    for bins in (task.bins, task.fine_bins):
        share = ((counted - task.low) / (task.high - task.low))[list(task.grid_axes)]
        expected = np.ravel_multi_index(tuple((share * bins).astype(int)), (bins,) * len(share))
        assert grid.cells(task, task.start, bins) == expected < grid.n_cells(task, bins)


SIZES = {  # state, action, horizon, budget, cells and fine cells a dimension
    "fetch-reach": (10, 4, 200, 200_000, 10, 20),
    "fetch-slide": (25, 4, 50, 100_000, 10, 50),
    "finger": (14, 2, 50, 100_000, 10, 20),
    "hand": (63, 20, 50, 100_000, 10, 20),
    "half-cheetah": (18, 6, 200, 1_000_000, 10, 50),
    "half-cheetah-paper": (18, 6, 500, 1_000_000, 10, 50),
    "walker2d": (18, 6, 200, 1_000_000, 10, 50),
    "hopper": (12, 3, 200, 1_000_000, 10, 50),
    "ant": (29, 8, 200, 1_000_000, 10, 50),
    "humanoid": (47, 17, 200, 1_000_000, 10, 50),
}
BOXES = {
    "fetch-reach": ((0.2, -0.3, 0), (1.8, 1.75, 1.6)),
    "fetch-slide": ((0.5, 0.1), (1.9, 1.4)),
    "finger": ((-1.92, -1.92, -np.pi), (1.92, 1.92, np.pi)),
    "half-cheetah": ((-60, 0), (60, 2)),
    "half-cheetah-paper": ((-10, 0), (10, 2)),
    "walker2d": ((-10, 0), (10, 2.5)),
    "hopper": ((-10, 0), (10, 2.5)),
    "ant": ((-25, -25), (25, 25)),
    "humanoid": ((-10, -10), (10, 10)),
}


@every_kind
def test_sizes_horizons_and_boxes_are_the_studys(name):
    task = make_task(name)
    sizes = (task.state_size, task.action_size, task.horizon, task.budget, task.bins, task.fine_bins)
    assert sizes == SIZES[name]
    assert not task.one_scale and task.dynamics is None and task.walls is None
    if name in BOXES:
        assert (tuple(task.low), tuple(task.high)) == BOXES[name]


# As Gymnasium environments


def identifier(name: str) -> str:
    return f"leads/{KINDS[name].__name__}-v0"


@every_kind
def test_gymnasium_finds_nothing_wrong(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*Box observation space .* value is -?infinity")  # velocities have no bounds
        check_env(gymnasium.make(identifier(name)).unwrapped, skip_render_check=True)


@every_kind
def test_the_registered_environment_has_the_tasks_spaces_and_horizon(name):
    environment, task = gymnasium.make(identifier(name)), make_task(name)
    assert type(environment.unwrapped) is KINDS[name]
    assert environment.action_space == gymnasium.spaces.Box(-1, 1, (task.action_size,), np.float32)
    assert environment.observation_space == gymnasium.spaces.Box(-np.inf, np.inf, (task.state_size,), np.float32)
    assert environment.spec is not None and environment.spec.max_episode_steps == task.horizon
    environment.reset()
    _, *rest = environment.step(environment.action_space.sample())
    assert rest == [0.0, False, False, {}]


def test_bad_arguments_and_calls_too_early():
    with pytest.raises(UserError, match=r"^render_mode: 'human' is unknown; allowed are rgb_array and None$"):
        Finger(render_mode="human")
    environment = Finger(render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        environment.step(np.zeros(2))
    with pytest.raises(ResetNeeded):
        environment.render()
    silent = Finger()
    silent.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None


# Pictures


@pytest.fixture(scope="module")
def opengl() -> None:
    try:
        new_renderer(Finger().model).close()
    except UserError as error:
        pytest.skip(str(error))


@every_kind
def test_a_picture_shows_the_robot_and_changes_as_it_moves(name, opengl):
    environment = gymnasium.make(identifier(name), render_mode="rgb_array")
    environment.reset()
    before = environment.render()
    for action in random_actions(environment.action_space.shape[0], 15):
        environment.step(action)
    after = environment.render()
    environment.reset()
    back = environment.render()
    environment.close()
    for picture in (before, after):
        assert isinstance(picture, np.ndarray) and picture.shape == (360, 480, 3) and picture.dtype == np.uint8
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    assert np.array_equal(before, back)
    assert np.mean(np.any(before != after, axis=-1)) > 0.005


def test_rendering_changes_nothing_of_the_simulation(opengl):
    drawn, dark = Ant(render_mode="rgb_array"), Ant()
    states = []
    drawn.reset()
    for action in random_actions(8, 10):
        states.append(drawn.step(action)[0])
        drawn.render()
    drawn.close()
    drawn.close()
    assert np.array_equal(states, walk(dark, random_actions(8, 10))[1:])
    drawn.reset()
    assert drawn.render() is not None  # also after it was closed
    drawn.close()


def test_without_opengl_a_clear_line_says_what_to_do(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("no display")

    monkeypatch.setattr(mujoco, "Renderer", fails)
    environment = Finger(render_mode="rgb_array")
    environment.reset()
    with pytest.raises(UserError, match=r"^rendering: no OpenGL without a screen \(no display\); .*MUJOCO_GL=egl"):
        environment.render()


def test_an_action_of_the_wrong_shape_is_refused():
    environment = make_task("finger").make()
    environment.reset()
    with pytest.raises(ValueError, match=r"^an action of shape \(1,\) was given; \(2,\) is needed$"):
        environment.step(np.zeros(1, np.float32))
