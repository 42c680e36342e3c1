import copy
import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import leads
from leads.cli import main
from leads.config.fields import build
from leads.data.episodes import Episodes
from leads.methods.leads import Leads
from leads.report.run import diagnosis
from leads.rollouts.rollout import Rollout
from leads.tasks.task import seen_in_box

HALVES = np.array([0.5, 0.5, 0.0, 0.0])


@pytest.fixture
def line_task(agent):
    """Four cells in a row: [0, 1), [1, 2), [2, 3), [3, 4]."""
    box = {**seen_in_box(low=[0.0], high=[4.0]), "start": np.zeros(1)}
    return dataclasses.replace(agent.task, walls=None, features=lambda s: s, bins=4, horizon=3, **box)


def test_alike_and_apart():
    p = np.array([0.7, 0.2, 0.1, 0.0])
    assert diagnosis.total_variation(p, p) == 0 and diagnosis.correlation(p, p) == 1
    assert diagnosis.total_variation(HALVES, HALVES[::-1]) == 1
    assert diagnosis.correlation(HALVES, HALVES[::-1]) == -1


def test_total_variation_by_hand():
    # (|.7 - .5| + |.2 - .5| + |.1 - 0|) / 2
    assert diagnosis.total_variation(np.array([0.7, 0.2, 0.1, 0.0]), HALVES) == pytest.approx(0.3)


def test_correlation_is_of_logs_above_the_floor():
    floor = diagnosis.FLOOR
    p, q = np.array([0.9, 0.1 - 1e-6, 1e-6, 0.0]), np.array([0.5, 0.25, 0.25, 1e-9])
    # the last cell is empty by both
    x, y = np.log([0.9, 0.1 - 1e-6, floor]), np.log([0.5, 0.25, 0.25])
    x, y = x - x.mean(), y - y.mean()
    assert diagnosis.correlation(p, q) == pytest.approx((x @ y) / np.sqrt((x @ x) * (y @ y)), abs=1e-4)


@pytest.mark.parametrize("p", [np.array([1.0, 0.0, 0.0, 0.0]), HALVES])
def test_what_does_not_vary_has_no_correlation(p):
    assert diagnosis.correlation(p, p) is None


@pytest.mark.parametrize("futures", ["uniform", "geometric"])
@pytest.mark.parametrize("mc_weight", [0.0, 0.3, 1.0])
def test_weights_of_time_are_the_mixture_of_futures(tiny_agent, futures, mc_weight):
    options = {"futures": futures, "mc_weight": mc_weight, "measure_discount": 0.9}
    weights = Leads(build(Leads.Config, options), tiny_agent.task).future_weights(5)
    for k in range(1, 6):
        geometric = 0.1 * 0.9 ** (k - 1)
        monte_carlo = 1 / 5 if futures == "uniform" else geometric
        assert weights[k - 1] == pytest.approx(mc_weight * monte_carlo + (1 - mc_weight) * geometric)


def test_occupancy_counts_weighted_steps(line_task):
    """The first skill's episode lives; the second's dies after a step, the third's is cut off after one."""
    states = jnp.asarray(
        [[[[0.0], [1.5], [3.5], [1.2]]], [[[0.0], [2.5], [2.5], [2.5]]], [[[0.0], [9.0], [9.0], [9.0]]]]
    )
    lengths, terminated = jnp.asarray([[3], [1], [1]]), jnp.asarray([[False], [True], [False]])
    two = jnp.concatenate([states, states.at[:, :, 1:].set(0.5)], axis=1)
    done = Episodes(two, jnp.zeros((3, 2, 3, 1)), jnp.tile(lengths, 2), jnp.tile(terminated, 2))
    weights = np.array([0.5, 0.3, 0.2])
    vanish = diagnosis.occupancy(line_task, done, weights, "vanish")
    np.testing.assert_allclose(vanish[0], [0.5, (0.5 + 0.2) / 2, 0, 0.3 / 2])
    np.testing.assert_allclose(vanish[1], [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(vanish[2], [0.5, 0, 0, 0.5])
    other = dataclasses.replace(done, lengths=done.lengths.at[1, 1].set(3))
    # beside an episode that lives on, the dead one's only step has half of the weight that lived
    np.testing.assert_allclose(diagnosis.occupancy(line_task, other, weights, "vanish")[1], [1 / 1.5, 0, 0.5 / 1.5, 0])
    np.testing.assert_allclose(diagnosis.occupancy(line_task, other, weights, "absorb")[1], [0.5, 0, 0.5, 0])


def test_density_sums_weights_by_cell(line_task):
    states = jnp.asarray([[0.1], [0.9], [2.0], [3.9]])
    shares = diagnosis.density(line_task, states, np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 7.0]]))
    np.testing.assert_allclose(shares, [[0.3, 0, 0.3, 0.4], [0, 0, 0, 1]])


def centres(task) -> jnp.ndarray:
    """The middles of the cells of the coarse grid of a maze, in their order."""
    middle = np.linspace(-1, 1, task.bins, endpoint=False) + 1 / task.bins
    return jnp.asarray(np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2), jnp.float32)


def test_a_true_measure_agrees_with_the_visits(agent, monkeypatch):
    """The measure is made from the visits themselves; a state in the middle of each cell stands for p(s)."""
    archived = centres(agent.task)
    agent.state = eqx.tree_at(lambda state: state.archive.states, agent.state, archived)
    visited = diagnosis.diagnose(agent, 3).visited
    logs = jnp.log(jnp.asarray(visited) * len(archived) + 1e-12)
    monkeypatch.setattr(agent.method, "log_measure", lambda state, s1, s2: logs)
    agreed = diagnosis.diagnose(agent, 3)
    np.testing.assert_allclose(agreed.learnt, visited, atol=1e-6)
    for row in agreed.rows():
        assert row["total_variation"] == 0 and row["correlation"] == 1
        assert row["total_variation_of_chance"] > 0.5
    # the same measures for other skills
    monkeypatch.setattr(agent.method, "log_measure", lambda state, s1, s2: jnp.roll(logs, 1, axis=0))
    assert max(row["total_variation"] for row in diagnosis.diagnose(agent, 3).rows()) > 0.2


def test_the_learnt_density_is_the_measure_of_archived_states(agent):
    learnt = diagnosis.diagnose(agent, 2).learnt
    states = np.asarray(agent.method.landmarks(agent.state))
    cell = np.clip(np.floor((states + 1) / 2 * 10).astype(int), 0, 9) @ [10, 1]
    for skill in range(agent.n_skill):
        m = agent.measure(agent.task.start, states, skill)
        np.testing.assert_allclose(learnt[skill], np.bincount(cell, m, 100) / m.sum(), rtol=1e-4)


def test_a_measure_relative_to_the_epoch_is_weighed_on_fresh_steps(agent, monkeypatch):
    """If m is 1 everywhere, what was learnt is the marginal of all skills."""
    agent.method = copy.copy(agent.method)
    agent.method.config = dataclasses.replace(agent.method.config, marginal="epoch")
    monkeypatch.setattr(
        agent.method, "log_measure", lambda state, s1, s2: jnp.zeros((agent.n_skill, len(s2))), raising=False
    )
    found = diagnosis.diagnose(agent, 4)
    assert found.chance.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.learnt, np.tile(found.chance, (agent.n_skill, 1)))
    reached = agent.visited_fine.reshape(10, 5, 10, 5).any(axis=(1, 3)).reshape(-1)
    assert found.chance[reached].sum() > 0.5


@pytest.mark.parametrize(
    ("marginal", "noise", "rolled"),
    [("archive", "pink", ["white"]), ("epoch", "white", ["white"]), ("epoch", "pink", ["white", "pink"])],
)
def test_nothing_is_rolled_out_that_is_not_needed(agent, monkeypatch, marginal, noise, rolled):
    """An archive needs no collected episodes, and episodes with white noise serve both."""
    colours = []

    def record(task, act, n_skill, n_episode, colour):
        colours.append(colour)
        return Rollout(task, act, n_skill, n_episode, colour)

    monkeypatch.setattr(diagnosis, "Rollout", record)
    agent.method = copy.copy(agent.method)
    agent.method.config, agent.method.noise = dataclasses.replace(agent.method.config, marginal=marginal), noise
    diagnosis.diagnose(agent, 2)
    assert colours == rolled


@pytest.mark.parametrize(("still", "expected"), [(0, (1, 2)), (1, (0, 2)), (2, (0, 1))])
def test_the_features_that_spread_most_are_shown(still, expected):
    grid = np.ones((4, 4, 4))
    grid[tuple(slice(1, None) if axis == still else slice(None) for axis in range(3))] = 0
    task = SimpleNamespace(grid_axes=(0, 1, 2), bins=4)
    visited = np.stack(2 * [(grid / grid.sum()).reshape(-1)])
    assert diagnosis.widest_features(task, visited) == expected
    np.testing.assert_allclose(diagnosis._projected(task, visited, expected), np.full((2, 4, 4), 1 / 16))


def run_command(run: Path, *options: str) -> dict:
    main(["diagnose", str(run), "--episodes", "3", *options])
    out = Path(options[1]) if options else run / "figures"
    assert {path.name for path in out.iterdir()} == {"diagnosis.json", "diagnosis.png", "diagnosis.pdf"}
    height, width, _ = np.asarray(Image.open(out / "diagnosis.png").convert("RGB")).shape
    assert 400 < height < 1500 and 700 < width < 2000
    return json.loads((out / "diagnosis.json").read_text())


def test_diagnosis_from_the_command_line(tiny_run, tmp_path, capsys):
    said = run_command(tiny_run, "--out", str(tmp_path / "here"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 6 + 1 + 2 and lines[0].split()[:2] == ["skill", "correlation"]
    assert said["cells"] == 100 and said["episodes"] == 3 and said["floor"] == diagnosis.FLOOR
    assert [row["skill"] for row in said["skills"]] == list(range(6))
    for row in said["skills"]:
        assert 0 <= row["total_variation"] <= 1
        assert row["correlation"] is None or -1 <= row["correlation"] <= 1
    mean = np.mean([row["total_variation"] for row in said["skills"]])
    assert said["mean"]["total_variation"] == pytest.approx(mean, abs=1e-4)
    assert f"{mean:.2f}" in lines[7]


def test_diagnosis_of_a_robot_with_three_features(finger_run, tmp_path):
    run = Path(shutil.copytree(finger_run, tmp_path / "run", ignore=shutil.ignore_patterns("figures")))
    said = run_command(run)
    assert said["cells"] == 1000 and len(said["skills"]) == 3


def test_the_picture_has_both_densities_of_every_skill(agent):
    found = diagnosis.diagnose(agent, 3)
    rows = found.rows()
    figure = diagnosis.diagnosis_figure(agent, found, rows, rows[0])
    assert f"total variation {rows[0]['total_variation']:.2f}" in figure.texts[0].get_text()
    *pictures, _ = figure.axes
    for skill, (above, below) in enumerate(zip(pictures[::2], pictures[1::2], strict=True)):
        assert above.get_title() == f"skill {skill}"
        assert f"TV {rows[skill]['total_variation']:.2f}" in below.get_title()
        for axes, shares in ((above, found.learnt), (below, found.visited)):
            image = np.ma.filled(axes.images[0].get_array(), 0)
            shown = np.where(shares[skill] < diagnosis.FLOOR, 0, shares[skill])
            np.testing.assert_allclose(image.T.reshape(-1), shown)


def test_a_single_feature_is_drawn_as_a_strip(agent):
    agent.task = dataclasses.replace(agent.task, walls=None, counted=(0,))
    found = diagnosis.diagnose(agent, 2)
    rows = found.rows()
    figure = diagnosis.diagnosis_figure(agent, found, rows, rows[0])
    figure.canvas.draw()
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array().shape, (1, 10))


def test_a_method_without_a_measure_is_a_user_error(random_run, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(random_run), "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "leads: method: random learns no measure that could be diagnosed; leads does\n"
    assert not (tmp_path / "out").exists()


def test_no_episodes_or_more_than_fit_are_a_user_error(agent, tmp_path):
    with pytest.raises(leads.UserError, match="episodes: 0"):
        diagnosis.write_diagnosis(agent, tmp_path, 0)
    with pytest.raises(leads.UserError, match=r"^episodes: 1000000000 needs .* of memory or more; there are "):
        diagnosis.write_diagnosis(agent, tmp_path, 10**9)
    assert not list(tmp_path.iterdir())


def test_diagnosis_of_no_run_is_a_user_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(tmp_path)])
    assert stop.value.code == 2 and "not a run directory" in capsys.readouterr().err


def test_skills_without_a_correlation_do_not_count_in_the_mean():
    assert diagnosis._mean([None, None]) is None and diagnosis._mean([None, 0.5]) == 0.5
