"""Gradient steps that the parts of `make bench` time: many in one compiled program, as training does them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from leads.data.episodes import Episodes
from leads.data.replay import Replay
from leads.improvement.sac import Experience, Sac, SacConfig
from leads.methods.leads import DRAWN_TOGETHER, Leads
from leads.methods.leads_config import LeadsConfig
from leads.rollouts.on_device import rollout
from leads.tasks import make_task

STEPS = 256
"""Gradient steps in one program."""
SKILLS = 6
EPISODES, HORIZON = 16, 200
"""Episodes per skill in SAC's replay, and their length."""
CONFIG = SacConfig(actor_every=1)
"""Every step is one on the critics and on the policy, as in the libraries that it is compared with."""
CHEETAH = make_task("half-cheetah")


class Steps(NamedTuple):
    """A compiled program of `STEPS` gradient steps, and what it is called with."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        return self.program(*self.arguments)

    def text(self) -> str:
        """Of the compiled program."""
        return self.program.lower(*self.arguments).compile().as_text()


def random_episodes() -> Episodes:
    """Of the half-cheetah's sizes."""
    draw, many = np.random.default_rng(0), (SKILLS, EPISODES)
    return Episodes(
        states=jnp.asarray(draw.normal(size=(*many, HORIZON + 1, CHEETAH.state_size)), jnp.float32),
        actions=jnp.asarray(draw.uniform(-1, 1, (*many, HORIZON, CHEETAH.action_size)), jnp.float32),
        lengths=jnp.full(many, HORIZON),
        terminated=jnp.zeros(many, bool),
    )


def rewards(actions: Any) -> Any:
    """Of transitions; any will do, but it must cost next to nothing."""
    return -(actions**2).sum(axis=-1)


def sac_steps(episodes: Episodes) -> Steps:
    """SAC on the half-cheetah's sizes; every batch is drawn from a replay."""
    sac = Sac(CONFIG, CHEETAH.state_size, CHEETAH.action_size, SKILLS)
    replay = Replay.empty(episodes.lengths.size * HORIZON, CHEETAH, SKILLS).add(episodes, jnp.eye(SKILLS))

    @jax.jit
    def train(state, replay):
        def step(i, state):
            draw_key, learn_key = jax.random.split(jax.random.fold_in(jax.random.key(1), i))
            _, drawn = replay.draw(CONFIG.batch_size, draw_key)
            batch = Experience(drawn.s, drawn.a, drawn.z, rewards(drawn.a), drawn.next_s, drawn.terminal)
            return sac.update(state, batch, learn_key)[0]

        return jax.lax.fori_loop(0, STEPS, step, state)

    return Steps(train, (sac.init(jax.random.key(0)), replay))


def measure_steps() -> Steps:
    """LEADS's measure on maze-hard, as shipped, from an epoch of episodes."""
    task, config = make_task("maze-hard"), LeadsConfig()
    method = Leads(config, task)
    state = method.init(jax.random.key(0))
    act = jax.tree_util.Partial(method.act, state)
    episodes = rollout(task, act, config.n_skill, config.n_episode, "pink", jax.random.key(1))

    @jax.jit
    def fit(state, episodes):
        step = lambda state, key: method.measure_steps(state, episodes, DRAWN_TOGETHER, True, key)
        return jax.lax.scan(step, state, jax.random.split(jax.random.key(2), STEPS // DRAWN_TOGETHER))

    return Steps(fit, (state, episodes))
