"""DIAYN: its reward in numbers known by hand, its discriminator on skills whose best accuracy is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def diayn(small):
    return small("diayn", model_hidden=(32,), model_learning_rate=1e-2, batch_size=256)


@pytest.fixture(scope="module")
def model(diayn):
    return jax.jit(diayn.init_model)(KEY)


def test_the_reward_is_how_much_surer_the_skill_is_than_without_its_state(diayn, model, model_batch):
    """Of a discriminator that says (.7, .2, .1) everywhere: log .7 - log 1/3, and so on."""
    last = lambda model: (model.weights[-1], model.biases[-1])
    sure = eqx.tree_at(last, model, (jnp.zeros((32, 3)), jnp.log(jnp.asarray([0.7, 0.2, 0.1])) + 5))
    np.testing.assert_allclose(
        diayn.reward(sure, model_batch(np.ones((3, 2)), z=np.eye(3)), KEY), [0.741937, -0.510826, -1.203973], atol=1e-5
    )
    unsure = eqx.tree_at(last, model, (jnp.zeros((32, 3)), jnp.zeros(3)))
    np.testing.assert_allclose(
        diayn.reward(unsure, model_batch(np.ones((3, 2)), z=np.eye(3)), KEY), np.zeros(3), atol=1e-6
    )


def test_a_skill_is_told_from_the_state_that_a_step_ends_in(diayn, model, model_batch):
    here, there, z = np.zeros((3, 2)), np.ones((3, 2)), np.eye(3)
    still, coming, going = (
        np.asarray(diayn.reward(model, model_batch(to, x=begin, z=z), KEY))
        for begin, to in ((here, here), (there, here), (here, there))
    )
    np.testing.assert_array_equal(coming, still)
    assert not np.allclose(going, still)


@pytest.mark.parametrize("overlap, accuracy, loss", [(0.0, 1.0, 0.0), (0.5, 2 / 3, 2 / 3 * np.log(2))])
def test_the_discriminator_comes_to_the_best_that_there_is(diayn, model, model_batch, taught, overlap, accuracy, loss):
    """Skills spread evenly over intervals of length 4, one beside the other or each sharing half with the next.

    Then the shared halves (of six, all but the first and the last) are a guess between two, which costs log 2.
    """
    rng = np.random.default_rng(0)

    def visited(n):
        skill = rng.integers(0, 3, n)
        x = skill * (1 - overlap) + rng.random(n) - (1.5 - overlap)
        return model_batch(4 * np.stack([x, np.zeros(n)], axis=-1), z=np.eye(3)[skill])

    learnt, _ = taught(diayn, model, visited(4096), 400)
    _, metrics = diayn.model_loss(learnt, visited(4096), KEY)
    assert float(metrics["discriminator_accuracy"]) == pytest.approx(accuracy, abs=0.03)
    assert float(metrics["discriminator_loss"]) == pytest.approx(loss, abs=0.08)


def test_the_temperature_is_fixed(diayn):
    assert diayn.config.temperature == pytest.approx(0.1)
