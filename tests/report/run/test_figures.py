import dataclasses
import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from PIL import Image

import leads
from leads.cli import main
from leads.report import style
from leads.report.run import figures, planes
from leads.training.metrics import METRICS, Metric, headline
from leads.training.run import Run
from leads.training.train import EVALUATION_EPISODES


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


def test_the_same_figure_has_the_same_bytes(agent, episodes, tmp_path):
    for name in "ab":
        style.save(figures.skills_figure(agent, episodes, planes.maze_plane(agent.task)), tmp_path, name)
    for kind in ("png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_skills_are_drawn_as_they_were_rolled_out(panels, agent, episodes):
    figure = figures.skills_figure(agent, episodes, planes.maze_plane(agent.task))
    targets = np.asarray(agent.targets())
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
    figure = figures.skills_figure(agent, episodes, planes.maze_plane(agent.task))
    title = figure.texts[0].get_text()
    assert title.startswith(f"leads on maze-u, {last['samples']:,} samples:")
    assert title.endswith(
        f"coverage {last['coverage']:.0f} %,  skill coverage {last['skill_coverage']:.0f} %,  "
        f"distinctness {last['distinctness']:.2f}"
    )


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


def test_features_are_drawn_in_their_box_with_names_and_ticks(panels, open_agent, episodes):
    [plane] = planes.feature_planes(open_agent)
    figure = figures.skills_figure(open_agent, episodes, plane)
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
    figure = figures.pairs_figure(agent, done, sides)
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


def test_coverage_curves_are_the_metrics(agent):
    metrics = agent.run.metrics()
    left, right = figures.coverage_figure(metrics).axes
    assert (left.get_ylim(), left.get_ylabel()) == ((0, 100), "% of cells")
    assert (right.get_ylim(), right.get_ylabel()) == ((0, 1), "distinctness")
    names = {metric.title: name for name, metric in METRICS.items()}
    drawn = {names[line.get_label()]: line for line in (*left.lines, *right.lines)}
    assert list(drawn) == ["coverage", "coverage_fine", "skill_coverage", "distinctness"]
    for name, line in drawn.items():
        np.testing.assert_allclose(line.get_xydata(), [[entry["samples"], entry[name]] for entry in metrics])


def test_a_number_that_is_missing_is_passed_over(agent):
    metrics = agent.run.metrics()
    metrics[0]["distinctness"] = None
    _, right = figures.coverage_figure(metrics).axes
    assert right.lines[0].get_xdata().tolist() == [line["samples"] for line in metrics[1:]]
    assert right.lines[0].get_ydata().tolist() == [line["distinctness"] for line in metrics[1:]]
    figures.coverage_figure([line | {"distinctness": None} for line in metrics]).canvas.draw()


def test_metrics_of_the_runs_own_are_drawn_where_they_fit(agent):
    """In % on the left, up to 1 on the right; what is larger than 1 without being in % has no axis."""
    metrics = [line | {"doors": 40.0, "straightness": 0.7, "speed": 3.0} for line in agent.run.metrics()]
    own = (
        Metric("doors", "open doors", "%"),
        Metric("straightness", "straightness", largest=1.0),
        Metric("speed", "speed"),
    )
    figure = figures.coverage_figure(metrics, own)
    left, right = figure.axes
    assert [line.get_label() for line in left.lines[3:]] == ["open doors"] and left.get_ylabel() == "%"
    assert [line.get_label() for line in right.lines] == ["distinctness", "straightness"]
    assert right.get_ylabel() == "distinctness, straightness"
    assert left.lines[3].get_ydata().tolist() == [40.0] * len(metrics)
    assert len({line.get_color() for line in (*left.lines, *right.lines)}) == 6
    assert not any(text.get_text() == "speed" for text in figure.legends[0].get_texts())


def test_a_run_that_lacks_a_metric_is_drawn_without_it(agent):
    older = [{name: value for name, value in line.items() if name != "coverage_fine"} for line in agent.run.metrics()]
    left, _ = figures.coverage_figure(older).axes
    assert [len(line.get_xdata()) for line in left.lines] == [len(older), 0, len(older)]


def test_what_only_some_tasks_have_is_drawn_where_it_is_known(agent):
    bodies = [line | {"cells_1m": 70.0, "distinctness_1m": 0.3} for line in agent.run.metrics()]
    left, right = figures.coverage_figure(bodies).axes
    assert [line.get_label() for line in right.lines] == ["distinctness", "1 m distinctness"] and len(left.lines) == 3
    assert right.lines[1].get_ydata().tolist() == [0.3] * len(bodies)


@pytest.fixture(scope="module")
def agents(tiny_agent, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "random"
    return [tiny_agent, leads.load(leads.train("maze-u", method="random", samples=1000, out=out, n_episode=2))]


def test_every_run_has_a_panel_with_its_numbers_and_all_its_paths(agents):
    figure = figures.comparison_figure(agents)
    assert len(figure.axes) == 2
    for axes, agent in zip(figure.axes, agents, strict=True):
        config, last = agent.config, agent.run.metrics()[-1]
        name, numbers = axes.get_title().splitlines()
        assert name == f"{config.method}, seed {config.seed}, {last['samples']:,} samples"
        assert numbers.startswith(f"coverage {last['coverage']:.0f} %, skill coverage {last['skill_coverage']:.0f} %")
        assert numbers.endswith(f"distinctness {last['distinctness']:.2f}")
        lines = next(drawn for drawn in axes.collections if isinstance(drawn, LineCollection)).get_segments()
        assert len(lines) == agent.n_skill * EVALUATION_EPISODES
        assert all(np.allclose(line[0], agent.task.start) for line in lines)


def test_an_epoch_without_an_evaluation_is_told_as_far_as_it_is_known():
    line = {"coverage": 41.6, "skill_coverage": None, "distinctness": None}
    assert headline(line) == "coverage 42 %"
    assert headline(line | {"skill_coverage": 9.5, "distinctness": 0.716}, ";") == (
        "coverage 42 %;skill coverage 10 %;distinctness 0.72"
    )


def test_from_the_command_line(agents, tmp_path, capsys):
    out = tmp_path / "new" / "both.png"
    main(["compare", *(str(agent.run.directory) for agent in agents), "--out", str(out)])
    assert capsys.readouterr().out == f"figure {out}\n"
    assert sorted(path.name for path in out.parent.iterdir()) == ["both.pdf", "both.png"]
    assert out.stat().st_size > 10_000


def test_runs_on_different_tasks_are_refused(agents, random_run, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(agents[0].run.directory), str(random_run), "--out", str(tmp_path / "both.png")])
    assert stop.value.code == 2
    assert "runs on one task can be compared, not on maze-easy and maze-u" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
