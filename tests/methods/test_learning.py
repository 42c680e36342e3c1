"""Every method learns: in an open square, in seconds, its skills come to do what it teaches, and untrained ones do not.

Numbers are means over three seeds. Margins were tried on other triples of seeds as well.
"""

from functools import cache
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.config.fields import build, defaults
from leads.data.episodes import Episodes
from leads.methods import METHODS
from leads.rollouts.on_device import rollout
from leads.tasks.task import Dynamics, Task, seen_in_box
from leads.training import grid

SEEDS, EPOCHS, N_SKILL = (0, 1, 2), 20, 3
SQUARE = Task(
    name="square", start=np.zeros(2, np.float32), action_size=2, horizon=20, budget=1, features=lambda s: s,
    **seen_in_box(low=-np.ones(2), high=np.ones(2)), one_scale=True,
    dynamics=Dynamics(
        lambda key: jnp.zeros(2), lambda s, a: (jnp.clip(s + 0.1 * a, -1, 1), jnp.bool_(False)), lambda s: s
    ),
)  # fmt: skip
SMALL = {
    "n_skill": N_SKILL, "n_episode": 4, "actor_hidden": (32,), "critic_hidden": (32,), "model_hidden": (32,),
    "batch_size": 64, "replay_size": 5000, "samples_per_step": 4, "learning_rate": 3e-3, "model_learning_rate": 3e-3,
    "discount": 0.9, "tau": 0.05, "density_hidden": (32,), "density_code": 8, "n_feature": 16,
    "embedding_hidden": (16,), "embedding": 8, "measure_hidden": (32,), "measure_embedding": 16, "measure_steps": 32,
    "measure_batch_size": 64, "measure_learning_rate": 3e-3, "measure_discount": 0.9, "policy_steps": 32,
    "policy_batch_size": 32, "policy_learning_rate": 3e-3, "policy_average": 0.9, "offset": 1.0, "td_steps": 1,
    "n_targets": 16, "archive_size": 64, "archive_admit": 32,
}  # fmt: skip
OWN = {
    "rnd": {"reward_scale": 10.0, "temperature": 0.01, "model_learning_rate": 1e-3},
    "leads by sac": {"improve": "sac", "metric_hidden": (32,), "metric_learning_rate": 3e-3},
}  # fmt: skip
"""RND's novelty would be over, or nothing beside the entropy, before its policy learns of it."""
ALL = [*(name for name in METHODS if METHODS.find(name).learns), "leads by sac"]
ONE_POLICY = ["rnd", "ngu"]
FIRST, LAST = slice(0, 2), slice(-4, None)
"""Epochs that are compared."""


def shown(method, state) -> Episodes:
    """Fresh episodes of the skills, as they are evaluated."""
    act = jax.tree_util.Partial(method.act, state)
    return rollout(SQUARE, act, N_SKILL, 20, method.evaluation_noise, jax.random.key(99))


@pytest.fixture(scope="module")
def learnt():
    """By name: the method, and for each seed its states before and after learning, episodes of both, and metrics."""
    return cache(lambda name: learn(name))


def learn(name: str) -> SimpleNamespace:
    kind, own = METHODS.find(name.split()[0]), OWN.get(name, {})
    known = defaults(kind.Config, own)
    fields = {field: value for field, value in (SMALL | own).items() if field in known}
    method = kind(build(kind.Config, fields), SQUARE)

    def epoch(carry, key):
        (state, visited), (collect_key, update_key) = carry, jax.random.split(key)
        explore = jax.tree_util.Partial(method.explore, state)
        episodes = rollout(SQUARE, explore, N_SKILL, method.config.n_episode, method.noise, collect_key)
        state, metrics = method.update(state, episodes, update_key)
        return (state, grid.visit(SQUARE, episodes, visited, 10)), metrics

    @jax.jit
    def run(seed):
        key = jax.random.key(seed)
        before = method.init(jax.random.fold_in(key, 0))
        keys = jax.random.split(jax.random.fold_in(key, 1), EPOCHS)
        (after, visited), metrics = jax.lax.scan(epoch, (before, jnp.zeros(100, bool)), keys)
        return (before, after), (shown(method, before), shown(method, after)), grid.percent(visited), metrics

    states, episodes, explored, metrics = map(list, zip(*map(run, SEEDS), strict=True))
    metrics = {name: np.mean([numbers[name] for numbers in metrics], axis=0) for name in metrics[0]}
    return SimpleNamespace(method=method, states=states, episodes=episodes, explored=np.mean(explored), metrics=metrics)


def before_and_after(learnt, number) -> np.ndarray:
    """A number of the untrained skills' episodes and of the trained ones'."""
    return np.mean([[float(number(episodes)) for episodes in both] for both in learnt.episodes], axis=0)


def cells_per_episode(episodes: Episodes):
    path = grid.cells(SQUARE, episodes.states[:, :, 1:], 10).reshape(-1, SQUARE.horizon)
    return jnp.mean(jnp.sum(jax.vmap(lambda p: jnp.zeros(100).at[p].set(1.0))(path), axis=-1))


@pytest.mark.parametrize("name", ALL)
def test_trained_skills_go_farther_than_untrained_ones(learnt, name):
    """Untrained ones tremble about the start; the loudest noise would see 5 cells in an episode."""
    cells = before_and_after(learnt(name), cells_per_episode)
    distance = before_and_after(learnt(name), lambda e: jnp.mean(jnp.linalg.norm(e.states[:, :, -1], axis=-1)))
    assert cells[0] < 4 and cells[1] > 5.2, cells
    assert distance[1] > distance[0] + 0.2, distance


@pytest.mark.parametrize("name", ALL)
def test_exploring_sees_more_and_more_of_the_square(learnt, name):
    """Untrained skills see a tenth of it."""
    untrained, _ = before_and_after(learnt(name), lambda e: grid.percent(grid.counts(SQUARE, e, 10).sum(0) > 0))
    assert untrained < 20 and learnt(name).explored > 40, (untrained, learnt(name).explored)


@pytest.mark.parametrize("name", ALL)
def test_trained_skills_are_apart(learnt, name):
    """Of methods with one policy all are alike."""
    untrained, trained = before_and_after(learnt(name), lambda e: grid.distinctness(grid.counts(SQUARE, e, 10)))
    assert untrained < 0.45 and (trained < 0.2 if name in ONE_POLICY else trained > 0.65), (untrained, trained)


@pytest.mark.parametrize("name, least", [("diayn", 0.4), ("smm", 0.15), ("lsd", 0.6), ("csd", 0.05), ("metra", 0.25)])
def test_skills_learn_what_is_rewarded(learnt, name, least):
    """By how much the reward rises at least; that of novelty is meant to fall."""
    reward = learnt(name).metrics["reward"]
    assert reward[LAST].mean() > reward[FIRST].mean() + least, reward
    if name == "diayn":
        assert 0.5 * np.log(N_SKILL) < reward[LAST].mean() < np.log(N_SKILL)


def test_diayn_calls_every_skill_by_its_own_number(learnt):
    """The discriminator tells which skill is evaluated, from states that it has not learnt from."""
    for (_, state), (_, episodes) in zip(learnt("diayn").states, learnt("diayn").episodes, strict=True):
        told = jnp.argmax(state.model.model(learnt("diayn").method.features(state, episodes.states[:, :, 5:])), axis=-1)
        assert jnp.mean(told == jnp.arange(N_SKILL)[:, None, None]) > 0.8


@pytest.mark.parametrize(
    "name, metric, least",
    [
        ("leads", "measure_loss", 0.4), ("leads by sac", "measure_loss", 0.4),
        ("diayn", "discriminator_loss", 0.4), ("smm", "discriminator_loss", 0.3),
        ("smm", "density_loss", 0.1), ("ngu", "inverse_error", 0.05), ("csd", "transition_loss", 1.0),
    ],
)  # fmt: skip
def test_models_learn(learnt, name, metric, least):
    """By how much a loss falls at least, though the policy has changed what it is about."""
    loss = learnt(name).metrics[metric]
    assert loss[LAST].mean() < loss[FIRST].mean() - least, loss


@pytest.mark.parametrize("name", ONE_POLICY)
def test_what_was_seen_is_no_news(learnt, name):
    """The error of the prediction in the square, against that of the predictor before it had learnt anything."""
    x = jax.random.uniform(jax.random.key(0), (200, 2), minval=-0.5, maxval=0.5)
    for before, after in learnt(name).states:
        novelty = after.model.model.novelty
        untaught = eqx.tree_at(lambda n: n.predictor, novelty, before.model.model.novelty.predictor)
        now, then = (float(jnp.mean(n.error(x, 5.0))) for n in (novelty, untaught))
        assert now < 0.05 * then, (now, then)


@pytest.mark.parametrize("name", ["leads", "leads by sac"])
def test_leads_reaches_its_targets(learnt, name):
    """Those of the end, which its untrained self hardly meets."""
    leads, reach = learnt(name), []
    for (_, after), both in zip(leads.states, leads.episodes, strict=True):
        reach.append([float(grid.reach(SQUARE, episodes, leads.method.targets(after))) for episodes in both])
    untrained, trained = np.mean(reach, axis=0)
    assert trained > untrained + 0.15 and trained > 2 * untrained, (untrained, trained)
