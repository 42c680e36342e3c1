"""What a run remembers of its skills: true points of true paths, small, and at the same epochs always."""

import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.tasks import make_task
from leads.training.run import Run
from leads.training.run_config import run_config
from leads.training.snapshots import EPISODES, NUMBERS, Album, Snapshot, snapshot, snapshots


@pytest.fixture(scope="module")
def maze():
    return make_task("maze-u")


@pytest.fixture(scope="module")
def episodes(maze) -> Episodes:
    """Two skills, seven episodes each, on straight ways of different lengths."""
    lengths = jnp.arange(14).reshape(2, 7) * 10 + 5
    time = jnp.minimum(jnp.arange(maze.horizon + 1), lengths[..., None])[..., None]
    states = jnp.asarray(maze.start) + time * jnp.asarray([0.001, 0.005])
    return Episodes(states, jnp.zeros((2, 7, maze.horizon, 2)), lengths, jnp.zeros((2, 7), bool))


def test_paths_run_from_the_start_to_their_true_ends_in_the_units_of_the_box(maze, episodes):
    targets = jnp.asarray([[-1.0, 1.0], [0.5, 0.0]])
    kept = snapshot(maze, 3, 1234, episodes, targets)
    assert kept.paths.shape[:2] == (2, EPISODES) and NUMBERS / 2 < kept.paths.size <= NUMBERS
    assert np.array_equal(kept.lengths, episodes.lengths[:, :EPISODES])
    unboxed = 2 * kept.paths.astype(float) - 1
    assert np.allclose(unboxed[:, :, 0], maze.start, atol=1e-3)
    ends = episodes.states[:, :EPISODES, -1]
    assert np.allclose(unboxed[:, :, -1], ends, atol=2e-3)
    middle = (kept.paths.shape[2] - 1) // 2
    time = np.rint(kept.lengths * middle / (kept.paths.shape[2] - 1))
    assert np.allclose(unboxed[..., middle, 1], maze.start[1] + 0.005 * time, atol=2e-3)
    assert kept.targets is not None and kept.targets.tolist() == [[0, 1], [0.75, 0.5]]


def test_a_line_of_the_log_holds_all_of_it(maze, episodes):
    for targets in (None, jnp.asarray([[-1.0, 1.0], [0.5, 0.0]])):
        kept = snapshot(maze, 3, 1234, episodes, targets)
        again = Snapshot.of_line(kept.line())
        for name, value in vars(kept).items():
            assert np.array_equal(getattr(again, name), value) if value is not None else vars(again)[name] is None


def test_only_counted_features_are_kept():
    hand = make_task("hand")
    states = jnp.broadcast_to(jnp.asarray(hand.start), (12, 2, hand.horizon + 1, hand.state_size))
    still = Episodes(states, jnp.zeros((12, 2, 50, 20)), jnp.full((12, 2), 50), jnp.zeros((12, 2), bool))
    kept = snapshot(hand, 1, 100, still, None)
    assert kept.paths.shape[-1] == len(hand.grid_axes) == 3
    expected = (hand.boxed_features(jnp.asarray(hand.start))[jnp.asarray(hand.grid_axes)] + 1) / 2
    assert np.allclose(kept.paths[0, 0, 0], expected, atol=1e-3)


def test_a_run_remembers_few_epochs_more_of_them_early_and_its_last(maze, episodes, tmp_path):
    def remembered(name: str, stops: tuple[int, ...]) -> list[int]:
        config, _ = run_config("maze-u", "random", 0, 1_000_000, {})
        run = Run.create(tmp_path / name, config)
        for stop in (*stops, 103):  # it is killed, and goes on with what was there some epochs before
            album, begun = Album(run, maze, budget=1_000_000), len(run.metrics())
            for epoch in range(begun + 1, min(stop, 100) + 1):
                run.append("metrics.jsonl", {"epoch": epoch})
                run.append("timing.jsonl", {"epoch": epoch})
                album.add(epoch, 10_000 * epoch, episodes, None)
            run.rewind(min(stop - 3, 100), config)
        assert [kept.epoch for kept in snapshots(run)] == [kept.samples // 10_000 for kept in snapshots(run)]
        assert (run.directory / "skills.jsonl").stat().st_size < 300_000
        return [kept.epoch for kept in snapshots(run)]

    undisturbed = remembered("one", ())
    assert undisturbed == [1, 2, 3, 4, 5, 7, 10, 13, 19, 26, 37, 52, 73, 100]
    assert remembered("other", (4, 10, 19, 50, 73)) == undisturbed


def test_trained_runs_have_them(tiny_run):
    run = Run.open(tiny_run)
    kept, metrics = snapshots(run), run.metrics()
    assert kept[0].epoch == 1 and kept[-1].epoch == metrics[-1]["epoch"]
    assert all(np.isfinite(one.paths).all() for one in kept)
    assert kept[-1].targets is not None and kept[-1].targets.shape == (6, 2)
