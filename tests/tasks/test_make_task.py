"""Tasks by name, and what may be chosen of each."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from leads.config.fields import build, plain
from leads.data.scaling import Scaling
from leads.errors import UserError
from leads.methods import METHODS, _all_settings, shipped_settings
from leads.methods.intrinsic import Intrinsic
from leads.tasks import TASKS, TaskOptions, complete_options, make_task, step_cost
from leads.tasks.task import Task

PENDULUM = "gym:Pendulum-v1"
VALUES = {"on_wall": "stop", "maze": {"start": [0, 0], "walls": []}, "features": (0,), "low": (-1,), "high": (1,)}
VALUES |= {"unit": (2.0,), "horizon": 9}


@pytest.fixture
def maze_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"start": [0.5, 0.5], "walls": [[0, -1, 0, 1]]}))
    return path


# Every task


@pytest.mark.parametrize("name", TASKS)
def test_every_task_builds_and_fits_together(name):
    task = make_task(name)
    assert isinstance(task, Task) and task.name == name
    assert task.start.dtype == np.float32 and task.start.ndim == 1 and np.isfinite(task.start).all()
    assert task.low.shape == task.high.shape == task.features(task.start).shape == (len(task.feature_names),)
    assert np.all(task.low < task.high)
    assert set(task.grid_axes) <= set(range(len(task.low))) and 1 <= len(task.grid_axes) <= 3
    assert min(task.horizon, task.budget, task.action_size) > 0
    batch = np.tile(task.start, (2, 3, 1))
    assert task.features(batch).shape == (2, 3, task.feature_size) == (2, 3, len(task.low))
    assert task.unit is not None and np.all(np.asarray(task.unit) > 0)
    assert Scaling.of(task).features(batch).shape == (2, 3, task.network_feature_size)
    environment = task.make()
    state, _ = environment.reset(seed=1)
    assert np.array_equal(state, task.start)
    assert environment.action_space.shape == (task.action_size,)


def test_only_mazes_are_stepped_on_the_device():
    for name in TASKS:
        task = make_task(name)
        on_device = name.startswith("maze-")
        assert (task.dynamics is not None) == (task.step_cost == "device") == on_device
        assert step_cost(name) == task.step_cost
    assert step_cost("maze:mine.json") == "device" and step_cost(PENDULUM) is None


@pytest.mark.parametrize(
    "name, unit, middle",
    [
        ("maze-hard", [1, 1], [0, 0]),
        ("fetch-slide", [0.7, 0.65], [1.2, 0.75]),
        ("fetch-reach", [0.16, 0.205, 0.16], [1, 0.725, 0.8]),
        ("finger", [0.384, 0.384, np.pi / 5], [0, 0, 0]),
        *((name, [2, 0.5], [0, 0.7]) for name in ("half-cheetah", "half-cheetah-paper")),
        *((name, [2, 0.5], [0, 1.25]) for name in ("walker2d", "hopper")),
        *((name, [1, 1], [0, 0]) for name in ("ant", "humanoid")),
    ],
)
def test_networks_see_features_in_the_tasks_own_unit(name, unit, middle):
    task = make_task(name)
    np.testing.assert_allclose(task.unit, unit, rtol=1e-12)
    np.testing.assert_allclose(task.features(task.start) if task.centre is None else task.centre, middle, atol=1e-6)
    given = replace(task, features=lambda s: np.float32(middle) + np.float32(unit) * s[..., : len(unit)], start=[0] * 3)
    s = np.float32([0.5, -2.0, 0.0])
    hinge = [5 / np.pi, 0] if task.periodic else s[2 : len(unit)]  # a circle of length 10, as from -5 to 5
    np.testing.assert_allclose(Scaling.of(given).features(s), [0.5, -2.0, *hinge], atol=1e-5)


def test_the_finger_turns_its_hinge_all_the_way_round():
    task = make_task("finger")
    assert task.periodic == (2,) and (task.feature_size, task.network_feature_size) == (3, 4)
    before, behind = (np.float32([*task.start[:12], np.sin(angle), np.cos(angle)]) for angle in (3.14, -3.14))
    assert abs(task.features(before)[2] - task.features(behind)[2]) > 6
    seen = Scaling.of(task).features
    np.testing.assert_allclose(seen(before), seen(behind), atol=0.01)


@pytest.mark.parametrize("unit", [(1.0,), (1.0, 0.0), (1.0, -1.0), (1.0, np.inf), "ab", [[1.0, 1.0]], ([1.0], 2)])
def test_a_unit_is_a_length_for_each_feature(unit):
    with pytest.raises(UserError, match=r"^unit: .* is not allowed; give a length above 0 for each feature, 2 in all$"):
        replace(make_task("maze-u"), unit=unit)


def test_an_unknown_task_is_answered_with_those_that_are_known():
    with pytest.raises(UserError) as raised:
        make_task("fetch-push")
    assert str(raised.value) == (
        "task: 'fetch-push' is unknown; allowed are maze-easy, maze-u, maze-hard, fetch-reach, fetch-slide, finger, "
        "hand, half-cheetah, half-cheetah-paper, walker2d, hopper, ant, humanoid, "
        "maze:FILE.json, gym:ID and MODULE:NAME"
    )
    for name in ("", "maze", "maze-", "finger ", "Finger", "gym", "leads/Finger-v0"):
        with pytest.raises(UserError, match=r"^task: .* is unknown; allowed are maze-easy"):
            make_task(name)


# Options

ALLOWED = {
    "maze-u": {"on_wall"},
    "maze:mine.json": {"on_wall", "maze"},
    "finger": set(),
    "hand": set(),
    PENDULUM: {"features", "low", "high", "unit", "horizon"},
}


@pytest.mark.parametrize("option", VALUES)
@pytest.mark.parametrize("name", ALLOWED)
def test_each_option_belongs_to_one_kind_of_task(name, option):
    options = {option: VALUES[option]}
    if name.startswith("maze:"):
        options |= {"maze": VALUES["maze"]}  # or the file would be read
    if option in ALLOWED[name]:
        assert complete_options(name, options)[option] == VALUES[option]
    else:
        with pytest.raises(UserError) as raised:
            make_task(name, **options)
        assert str(raised.value) == f"{option}: is not an option of {name}"


def test_every_option_is_tested_here():
    assert set(VALUES) == set(asdict(TaskOptions())) == set().union(*ALLOWED.values())


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("on_wall", "bounce", "on_wall: 'bounce' is not one of terminate, stop, or none"),
        ("on_wall", 1, "on_wall: 1 is not one of terminate, stop, or none"),
        ("on_wal", "stop", "on_wal: unknown field; allowed are on_wall, maze, features, low, high, unit, horizon"),
        ("features", 3, "features: 3 is not numbers with commas between them, or none"),
        ("horizon", 1.5, "horizon: 1.5 is not a whole number, or none"),
        ("low", ("a",), "low: ('a',) is not numbers with commas between them, or none"),
    ],
)
@pytest.mark.parametrize("name", ["maze-u", "finger", PENDULUM])
def test_bad_values_are_named(name, option, value, message):
    with pytest.raises(UserError) as raised:
        make_task(name, **{option: value})
    assert str(raised.value) == message


def test_options_that_are_none_are_not_given():
    assert complete_options("finger", dict.fromkeys(VALUES)) == {}
    assert complete_options("maze-u", dict.fromkeys(VALUES)) == {"on_wall": "terminate"}


def test_options_are_completed_with_what_making_the_task_again_depends_on():
    assert complete_options("maze-u", {}) == {"on_wall": "terminate"}
    assert complete_options("maze-u", {"on_wall": "stop"}) == {"on_wall": "stop"}
    assert complete_options("finger", {}) == complete_options(PENDULUM, {}) == {}
    chosen = {"features": [0, 1], "low": [-1, -1], "high": [1, 1], "horizon": 30}  # lists, as JSON has them
    completed = complete_options(PENDULUM, chosen)
    assert completed == {"features": (0, 1), "low": (-1, -1), "high": (1, 1), "horizon": 30}
    task = make_task(PENDULUM, **chosen)
    assert (task.horizon, task.low.tolist(), task.features(task.start).tolist()) == (
        30,
        [-1, -1],
        task.start[:2].tolist(),
    )


def test_options_that_went_through_a_file_make_the_same_task(maze_file):
    for name, options in (
        (f"maze:{maze_file}", {"on_wall": "stop"}),
        ("maze-hard", {}),
        (PENDULUM, {"features": (0, 1), "horizon": 30}),
    ):
        completed = complete_options(name, options)
        again = json.loads(json.dumps(completed))
        one, other = make_task(name, **completed), make_task(name, **again)
        assert np.array_equal(one.start, other.start) and np.array_equal(one.low, other.low)
        assert one.horizon == other.horizon


def test_a_maze_of_ones_own_is_kept_in_its_options(maze_file):
    name = f"maze:{maze_file}"
    options = complete_options(name, {})
    assert options == {"on_wall": "terminate", "maze": {"start": (0.5, 0.5), "walls": ((0, -1, 0, 1),)}}
    maze_file.unlink()
    task = make_task(name, **json.loads(json.dumps(options)))
    assert task.start.tolist() == [0.5, 0.5] and task.walls is not None and task.walls[0].tolist() == [0, -1, 0, 1]
    with pytest.raises(UserError, match=r"mine\.json: No such file or directory$"):
        make_task(name)


@pytest.mark.parametrize("on_wall, ends", [(None, True), ("terminate", True), ("stop", False)])
def test_on_wall_reaches_the_maze_and_its_environment(on_wall, ends):
    task = make_task("maze-u", on_wall=on_wall)
    environment = task.make()
    environment.reset()
    ended = [environment.step(np.float32([1, 0]))[2] for _ in range(10)]
    assert any(ended) == ends
    assert task.dynamics is not None
    assert bool(task.dynamics.step(np.float32([-0.03, -0.5]), np.float32([1, 0]))[1]) == ends


# Other defaults of a method on a task


ON_SAC = [method for method in METHODS if issubclass(METHODS.find(method), Intrinsic)]


def sections() -> list[tuple[str, str, str]]:
    """Whose they are, on which tasks, and a method that they are of."""
    of = lambda whose: ON_SAC if whose == "sac" else [whose.split()[0]]
    return [(whose, task, method) for whose, tasks in _all_settings().items() for task in tasks for method in of(whose)]


@pytest.mark.parametrize("whose, task, method", sections())
def test_settings_are_of_a_known_method_and_task_and_build_its_config(whose, task, method):
    """METHOD, or METHOD --PART NAME."""
    assert method in METHODS and task in (*TASKS, "host", "device")
    _, *part = whose.replace("--", "").split()
    fields = _all_settings()[whose][task]
    chosen = dict([part] if part else []) | {name: fields[name] for name in ("improve", "measure") if name in fields}
    assert fields
    config = plain(build(METHODS.find(method).Config, chosen | fields))
    usual = plain(build(METHODS.find(method).Config, chosen))
    assert config == usual | fields
    places = [] if task in ("host", "device") else ["device" if step_cost(task) == "device" else "host"]
    otherwise = plain(build(METHODS.find(method).Config, dict([part] if part else [])))
    for section, place in [(section, place) for place in places for section in (method, whose)]:
        otherwise |= _all_settings().get(section, {}).get(place, {})
    if part:  # beside those of the method whatever its part
        otherwise |= _all_settings().get(method, {}).get(task, {})
    assert all(otherwise.get(name) != value for name, value in fields.items()), "settings.toml repeats a default"


def test_settings_of_a_part_hold_where_it_is_chosen():
    """By the task's settings or by the user, who may also choose another."""
    on = lambda task, **options: shipped_settings("leads", task, step_cost(task) or "cheap", options)
    assert on("half-cheetah")["improve"] == "sac" and on("half-cheetah")["share_weight"] == 0
    through_measure = on("fetch-reach", improve="measure")
    assert "samples_per_step" not in on("half-cheetah", improve="measure") | through_measure
    assert (on("fetch-reach")["samples_per_step"], on("fetch-reach")["roam_weight"]) == (8, 5)
    assert through_measure["entropy"] == 0.05 and "roam_weight" not in through_measure
    assert on("finger")["wanted_entropy"] == 0.0 and on("finger", improve="measure")["entropy"] == 0.02
    assert on("maze-hard", improve="sac")["epoch_samples"] == 1500 and on("maze-hard") == {}


def test_settings_of_tasks_on_the_host_hold_for_all_of_them_and_a_tasks_own_are_added():
    on = lambda method, task: shipped_settings(method, task, step_cost(task) or "cheap")
    assert on("random", "maze-u") == on("leads", "maze-u") == {}
    host = _all_settings()["leads"]["host"]
    assert on("leads", PENDULUM) == on("leads", "half-cheetah-paper") == host
    assert on("leads", "hand") == host | {"n_skill": 12}
    by_sac = _all_settings()["leads --improve sac"]
    whole = {"improve": "sac"} | by_sac["host"] | by_sac["fetch-reach"]
    assert whole.items() <= on("leads", "fetch-reach").items()
    for method in ON_SAC:
        assert on(method, "maze-u") == {}
        assert on(method, "finger") == _all_settings()["sac"]["host"]
        assert on(method, "fetch-slide") == {"n_episode": 2, "samples_per_step": 2}
