import copy
import dataclasses
import itertools
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from PIL import Image

import leads
from leads.data.episodes import Episodes
from leads.report import style
from leads.report.run import figures, planes
from leads.training.evaluation import EVALUATION_EPISODES
from leads.training.run import Run

KINDS_OF_VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""What becomes of linear RGB, after Machado, Oliveira and Fernandes (2009)."""


@pytest.fixture
def agent(tiny_agent):
    return copy.copy(tiny_agent)


@pytest.fixture(scope="module")
def episodes(tiny_agent):
    return tiny_agent.episodes(EVALUATION_EPISODES)


@pytest.fixture
def run_copy(tiny_run, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_run, tmp_path / "run", ignore=shutil.ignore_patterns("figures")))


@pytest.fixture
def open_agent(agent):
    """The agent on a task of two features that is not a maze, with the same states."""
    agent.task = dataclasses.replace(agent.task, walls=None, feature_names=("left", "up"), high=np.array([1.0, 2.0]))
    return agent


def panels(figure) -> list[Axes]:
    """The axes named after a skill."""
    return [axes for axes in figure.axes if axes.get_title().startswith("skill ")]


def paths_in(axes: Axes) -> list[np.ndarray]:
    """What is drawn in lines, without the walls, which come last."""
    lines = [collection for collection in axes.collections if isinstance(collection, LineCollection)]
    return lines[0].get_segments()


def assert_is_a_picture(path: Path) -> None:
    pixels = np.asarray(Image.open(path).convert("RGB"))
    height, width, _ = pixels.shape
    assert 400 < height < 1500 and 700 < width < 2000
    ink = np.any(pixels < 250, axis=-1)
    assert 0.01 < ink.mean() < 0.9
    # ink in every quarter: nothing fell off the page
    assert all(quarter.any() for half in np.array_split(ink, 2) for quarter in np.array_split(half, 2, axis=1))
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_a_run_has_five_figures(run_copy):
    written = figures.write_figures(leads.load(run_copy))
    names = ["skills", "coverage", "visited", "measure", "uncertainty"]
    assert written == [run_copy / "figures" / f"{name}.png" for name in names]
    assert len(list((run_copy / "figures").iterdir())) == 2 * len(names)
    for path in written:
        assert_is_a_picture(path)


def test_the_control_has_no_figures_of_what_it_does_not_learn(random_run, tmp_path):
    copy = Path(shutil.copytree(random_run, tmp_path / "run"))
    written = figures.write_figures(leads.load(copy))
    assert [path.stem for path in written] == ["skills", "coverage", "visited"]
    for path in written:
        assert_is_a_picture(path)


def test_figures_of_no_run_are_a_user_error(tmp_path):
    with pytest.raises(leads.UserError, match="is not a run directory"):
        figures.write_figures(leads.load(tmp_path))
    assert not any(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_a_user_error(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(leads.UserError, match="figures cannot be written"):
        style.save(style.new_figure(1, 1), tmp_path / "figures", "skills")


def test_the_same_figure_has_the_same_bytes(agent, episodes, tmp_path):
    for name in "ab":
        style.save(figures.skills_figure(agent, episodes, None, planes.maze_plane(agent.task)), tmp_path, name)
    for kind in ("png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_skills_are_drawn_as_they_were_rolled_out(agent, episodes):
    figure = figures.skills_figure(agent, episodes, None, planes.maze_plane(agent.task))
    targets = np.asarray(agent.method.targets(agent.state))
    assert len(panels(figure)) == agent.n_skill
    for skill, axes in enumerate(panels(figure)):
        drawn = paths_in(axes)
        assert len(drawn) == EVALUATION_EPISODES
        for path, states, length in zip(drawn, episodes.states[skill], episodes.lengths[skill], strict=True):
            np.testing.assert_allclose(path, states[: length + 1])
        start, star = [line.get_xydata()[0] for line in axes.lines]
        np.testing.assert_allclose(start, agent.task.start)
        np.testing.assert_allclose(star, targets[skill])
    assert len(paths_in(figure.axes[0])) == agent.n_skill * EVALUATION_EPISODES


def test_the_title_has_the_runs_numbers(agent, episodes):
    last = agent.run.metrics()[-1]
    figure = figures.skills_figure(agent, episodes, last, planes.maze_plane(agent.task))
    title = figure.texts[0].get_text()
    assert title.startswith(f"leads on maze-u, {last['samples']:,} samples:")
    for name in ("coverage", "skill_coverage"):
        assert f"{name.replace('_', ' ')} {last[name]:.0f} %" in title
    assert f"distinctness {last['distinctness']:.2f}" in title


def test_a_users_maze_is_called_after_its_file(agent):
    task = dataclasses.replace(agent.task, name="maze:/somewhere/my $x$ rooms.json")
    assert style.task_name(task) == "my $x$ rooms"
    figure = style.new_figure(3, 3)
    style.title(figure, "lone $ and $^{")
    figure.canvas.draw()


def test_the_measure_is_drawn_where_it_is(agent):
    figure = figures.measure_figure(agent, planes.maze_plane(agent.task))
    for skill, axes in enumerate(panels(figure)):
        image = np.asarray(axes.images[0].get_array())
        assert image.min() == 0 and image.max() == 1
        row, column = np.unravel_index(image.argmax(), image.shape)
        # the middle of pixel (column, row) of a 100 x 100 image with its origin at the lower left of [-1, 1]^2
        here = np.asarray([-0.99 + 0.02 * column, -0.99 + 0.02 * row], np.float32)
        everywhere = np.stack(np.meshgrid(*2 * [np.linspace(-0.99, 0.99, 50)]), axis=-1).astype(np.float32)
        m = agent.measure(agent.task.start, everywhere, skill)
        assert agent.measure(agent.task.start, here, skill) >= m.max() * (1 - 1e-5)
        left, right, bottom, top = axes.images[0].get_extent()
        assert (left, right, bottom, top) == (-1, 1, -1, 1)


def test_uncertainty_is_scaled_and_has_the_target(agent):
    figure = figures.uncertainty_figure(agent, planes.maze_plane(agent.task))
    targets = np.asarray(agent.method.targets(agent.state))
    for skill, axes in enumerate(panels(figure)):
        image = axes.images[0].get_array()
        assert np.isfinite(image).all() and image.min() == 0 and image.max() == 1
        # two pixels a cell of the fine grid, whose cells are numbered x first
        np.testing.assert_array_equal(image.mask[::2, ::2], ~agent.visited_fine.reshape(50, 50).T)
        np.testing.assert_allclose(axes.lines[-1].get_xydata()[0], targets[skill])


def test_visited_cells_are_drawn_where_they_are(agent, episodes):
    axes = figures.visited_figure(agent, episodes, planes.maze_plane(agent.task)).axes[0]
    image = np.asarray(axes.images[0].get_array())
    bins = agent.task.fine_bins
    assert image.mean() * 100 == pytest.approx(agent.run.metrics()[-1]["coverage_fine"], abs=1e-4)
    for row, column in itertools.product(range(0, bins, 7), range(0, bins, 7)):
        assert image[row, column] == agent.visited_fine[column * bins + row]


def test_visits_now_are_shares_of_the_episodes_steps(agent, episodes):
    axes = figures.visited_figure(agent, episodes, planes.maze_plane(agent.task)).axes[1]
    image = np.ma.filled(axes.images[0].get_array(), 0)
    real = np.arange(agent.task.horizon) < np.asarray(episodes.lengths)[..., None]
    x, y = np.asarray(episodes.states)[:, :, 1:][real].T
    bins = agent.task.fine_bins
    expected, _, _ = np.histogram2d(y, x, bins=bins, range=[[-1, 1], [-1, 1]])
    # float32 and float64 may put the few points on an edge into neighbouring cells
    assert np.abs(image - expected / len(x)).sum() < 0.01


def test_coverage_curves_are_the_metrics(agent):
    metrics = agent.run.metrics()
    left, right = figures.coverage_figure(metrics).axes
    assert left.get_ylim() == (0, 100) and right.get_ylim() == (0, 1)
    for line in (*left.lines, *right.lines):
        name = line.get_label().replace(" ", "_")
        np.testing.assert_allclose(line.get_xydata(), [[entry["samples"], entry[name]] for entry in metrics])


def test_a_number_that_is_missing_is_passed_over(agent):
    metrics = agent.run.metrics()
    metrics[0]["distinctness"] = None
    _, right = figures.coverage_figure(metrics).axes
    assert right.lines[0].get_xdata().tolist() == [line["samples"] for line in metrics[1:]]
    assert right.lines[0].get_ydata().tolist() == [line["distinctness"] for line in metrics[1:]]
    figures.coverage_figure([line | {"distinctness": None} for line in metrics]).canvas.draw()


def test_lines_after_the_checkpoint_are_not_drawn(agent, run_copy):
    agent.run = Run.open(run_copy)
    before = agent.run.metrics()
    agent.run.append("metrics.jsonl", before[-1] | {"epoch": agent.epoch + 1})
    assert figures.metrics_of(agent) == before


def test_a_task_of_two_features_is_drawn_by_components_and_features(open_agent, run_copy):
    open_agent.run = Run.open(run_copy)
    written = figures.write_figures(open_agent)
    names = ["skills", "skills_features", "coverage", "visited"]
    names += ["measure", "measure_features", "uncertainty", "uncertainty_features"]
    assert [path.stem for path in written] == names
    for path in written:
        assert_is_a_picture(path)


def test_a_task_of_three_features_is_drawn_by_components_and_pairs(finger_run, tmp_path):
    written = figures.write_figures(leads.load(shutil.copytree(finger_run, tmp_path / "run")))
    assert [path.stem for path in written] == ["skills", "skills_features", "coverage", "measure", "uncertainty"]
    for path in written:
        assert_is_a_picture(path)


def test_a_task_of_one_feature_is_drawn_by_components_only(agent, run_copy):
    task = dataclasses.replace(agent.task, walls=None, counted=(0,))
    agent.run, agent.task, agent.visited_fine = Run.open(run_copy), task, agent.visited_fine[: task.fine_bins]
    written = figures.write_figures(agent)
    assert [path.stem for path in written] == ["skills", "coverage", "measure", "uncertainty"]


def test_a_control_without_walls_has_no_figures_of_what_it_does_not_learn(random_run, tmp_path):
    agent = leads.load(shutil.copytree(random_run, tmp_path / "run"))
    agent.task = dataclasses.replace(agent.task, walls=None)
    written = figures.write_figures(agent)
    assert [path.stem for path in written] == ["skills", "skills_features", "coverage", "visited"]


def test_features_are_drawn_in_their_box_with_names_and_ticks(open_agent, episodes):
    [plane] = planes.feature_planes(open_agent)
    figure = figures.skills_figure(open_agent, episodes, None, plane)
    large, *alone = figure.axes
    assert (large.get_xlabel(), large.get_ylabel()) == ("left", "up")
    assert len(large.get_xticks()) > 2 and len(large.get_yticks()) > 2
    for axes in (large, *alone):
        assert axes.get_xlim() == (-1, 1) and axes.get_ylim() == (-1, 2)
        shade = np.asarray(axes.images[0].get_array())
        np.testing.assert_array_equal(shade.T.reshape(-1), open_agent.visited_fine)
        assert list(axes.images[0].get_extent()) == [-1, 1, -1, 2]
    assert not any(len(axes.get_xticks()) for axes in alone)
    for skill, axes in enumerate(panels(figure)):
        for path, states, length in zip(paths_in(axes), episodes.states[skill], episodes.lengths[skill], strict=True):
            np.testing.assert_allclose(path, states[: length + 1])


def test_pairs_of_features_are_seen_from_three_sides(finger_run):
    agent = leads.load(finger_run)
    done = agent.episodes(2)
    sides = planes.feature_planes(agent)
    figure = figures.pairs_figure(agent, done, None, sides)
    named = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    assert named == list(itertools.combinations(agent.task.feature_names, 2))
    visited = agent.visited_fine.reshape(3 * (agent.task.fine_bins,))
    features = np.asarray(agent.task.features(done.states))
    for axes, plane, pair in zip(figure.axes, sides, [(0, 1), (0, 2), (1, 2)], strict=True):
        [hidden] = {0, 1, 2} - set(pair)
        np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()).T, visited.any(axis=hidden))
        np.testing.assert_allclose(plane.project(np.asarray(done.states)), features[..., list(pair)])
        assert axes.get_xlim() == (agent.task.low[pair[0]], agent.task.high[pair[0]])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["skill 0", "skill 1", "skill 2"]


@pytest.mark.parametrize("where", ["components", "features"])
def test_archived_states_have_the_colours_of_what_was_learnt(open_agent, episodes, where):
    archived = np.asarray(open_agent.state.archive.states)
    [plane] = planes.feature_planes(open_agent)
    if where == "components":
        plane = planes.component_plane(planes.principal_components(episodes), archived)
    targets = np.asarray(open_agent.method.targets(open_agent.state))
    expected = {
        figures.measure_figure: [open_agent.measure(open_agent.task.start, archived, skill) for skill in range(6)],
        figures.uncertainty_figure: np.asarray(open_agent.method.uncertainty(open_agent.state, archived)),
    }
    for draw, values in expected.items():
        for skill, axes in enumerate(panels(draw(open_agent, plane))):
            [drawn] = axes.collections
            low, high = np.min(values[skill]), np.max(values[skill])
            by_place = {
                tuple(place): value for place, value in zip(plane.project(archived), values[skill], strict=True)
            }
            found = np.asarray([by_place[tuple(place)] for place in np.asarray(drawn.get_offsets())])
            np.testing.assert_allclose(drawn.get_array(), (found - low) / (high - low), atol=1e-5)
            assert np.all(np.diff(drawn.get_array()) >= 0), "the highest lie on top"
            marked = [line.get_xydata()[0] for line in axes.lines]
            np.testing.assert_allclose(marked[0], plane.mark(open_agent.task.start))
            if draw is figures.uncertainty_figure:
                np.testing.assert_allclose(marked[1], plane.mark(targets[skill]))


def test_marks_stay_in_the_panel_and_paths_do_not_cross_it_where_an_angle_turns_over():
    plane = planes.Plane(np.asarray, np.array([-1.0, -3.0]), np.array([1.0, 3.0]))
    np.testing.assert_array_equal(plane.mark(np.array([0.5, 9.0])), [0.5, 3.0])
    path = np.array([[0.0, 2.8], [0.1, 2.9], [0.1, -2.9], [0.2, -2.8]])
    before, after = plane.lines(path)
    np.testing.assert_array_equal(before, path[:2])
    np.testing.assert_array_equal(after, path[2:])
    [whole] = plane.lines(path[:2])
    np.testing.assert_array_equal(whole, path[:2])


def test_features_without_names_are_numbered(agent):
    assert planes.feature_name(dataclasses.replace(agent.task, feature_names=()), 1) == "feature 1"


@pytest.mark.parametrize("size", [1, 2, 7])
def test_projection_keeps_what_varies_together_whatever_its_scale(size):
    axis = 10.0 ** np.arange(size)
    time = np.linspace(-1, 1, 6)[:, None]
    states = 5 + axis * (time + np.random.default_rng(0).normal(0, 0.01, (2, 3, 6, size)))
    lengths = np.full((2, 3), 4)
    done = Episodes(jnp.asarray(states), jnp.zeros((2, 3, 5, 1)), jnp.asarray(lengths), jnp.ones((2, 3), bool))
    project = planes.principal_components(done)
    points = project(states[:, :, :5])
    assert points.shape == (2, 3, 5, 2)
    expected = np.broadcast_to((time[:5, 0] - time[:5, 0].mean()) / time[:5, 0].std(), (2, 3, 5)) * size**0.5
    np.testing.assert_allclose(points[..., 0], expected, atol=0.15)
    assert np.abs(points[..., 1]).max() < 0.15


def test_states_that_never_move_are_drawn_too(open_agent, episodes):
    still = dataclasses.replace(episodes, states=jnp.zeros_like(episodes.states) + 0.5)
    plane = planes.component_plane(planes.principal_components(still), still.states)
    figures.skills_figure(open_agent, still, None, plane).canvas.draw()


@pytest.mark.parametrize("n_skill", [1, 2, 3, 5, 6, 12, 20])
def test_every_skill_has_its_own_colour_and_panel(n_skill):
    assert len(set(style.palette(n_skill))) == n_skill
    for aspect in (2 / 3, 1.5):
        rows, columns = style.rows_and_columns(n_skill, aspect)
        assert rows * columns >= n_skill > (rows - 1) * columns


@pytest.mark.parametrize("vision", KINDS_OF_VISION)
def test_twelve_colours_are_told_apart(vision):
    """CIELAB distances above 15 are far more than the 2.3 that are just noticeable."""
    rgb = np.asarray([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in style.palette(12)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.asarray(KINDS_OF_VISION[vision]).T, 0, 1)
    xyz = seen @ np.asarray([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.0888])
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2)) > 15
    assert lab[:, 0].max() < 80, "too pale on white"


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (950, "950"), (20_000, "20k"), (1_500_000, "1.5M")])
def test_short_numbers(number, text):
    assert style.short(number) == text
