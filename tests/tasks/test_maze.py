import json
from fractions import Fraction
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from leads.errors import UserError
from leads.rollouts import on_device
from leads.tasks import make_task
from leads.tasks.maze import MAZES, SKIN, STEP, Maze, blocked, maze_task, move, read_maze

quiet = settings(deadline=None, max_examples=60, database=None)


# Oracles


def exactly_meets(here, there, wall) -> bool:
    """Whether two segments have a point in common, in exact arithmetic."""
    a, b, c, d = (tuple(Fraction(float(x)) for x in p) for p in (here, there, wall[:2], wall[2:]))

    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    boxes_meet = all(max(min(a[i], b[i]), min(c[i], d[i])) <= min(max(a[i], b[i]), max(c[i], d[i])) for i in (0, 1))
    return boxes_meet and side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0


def distance(here, there, walls) -> np.ndarray:
    """Between ways [way, 2] and walls [wall, 4], in float64."""
    h, t = np.float64(here)[:, None], np.float64(there)[:, None]
    b, e = np.float64(walls)[None, :, :2], np.float64(walls)[None, :, 2:]

    def cross(a, b):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    def to_segment(p, begin, end):
        along = end - begin
        square = np.sum(along**2, -1)
        share = np.sum((p - begin) * along, -1) / np.where(square == 0, 1, square)
        return np.linalg.norm(p - begin - share.clip(0, 1)[..., None] * along, axis=-1)

    apart = np.minimum.reduce([to_segment(h, b, e), to_segment(t, b, e), to_segment(b, h, t), to_segment(e, h, t)])
    crosses = (cross(e - b, h - b) * cross(e - b, t - b) < 0) & (cross(t - h, b - h) * cross(t - h, e - h) < 0)
    return np.where(crosses, 0, apart)


# What is generated

coordinate = st.one_of(st.integers(-8, 8).map(lambda i: i / 8), st.floats(-1, 1))
point = st.tuples(coordinate, coordinate)


@st.composite
def wall(draw):
    """From anywhere to anywhere, or a short one at any angle."""
    x, y = draw(point)
    if draw(st.booleans()):
        end = draw(point)
    else:
        length, angle = 10 ** draw(st.floats(-6, -1)), draw(st.floats(0, 2 * np.pi))
        end = tuple(np.clip([x + length * np.cos(angle), y + length * np.sin(angle)], -1, 1).tolist())
    assume(end != (x, y))
    return (x, y, *end)


walls_of_a_maze = st.lists(wall(), min_size=4, max_size=4).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def maze_or_skip(start, walls) -> Maze:
    try:
        return Maze(start, walls)
    except UserError:
        assume(False)
        raise


def interesting_targets(walls, rng, n) -> np.ndarray:
    """Points on and just beside walls, near their ends and inside, and anywhere."""
    wall = walls[rng.integers(len(walls), size=n)]
    along = wall[:, 2:] - wall[:, :2]
    unit = along / np.hypot(*along.T)[:, None]
    share = rng.choice([0.0, 1.0, 0.5, rng.uniform()], (n, 1))
    beside = rng.choice([-1, 0, 1], (n, 2)) * rng.choice([0.9e-5, 1.1e-5, 2e-5, 1e-3], (n, 2))
    target = wall[:, :2] + share * along + beside[:, :1] * unit + beside[:, 1:] * unit[:, ::-1] * [-1, 1]
    return np.where(rng.uniform(size=(n, 1)) < 0.7, target, rng.uniform(-1.1, 1.1, (n, 2)))


@jax.jit
def walk_to(start, targets, walls):
    """Positions of an agent that aims at one target after the other, and whether a wall stopped it."""

    def advance(s, target):
        there, hit = move(s, (target - s) / STEP, walls)
        return there, (there, hit)

    return jax.lax.scan(advance, start, targets)[1]


# No way through a wall, and none refused without one


@quiet
@given(point, walls_of_a_maze, seeds)
def test_no_way_crosses_or_touches_a_wall(start, walls, seed):
    maze = maze_or_skip(start, walls)
    segments = maze.segments()
    targets = interesting_targets(segments, np.random.default_rng(seed), 60)
    s0 = np.float32(maze.start)
    path, _ = walk_to(s0, np.float32(targets), np.float32(segments))
    path = np.concatenate([s0[None], path])
    ways = [(here, there) for here, there in pairwise(path) if np.any(here != there)]
    assert not any(exactly_meets(here, there, wall) for here, there in ways for wall in segments)
    assert distance(path[:-1], path[1:], segments).min() > 0.98 * SKIN


@quiet
@given(walls_of_a_maze, seeds)
def test_a_way_is_refused_just_when_it_comes_within_the_skin(walls, seed):
    segments, rng = Maze.segments(_without_check(walls)), np.random.default_rng(seed)
    here = np.concatenate([interesting_targets(segments, rng, 200), rng.uniform(-1, 1, (200, 2))])
    here = np.float32(here + rng.normal(size=here.shape) * 1e-4)
    there = np.float32(here + rng.uniform(-STEP, STEP, here.shape) * rng.choice([1, 1e-2, 1e-4], (400, 1)))
    refused = np.asarray(refusals(here, there, np.float32(segments)))
    apart = distance(here, there, segments).min(1)
    assert refused[apart < 0.98 * SKIN].all()
    assert not refused[apart > 1.02 * SKIN].any()


@jax.jit
def refusals(here, there, walls):
    return jax.vmap(lambda h, t: blocked(h, t, walls))(here, there)


def _without_check(walls) -> Maze:
    """A maze whose start may lie on a wall."""
    maze = object.__new__(Maze)
    object.__setattr__(maze, "walls", walls)
    return maze


def test_a_short_diagonal_wall_stops_who_runs_along_it():
    """Here all four sides are rounding errors."""
    angle = np.linspace(0, 2 * np.pi, 500)[:, None]
    unit = np.concatenate([np.cos(angle), np.sin(angle)], 1)
    centre = np.random.default_rng(0).uniform(-0.8, 0.8, unit.shape)
    walls = np.concatenate([centre - 0.01 * unit, centre + 0.01 * unit], 1)
    here, there = np.float32(centre - 0.025 * unit), np.float32(centre + 0.025 * unit)
    assert np.all(jax.vmap(lambda h, t, w: blocked(h, t, w[None]))(here, there, np.float32(walls)))


def test_borderline_decisions_are_the_same_compiled_and_in_numpy():
    """NumPy never fuses a product with a sum, XLA does where it can; without _times 35 of these differ."""
    rng = np.random.default_rng(0)
    begin, end = rng.uniform(-1, 1, (2, 4000, 2))
    unit = (end - begin) / np.linalg.norm(end - begin, axis=1, keepdims=True)
    beside = unit[:, ::-1] * [-1, 1] * (SKIN + rng.uniform(-2e-7, 2e-7, (4000, 1)))
    here = np.float32(begin + rng.uniform(0, 1, (4000, 1)) * (end - begin) + beside)
    there = np.float32(here + rng.uniform(-1e-6, 1e-6, here.shape))
    walls = np.float32(np.concatenate([begin, end], 1))
    compiled = jax.jit(jax.vmap(lambda h, t, w: blocked(h, t, w[None])))(here, there, walls)
    numpy = [bool(blocked(h, t, w[None])) for h, t, w in zip(here, there, walls, strict=True)]
    assert 0.2 < np.mean(numpy) < 0.8
    assert np.array_equal(compiled, numpy)


def test_positions_are_the_same_compiled_and_in_numpy():
    velocity = np.random.default_rng(0).uniform(-1.2, 1.2, (150, 2)).astype(np.float32)
    walls = np.float32(MAZES["easy"].segments())
    path = jax.jit(lambda v: jax.lax.scan(lambda s, a: (move(s, a, walls)[0],) * 2, jnp.zeros(2), v)[1])(velocity)
    s = np.zeros(2, np.float32)
    for a, there in zip(velocity, np.asarray(path), strict=True):
        s = s + (np.float32(STEP) * a).clip(-np.float32(STEP), np.float32(STEP))
        assert np.array_equal(s, there)


@pytest.mark.parametrize("on_wall", ["terminate", "stop"])
@pytest.mark.parametrize("maze", [MAZES["hard"], Maze((0, 0), ((0.2, -0.5, 0.7, 0.6), (-0.8, -0.8, -0.3, 0.1)))])
def test_no_episode_crosses_a_wall(maze, on_wall, monkeypatch):
    task = maze_task(maze, "maze", on_wall)
    velocity = np.random.default_rng(0).uniform(-1.5, 1.5, (4, 4, 20, 2)).repeat(10, axis=2)
    monkeypatch.setattr(on_device, "coloured_noise", lambda key, colour, shape: jnp.asarray(velocity, jnp.float32))
    roll = jax.jit(lambda key: on_device.rollout(task, lambda s, z, noise: noise, 4, 4, "white", key))
    episodes = roll(jax.random.key(0))
    paths = np.asarray(episodes.states).reshape(16, -1, 2)
    stopped = np.sum(np.all(paths[:, 1:] == paths[:, :-1], axis=-1))
    assert stopped > 16 if on_wall == "stop" else np.asarray(episodes.terminated).sum() > 8
    for path in paths:
        assert distance(path[:-1], path[1:], maze.segments()).min() > 0.98 * SKIN
    ways = {(tuple(h), tuple(t)) for path in paths[::4].tolist() for h, t in pairwise(path)}
    assert not any(exactly_meets(h, t, wall) for h, t in ways for wall in maze.segments())


# Steps computed by hand


def step(name, s, a, on_wall="terminate"):
    dynamics = make_task(name, on_wall=on_wall).dynamics.step
    assert dynamics is not None
    there, terminal = dynamics(jnp.asarray(s, jnp.float32), jnp.asarray(a, jnp.float32))
    return np.asarray(there).tolist(), bool(terminal)


@pytest.mark.parametrize(
    "a, there",
    [
        ((1, 0), (0.05, 0)),
        ((0, -1), (0, -0.05)),
        ((0.5, -0.25), (0.025, -0.0125)),
        ((7, -3), (0.05, -0.05)),
        ((np.inf, -np.inf), (0.05, -0.05)),
        ((0, 0), (0, 0)),
    ],
)
def test_a_step_is_a_twentieth_of_the_clipped_velocity(a, there):
    assert step("maze-easy", (0, 0), a) == (np.float32(there).tolist(), False)


@pytest.mark.parametrize("on_wall, ends", [("terminate", True), ("stop", False)])
@pytest.mark.parametrize(
    "name, s, a",
    [
        ("maze-easy", (0.96, 0), (1, 0)),
        ("maze-easy", (0.96, 0.97), (1, 1)),
        ("maze-easy", (-0.5, -0.96), (0.3, -1)),
        ("maze-easy", (0.95, 0), (1, 0)),
        ("maze-u", (-0.03, -0.5), (1, 0)),
        ("maze-u", (0.03, -0.5), (-1, 0.2)),
        ("maze-u", (-0.025, 0), (1, 0)),
        ("maze-u", (0, 0.04), (0, -1)),
        ("maze-hard", (0.49, -0.52), (1, 1)),
        ("maze-hard", (0.52, 0.5), (-1, -1)),
        ("maze-easy", (0.5, 0.5), (np.nan, 0)),
    ],
)
def test_at_a_wall_the_agent_stays_where_it_was(name, s, a, on_wall, ends):
    assert step(name, s, a, on_wall) == (np.float32(s).tolist(), ends)


@pytest.mark.parametrize(
    "name, s, a, there",
    [
        ("maze-easy", (0.949, 0), (1, 0), (0.999, 0)),
        ("maze-u", (-0.025, 0.01), (1, 0), (0.025, 0.01)),
        ("maze-u", (-0.025, -0.02), (1, 1), (0.025, 0.03)),
        ("maze-hard", (-0.275, -0.7), (1, 0), (-0.225, -0.7)),
        ("maze-hard", (0.49, -0.53), (0, 1), (0.49, -0.48)),
    ],
)
def test_past_the_end_of_a_wall_there_is_a_way(name, s, a, there):
    moved, terminal = step(name, s, a)
    assert not terminal
    assert moved == pytest.approx(there, abs=1e-7)


# Mazes, shipped and read


def test_the_shipped_mazes_are_the_papers():
    assert MAZES["easy"] == Maze((0, 0), ())
    assert MAZES["u"] == Maze((-0.5, -0.5), ((0, -1, 0, 0),))
    assert MAZES["hard"].start == (-0.5, -0.5)
    assert MAZES["hard"].walls == (
        (-0.25, -1, -0.25, -0.75),
        (-1, 0, -0.25, 0),
        (-0.25, 0, -0.25, -0.25),
        (-0.25, -0.25, 0.25, -0.25),
        (0.5, -0.5, 1, -0.5),
        (0.5, 0, 0.5, 1),
    )
    border = {(-1, -1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 1), (-1, 1, -1, -1)}
    for name, maze in MAZES.items():
        task = make_task(f"maze-{name}")
        assert task.walls is not None
        assert {tuple(wall) for wall in task.walls.tolist()} == border | set(maze.walls)
        assert (task.horizon, task.budget, task.state_size, task.action_size) == (200, 1_000_000, 2, 2)
        assert task.start.tolist() == list(maze.start) and task.start.dtype == np.float32


def test_a_maze_is_made_of_any_sequences_and_is_read_from_a_file(tmp_path):
    maze = Maze((0, 0.5), ((-0.1, 0, 1, 0.25),))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"start": [0, 0.5], "walls": [[-0.1, 0, 1, 0.25]]}))
    made = Maze(np.array([0, 0.5]), [[-0.1, 0, 1, np.float32(0.25)]])  # type: ignore[arg-type]
    assert maze == read_maze(path) == made
    assert hash(maze) == hash(made)
    assert make_task(f"maze:{path}").start.tolist() == [0, 0.5]


BAD = {
    "": "not JSON",
    "{": "not JSON",
    "walls": "not JSON",
    "[" * 100_000: "not JSON",
    "[1, 2]": "[1, 2] is not an object with 'start' and 'walls'",
    "null": "None is not an object",
    "{}": "'start' is missing",
    '{"walls": []}': "'start' is missing",
    '{"start": [0, 0]}': "'walls' is missing",
    '{"start": [0, 0], "walls": [], "wals": []}': "'wals' is unknown; allowed are 'start' and 'walls'",
    '{"start": 0, "walls": []}': "start: 0 is not of the form [x, y]",
    '{"start": "00", "walls": []}': "start: '00' is not of the form [x, y]",
    '{"start": {"x": 0, "y": 0}, "walls": []}': "start: {'x': 0, 'y': 0} is not of the form [x, y]",
    '{"start": [0], "walls": []}': "start: [0] is not of the form [x, y]",
    '{"start": [0, NaN], "walls": []}': "start: nan is not a coordinate; allowed are numbers from -1 to 1",
    '{"start": [Infinity, 0], "walls": []}': "start: inf is not a coordinate",
    '{"start": [0, "1"], "walls": []}': "start: '1' is not a coordinate",
    '{"start": [true, 0], "walls": []}': "start: True is not a coordinate",
    '{"start": [null, 0], "walls": []}': "start: None is not a coordinate",
    '{"start": [[0], 0], "walls": []}': "start: [0] is not a coordinate",
    '{"start": [0, 0], "walls": null}': "walls: None is not a list of walls",
    '{"start": [0, 0], "walls": "none"}': "walls: 'none' is not a list of walls",
    '{"start": [0, 0], "walls": [0, 1, 1, 1]}': "walls[0]: 0 is not of the form [x1, y1, x2, y2]",
    '{"start": [0, 0], "walls": [[0, 1, 1]]}': "walls[0]: [0, 1, 1] is not of the form [x1, y1, x2, y2]",
    '{"start": [0, 0], "walls": [[0.5, 1, 1, 1], [0, 0.5, 0, 1.5]]}': "walls[1]: 1.5 is not a coordinate",
    '{"start": [0, 0], "walls": [[0.5, 1, 1, -Infinity]]}': "walls[0]: -inf is not a coordinate",
    '{"start": [0, 0], "walls": [[0.5, 1, 1, "a\\nb"]]}': "walls[0]: 'a\\nb' is not a coordinate",
    '{"start": [0, 0], "walls": [[0.5, 0.1, 0.5, 0.1]]}': "walls[0]: [0.5, 0.1, 0.5, 0.1] has no length",
    '{"start": [0, 0], "walls": [[0.5, 0, 0.5, -0.0]]}': "walls[0]: [0.5, 0.0, 0.5, -0.0] has no length",
    '{"start": [0.1, 0.1], "walls": [[0, 0, 0.5, 0.5]]}': "start: [0.1, 0.1] lies on a wall",
    '{"start": [0.1, 0.100001], "walls": [[0, 0, 0.5, 0.5]]}': "lies on a wall",
    '{"start": [0.5, 1], "walls": []}': "start: [0.5, 1.0] lies on a wall",
}


@pytest.mark.parametrize("text, message", BAD.items(), ids=[text[:40] for text in BAD])
def test_a_bad_file_is_one_line_that_names_it_and_the_value(tmp_path, text, message):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        make_task(f"maze:{path}")
    assert str(raised.value).startswith(f"maze file {path}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < len(str(path)) + 120


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"missing\.json: No such file or directory$"):
        read_maze(tmp_path / "missing.json")
    with pytest.raises(UserError, match=f"^maze file {tmp_path}: it is not a regular file$"):
        read_maze(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"bytes\.json: not JSON \("):
        read_maze(tmp_path / "bytes.json")


def test_a_start_just_off_a_wall_is_fine():
    assert Maze((0.1, 0.10002), ((0, 0, 0.5, 0.5),)).start == (0.1, 0.10002)


def test_unknown_choices():
    with pytest.raises(UserError, match=r"^on_wall: 'bounce' is unknown; allowed are terminate, stop$"):
        maze_task(MAZES["easy"], "maze-easy", "bounce")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"^task: 'maze-w' is unknown; allowed are maze-easy, maze-u, maze-hard,"):
        make_task("maze-w")
