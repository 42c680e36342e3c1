"""LSD, CSD and METRA: skills as directions, what bounds phi in each of them, and by how much."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import leads
from leads.data.episodes import Episodes
from leads.methods.csd import LOG_STD_MAX, LOG_STD_MIN, CsdConfig
from leads.methods.lsd import LsdConfig
from leads.methods.metra import MetraConfig

KEY = jax.random.key(0)
NAMES = ["lsd", "csd", "metra"]


@pytest.fixture(scope="module")
def methods(small):
    """With a rate, and for CSD a multiplier, at which a few hundred steps come near the bounds."""
    fields = {"model_learning_rate": 5e-3, "batch_size": 128, "model_hidden": (32,)}
    own = {"lsd": {}, "csd": {"multiplier": 30.0}, "metra": {}}
    return {name: small(name, **fields | own[name]) for name in NAMES}


@pytest.fixture(scope="module")
def models(methods):
    return {name: method.init_model(KEY) for name, method in methods.items()}


@pytest.fixture(scope="module")
def walk(model_batch):
    """Random walks of three skills, each with a drift of its own; the second coordinate is driven by noise alone."""
    rng = np.random.default_rng(0)
    skill = np.arange(3 * 16) % 3
    drift = np.stack([0.1 * (skill - 1), np.zeros(48)], axis=-1)
    steps = drift[:, None] + rng.normal(size=(48, 40, 2)) * [0.02, 0.1]
    x = np.concatenate([np.zeros((48, 1, 2)), np.cumsum(steps, axis=1)], axis=1) / 2
    z = np.repeat(np.eye(3)[skill], 40, axis=0)
    return model_batch(x[:, 1:].reshape(-1, 2), x=x[:, :-1].reshape(-1, 2), z=z)


@pytest.fixture(scope="module")
def learnt(methods, models, walk, taught):
    """(model, metrics) of each after training on the walk."""
    return {name: taught(methods[name], models[name], walk, 600) for name in NAMES}


def moved(model, batch) -> np.ndarray:
    return np.asarray(model.phi(batch.next_x), np.float64) - np.asarray(model.phi(batch.x), np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_directions_of_discrete_skills_are_centred(small, name):
    """(onehot - 1/N) N/(N - 1): of two skills, one forth and one back."""
    np.testing.assert_allclose(small(name, n_skill=2).direction(jnp.eye(2)), [[1, -1], [-1, 1]], atol=1e-6)
    three = small(name, n_skill=3).direction(jnp.eye(3))
    np.testing.assert_allclose(three, [[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_reward_is_the_way_along_the_skill(methods, models, walk, name):
    batch = jax.tree.map(lambda x: x[::40], walk)
    direction = 1.5 * (np.asarray(batch.z) - 1 / 3)
    expected = (moved(models[name], batch) * direction).sum(-1)
    np.testing.assert_allclose(methods[name].reward(models[name], batch, KEY), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_moving_along_its_own_direction_is_what_a_skill_learns_to_be_paid_for(methods, models, learnt, walk, name):
    """The drifts differ, so that phi comes to tell them apart."""
    before, reward = (np.asarray(methods[name].reward(m, walk, KEY)) for m in (models[name], learnt[name][0]))
    assert reward.mean() > 0 and reward.mean() > 3 * abs(before.mean())


def test_continuous_skills_are_directions_drawn_anew_in_each_epoch(small, monkeypatch):
    """What is learnt from them meanwhile does not matter here."""
    method = small("metra", skills="continuous", direction_size=4, n_skill=5, replay_size=4000)
    monkeypatch.setattr(method, "_step", lambda state, key: (state, {}))
    state = jax.jit(method.init)(KEY)
    assert method.skill_size == 4 and state.skills.shape == (5, 4)
    np.testing.assert_array_equal(method.direction(state.skills), state.skills)
    lengths = jnp.asarray([[3, 1], [2, 5], [4, 4], [5, 2], [1, 1]], jnp.int32)
    episodes = Episodes(jnp.zeros((5, 2, 6, 2)), jnp.zeros((5, 2, 5, 2)), lengths, jnp.ones((5, 2), bool))
    skills, update, drawn = state.skills, jax.jit(method.update), [state.drawn]
    for key in jax.random.split(KEY):
        state, _ = update(state, episodes, key)
        np.testing.assert_array_equal(state.skills, skills)
        drawn.append(state.drawn)
    np.testing.assert_array_equal(drawn[0], skills)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=-1), np.ones((3, 5)), rtol=1e-5)
    assert len(np.unique(np.concatenate(drawn), axis=0)) == 15
    # each epoch is kept with the skills that it was collected with
    expected = np.repeat(np.concatenate(drawn[:2]), np.tile(lengths.sum(1), 2), axis=0)
    np.testing.assert_array_equal(state.replay.kept.z[: len(expected)], expected)
    at = jnp.zeros(2), 1, jnp.zeros(2)
    as_drawn = dataclasses.replace(state, skills=state.drawn)
    np.testing.assert_array_equal(method.explore(state, *at), method.act(as_drawn, *at))
    assert not np.allclose(method.explore(state, *at), method.act(state, *at))


def test_lsd_stretches_no_distance(learnt, models):
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(3000, 2))
    y = x + rng.normal(size=(3000, 2)) * 10.0 ** rng.uniform(-2, 0.5, size=(3000, 1))
    for model in (models["lsd"], learnt["lsd"][0]):
        far = np.linalg.norm(np.asarray(model.phi(x)) - np.asarray(model.phi(y)), axis=-1)
        assert np.max(far / np.linalg.norm(x - y, axis=-1)) <= 1.02


def test_lsd_uses_the_distance_that_it_is_allowed(learnt, walk):
    """Along the first coordinate, in which its skills differ."""
    model, _ = learnt["lsd"]
    ends = jnp.asarray([[-1.0, 0.0], [1.0, 0.0]])
    assert np.linalg.norm(np.diff(np.asarray(model.phi(ends)), axis=0)) > 1.2


def test_a_step_of_metra_has_length_1_at_most(learnt, models, walk):
    """Before, steps are short; afterwards those of the two skills that drift are nearly as long as they may be."""
    model, metrics = learnt["metra"]
    before, after = (np.linalg.norm(moved(m, walk), axis=-1) for m in (models["metra"], model))
    assert before.mean() < 0.1 and after[np.asarray(walk.z)[:, 1] == 0].mean() > 0.6
    assert np.quantile(after, 0.95) <= 1.1 and after.max() <= 1.3
    assert float(metrics["step_length"][-1]) == pytest.approx(after.mean(), rel=0.1)


def test_steps_of_csd_are_on_average_no_longer_than_its_measure_allows(methods, learnt, walk):
    model, _ = learnt["csd"]
    allowed = np.asarray(methods["csd"].length(model, walk))
    squares = (moved(model, walk) ** 2).mean(-1)
    assert 0.2 * allowed.mean() < squares.mean() <= 1.05 * allowed.mean()


LONGEST = {"lsd": 1.02, "csd": 2.0, "metra": 1.2}
"""Share of the length that is allowed, of all steps but the rarest thousandth; CSD bounds a mean over many steps."""


@pytest.mark.parametrize("name", NAMES)
def test_the_bounds_hold_on_what_a_method_has_collected_itself(name, tmp_path):
    """In a maze, with policies that learn meanwhile; for CSD, d is at least a tenth of its mean."""
    narrow = {"actor_hidden": (32, 32), "critic_hidden": (32, 32), "model_hidden": (32,), "replay_size": 60_000}
    rate = 1e-4 if name == "lsd" else 1e-3  # one power iteration a step keeps up with the rate that ships
    run = leads.train(
        "maze-u", name, 0, 40_000, tmp_path / "run", samples_per_step=32, model_learning_rate=rate, **narrow
    )
    agent = leads.load(run)
    state, method = agent.state, agent.method
    index = jnp.arange(40_000)
    batch = method._batch(state, index, jax.tree.map(lambda kept: kept[index], state.replay.kept))
    squares = moved(state.model.model, batch) ** 2
    if name == "csd":
        d = np.asarray(method.length(state.model.model, batch))
        used = squares.mean(-1) / np.maximum(d, 0.1 * d.mean())
    else:
        allowed = np.linalg.norm(batch.next_x - batch.x, axis=-1) if name == "lsd" else 1.0
        used = squares.sum(-1) / np.maximum(allowed, 1e-6) ** 2
    often, longest = np.sqrt(np.quantile(used, [0.95, 0.999]))
    assert 0.5 < often <= 1.05 and longest <= LONGEST[name], (often, longest)


@pytest.mark.parametrize("name", ["csd", "metra"])
@pytest.mark.parametrize("factor, direction", [(0.0, -1), (1e3, 1)])
def test_the_multiplier_rises_where_the_constraint_is_violated_and_falls_where_it_holds(
    methods, models, walk, taught, name, factor, direction
):
    """Of a phi that stands still and of one that moves a thousandfold; a first step of Adam is as long as its rate."""
    dual = (lambda m: m.dual) if name == "csd" else lambda m: m
    last = lambda m: dual(m).phi.weights[-1]
    model = eqx.tree_at(last, models[name], factor * last(models[name]))
    after, _ = taught(methods[name], model, walk, 1)
    change = float(dual(after).log_multiplier - dual(model).log_multiplier)
    assert change == pytest.approx(direction * 5e-3, rel=0.05)
    assert float(jnp.exp(dual(model).log_multiplier)) == pytest.approx(30, rel=1e-4)


def transition(model, x) -> tuple[np.ndarray, np.ndarray]:
    """(mu, log sigma) of CSD's Gaussian."""
    mean, log_std = np.split(np.asarray(model.transition(x), np.float64), 2, axis=-1)
    return mean, np.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)


def test_the_length_of_csd_is_long_where_a_step_is_unlikely(methods, learnt, walk):
    """d = mean_i (ds - mu)_i^2 w_i^2, w being 1/sigma over its geometric mean."""
    model, _ = learnt["csd"]
    mean, log_std = transition(model, walk.x)
    step = np.asarray(walk.next_x, np.float64) - np.asarray(walk.x, np.float64)
    weight = np.exp(-log_std) / scipy.stats.gmean(np.exp(-log_std), axis=-1)[:, None]
    expected = ((step - mean) ** 2 * weight**2).mean(-1)
    np.testing.assert_allclose(methods["csd"].length(model, walk), expected, rtol=1e-3, atol=1e-7)
    assert weight[:, 1].mean() < weight[:, 0].mean(), "the noisy coordinate counts less"


def test_the_gaussian_of_csd_learns_the_likelihood_of_steps(methods, models, learnt, walk):
    """By SciPy, which has the constant of the density besides."""
    step = np.asarray(walk.next_x, np.float64) - np.asarray(walk.x, np.float64)
    constant, likelihood = np.log(2 * np.pi), []
    for model in (models["csd"], learnt["csd"][0]):
        mean, log_std = transition(model, walk.x)
        likelihood.append(scipy.stats.norm.logpdf(step, mean, np.exp(log_std)).sum(-1).mean())
        _, metrics = methods["csd"].model_loss(model, walk, KEY)
        assert float(metrics["transition_loss"]) == pytest.approx(-likelihood[-1] - constant, rel=1e-3)
    assert likelihood[1] > likelihood[0] + 2


def test_the_gaussian_of_csd_does_not_help_phi(methods, models, walk):
    """What is allowed is taken as given: the multiplier changes nothing in what the Gaussian learns."""

    @jax.jit
    def learnt_by(multiplier):
        model = eqx.tree_at(lambda m: m.dual.log_multiplier, models["csd"], jnp.log(multiplier))
        return jax.grad(lambda m: methods["csd"].model_loss(m, walk, KEY)[0])(model)

    one, other = learnt_by(1.0), learnt_by(1e4)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), one.transition, other.transition)
    assert not np.allclose(one.dual.phi.weights[0], other.dual.phi.weights[0], rtol=0.1)


def test_the_published_numbers():
    csd, metra, lsd = CsdConfig(), MetraConfig(), LsdConfig()
    assert (lsd.model_learning_rate, lsd.power_iterations) == (1e-4, 1)
    assert (csd.multiplier, csd.slack, csd.reward_scale) == (3000, 1e-6, 10)
    assert (metra.multiplier, metra.slack, metra.reward_scale) == (30, 1e-3, 1)
