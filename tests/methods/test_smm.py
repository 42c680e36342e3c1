"""SMM: its density against the formula in NumPy and against what was visited, and the signs of its reward."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def smm(small):
    fields = {
        "density_beta": 0.3,
        "density_weight": 2.0,
        "posterior_weight": 3.0,
        "model_learning_rate": 5e-3,
        "batch_size": 128,
    }
    return small("smm", density_hidden=(32,), **fields)


@pytest.fixture(scope="module")
def model(smm):
    return jax.jit(smm.init_model)(KEY)


@pytest.fixture(scope="module")
def batch(model_batch):
    rng = np.random.default_rng(0)
    return model_batch(rng.normal(size=(20, 2)), z=np.eye(3)[rng.integers(0, 3, 20)])


def test_surprise_is_the_squared_error_and_the_weighed_divergence(smm, model, batch):
    """For the noise that the key gives; the divergence of Gaussians by SciPy's entropy and moments."""
    both = np.concatenate([batch.next_x, batch.z], axis=-1)
    mean, log_std = np.split(np.asarray(model.density.encoder(both), np.float64), 2, axis=-1)
    std = np.exp(log_std)
    code = mean + std * np.asarray(jax.random.normal(KEY, mean.shape))
    error = np.asarray(model.density.decoder(jnp.asarray(code, jnp.float32))) - both
    # KL(q || N(0, 1)) = -entropy of q - E_q log N(0, 1)
    divergence = -scipy.stats.norm.entropy(mean, std) + 0.5 * np.log(2 * np.pi) + 0.5 * (mean**2 + std**2)
    expected = (error**2).sum(-1) + 0.3 * divergence.sum(-1)
    np.testing.assert_allclose(smm.surprise(model, batch, KEY), expected, rtol=1e-4)


def test_the_reward_adds_how_surely_a_skill_is_told_from_its_states(smm, model, batch):
    """+ log d(z|s), with the weights of both parts; d is (.7, .2, .1) everywhere."""
    last = lambda model: (model.discriminator.weights[-1], model.discriminator.biases[-1])
    d = np.asarray([0.7, 0.2, 0.1])
    sure = eqx.tree_at(last, model, (jnp.zeros((16, 3)), jnp.log(jnp.asarray(d, jnp.float32))))
    told_apart = np.log(d[np.argmax(batch.z, axis=-1)] * 3)
    surprise = np.asarray(smm.surprise(sure, batch, KEY), np.float64)
    np.testing.assert_allclose(smm.reward(sure, batch, KEY), 2 * surprise + 3 * told_apart, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def visited(smm, model, model_batch, taught):
    """The model after training on skills of which each stays near its own place in 19 of 20 states."""
    rng = np.random.default_rng(1)
    skill = rng.integers(0, 3, 4096)
    near = np.asarray([[-0.6, -0.6], [0.6, -0.6], [0.0, 0.6]])[skill] + 0.1 * rng.normal(size=(4096, 2))
    x = np.where(rng.random((4096, 1)) < 0.95, near, rng.uniform(-1, 1, size=(4096, 2)))
    return taught(smm, model, model_batch(x, z=np.eye(3)[skill]), 500)


def mean_surprise(smm, model, batch) -> np.ndarray:
    """Over the noise of the code."""
    keys = jax.random.split(jax.random.key(7), 64)
    return np.mean(jax.jit(jax.vmap(smm.surprise, (None, None, 0)))(model, batch, keys), axis=0)


def test_states_that_were_seldom_visited_are_more_surprising(smm, visited, model_batch):
    """Of one skill: its own place, between the places, the corner behind, and far outside."""
    model, metrics = visited
    assert metrics["density_loss"][-50:].mean() < 0.7 * metrics["density_loss"][:5].mean()
    places = np.asarray([[-0.6, -0.6], [0.0, -0.2], [0.9, 0.9], [2.0, 2.0]])
    surprise = mean_surprise(smm, model, model_batch(places, z=np.eye(3)[[0, 0, 0, 0]]))
    assert np.all(np.diff(surprise) > 0.05)


def test_a_place_of_another_skill_is_surprising_for_this_one(smm, visited, model_batch):
    """rho(s|z): what counts is what this skill visited; the discriminator holds against it."""
    model, _ = visited
    batch = model_batch(np.asarray([[-0.6, -0.6], [0.6, -0.6]] * 2), z=np.eye(3)[[0] * 4])
    own, others, _, _ = mean_surprise(smm, model, batch)
    assert others > own + 0.1
    told_apart = np.asarray(jax.nn.log_softmax(model.discriminator(batch.next_x)))[:, 0]
    assert told_apart[0] > np.log(0.9) and told_apart[1] < np.log(0.2)
