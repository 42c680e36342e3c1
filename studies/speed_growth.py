"""What an epoch of LEADS in a maze costs late in a run, and with many skills (part of `make bench`)."""

import statistics
import time

import jax
from measured import rounds, spread, write_part

from leads.config.fields import build
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.rollouts.on_device import rollout
from leads.tasks import make_task

TASK = make_task("maze-hard")
SKILLS = (6, 12, 24, 48)
ROUNDS = 3
EARLY, LATE = range(5, 10), range(100, 105)
"""Epochs that are compared."""


def make(**options):
    """(first state, an epoch: collecting and learning, compiled)."""
    method = Leads(build(LeadsConfig, options), TASK)
    c = method.config

    @jax.jit
    def epoch(state, key):
        collect, learn = jax.random.split(key)
        episodes = rollout(TASK, jax.tree_util.Partial(method.explore, state), c.n_skill, c.n_episode, c.noise, collect)
        return method.update(state, episodes, learn)[0]

    return method.init(jax.random.key(0)), epoch


def with_skills() -> dict[str, dict[str, float]]:
    """CPU time of an epoch against that with the fewest skills; networks are of one size for all."""
    made = {str(n): make(n_skill=n, skill_size=max(SKILLS)) for n in SKILLS}
    programs = {
        n: lambda state=state, epoch=epoch: epoch(state, jax.random.key(1)) for n, (state, epoch) in made.items()
    }
    times = rounds(programs, count=ROUNDS)
    return {f"{n}_skills_over_{SKILLS[0]}": spread(times[n], times[str(SKILLS[0])]) for n in list(made)[1:]}


def with_epochs() -> dict[str, float]:
    """CPU time of late epochs against early ones, with few gradient steps so that nothing hides what might grow."""
    state, epoch = make(measure_steps=16, policy_steps=8)
    times = []
    for number in range(LATE.stop):
        begin = time.process_time()
        state = jax.block_until_ready(epoch(state, jax.random.key(number)))
        times.append(time.process_time() - begin)
    early, late = (statistics.median(times[i] for i in epochs) for epochs in (EARLY, LATE))
    return {"epoch_100_over_5": late / early}


if __name__ == "__main__":
    write_part("growth", with_skills() | with_epochs())
