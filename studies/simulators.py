"""Simulator steps per CPU second beside the packaged environments', in one run (`make bench`)."""

import time
from typing import Any

import gymnasium
import jax
import numpy as np
from measured import Program, seconds, write_numbers

from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.rollouts import on_host
from leads.tasks import make_task

ENVIRONMENTS = 8
"""Stepped together, ours one after the other and the packaged ones in a SyncVectorEnv."""
STEPS = 50
PACKAGED = {"fetch-reach": "FetchReach-v4", "fetch-slide": "FetchSlide-v4", "hand": "HandReach-v3"}


def ours(name: str) -> Program:
    """An episode of several environments, as the collector steps them."""
    task = make_task(name)
    return _one_after_the_other([task.make() for _ in range(ENVIRONMENTS)], task.action_size)


def in_a_vector(identifier: str, action_size: int) -> Program:
    """The same of packaged environments in Gymnasium's vector."""
    vector = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(identifier)] * ENVIRONMENTS)
    actions = _actions(action_size)

    def play() -> None:
        vector.reset(seed=0)
        for step in actions:
            vector.step(step)

    return play


def by_dm_control() -> Program:
    """The same of dm_control's finger."""
    from dm_control import suite  # here, as leads prepares it for machines without a screen

    return _one_after_the_other([suite.load("finger", "turn_hard") for _ in range(ENVIRONMENTS)], 2)


def _one_after_the_other(environments: list[Any], action_size: int) -> Program:
    actions = _actions(action_size)

    def play() -> None:
        for environment in environments:
            environment.reset()
        for step in actions:
            for environment, action in zip(environments, step, strict=True):
                environment.step(action)

    return play


def _actions(size: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (STEPS, ENVIRONMENTS, size)).astype(np.float32)


def rates(name: str, packaged: Program) -> dict[str, float]:
    taken = seconds({"ours": ours(name), "packaged": packaged})
    steps = ENVIRONMENTS * STEPS
    return {
        f"{name} steps_per_second": steps / taken["ours"],
        f"{name} packaged_steps_per_second": steps / taken["packaged"],
        f"{name} ratio": taken["packaged"] / taken["ours"],
    }


def threads(name: str) -> dict[str, float]:
    """Wall time of collecting with one thread against two, policy included; needs two free cores to mean anything."""
    task = make_task(name)
    method = Leads(LeadsConfig(), task)
    act = jax.tree_util.Partial(method.explore, method.init(jax.random.key(0)))
    environments = [task.make() for _ in range(6 * 4)]
    collect = lambda n: on_host.rollout(task, act, 6, 4, "pink", jax.random.key(1), environments, n)
    taken = seconds({"one": lambda: collect(1), "two": lambda: collect(2)}, time.monotonic)
    return {f"{name} two_threads_speed_up": taken["one"] / taken["two"]}


def main() -> None:
    import gymnasium_robotics  # here, for the same reason

    gymnasium.register_envs(gymnasium_robotics)
    results = {}
    for name, identifier in PACKAGED.items():
        results |= rates(name, in_a_vector(identifier, make_task(name).action_size))
    results |= rates("finger", by_dm_control())
    for name in ("fetch-slide", "hand", "finger", "half-cheetah-paper"):
        results |= threads(name)
    write_numbers("simulators", results, 2)


if __name__ == "__main__":
    main()
