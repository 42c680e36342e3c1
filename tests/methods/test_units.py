"""What networks see of a body's place is in metres: the box that coverage is counted in changes nothing."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.tasks import make_task
from leads.tasks.task import Task

CHEETAH = make_task("half-cheetah")
BOXES = {
    "as it is": CHEETAH,
    "wide": dataclasses.replace(CHEETAH, low=np.array([-1000.0, -5.0]), high=np.array([1000.0, 5.0])),
    "askew": dataclasses.replace(CHEETAH, low=np.array([-1.0, 0.5]), high=np.array([30.0, 1.0])),
}


def run(task: Task, seed: int = 0) -> Episodes:
    """Three skills with two episodes each, in which the body moves by some centimetres a step."""
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=(3, 2, 1, task.state_size)) * 0.05 * np.arange(task.horizon + 1)[:, None]
    return Episodes(
        states=jnp.asarray(task.start + ways + 0.01 * rng.normal(size=ways.shape), jnp.float32),
        actions=jnp.asarray(rng.uniform(-1, 1, (3, 2, task.horizon, task.action_size)), jnp.float32),
        lengths=jnp.full((3, 2), task.horizon, jnp.int32),
        terminated=jnp.zeros((3, 2), bool),
    )


@pytest.fixture(scope="module")
def first_epochs(small):
    """By box: what METRA's networks see, what it has learnt, and its metrics."""

    def epoch(task: Task):
        method = small("metra", task, samples_per_step=100)
        state, metrics = jax.jit(method.update)(method.init(jax.random.key(0)), run(task), jax.random.key(1))
        return method.features(state, run(task).states), jax.tree.leaves(state), metrics

    return {name: epoch(task) for name, task in BOXES.items()}


@pytest.mark.parametrize("box", [name for name in BOXES if name != "as it is"])
def test_metras_first_update_does_not_depend_on_the_box(first_epochs, box):
    usual, other = first_epochs["as it is"], first_epochs[box]
    assert len(usual[1]) > 50
    jax.tree.map(np.testing.assert_array_equal, usual, other)


def test_metra_sees_a_step_of_a_metre_as_half_and_feels_it(first_epochs):
    x, _, metrics = first_epochs["as it is"]
    states = np.asarray(run(CHEETAH).states, np.float64)
    np.testing.assert_allclose(x, (states[..., :2] - CHEETAH.start[:2]) / [2, 0.5], atol=1e-4)
    assert float(metrics["step_length"]) > 1e-3
