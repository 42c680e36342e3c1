"""How fast it is, on one core, in CPU time, as ratios measured side by side in one run (`make bench`)."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
from measured import seconds, write_numbers

from leads.config.fields import build
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.rollouts.on_device import rollout
from leads.tasks import make_task
from leads.training.run import Run

TASK = make_task("maze-hard")
CONFIG = LeadsConfig()
STEPS = 64
"""Gradient steps or passes timed at once."""


def matrix_products() -> list[tuple[int, int, int]]:
    """(m, k, n) of every matrix product in one on-policy step of the factorised measure."""
    rows, state, action = CONFIG.measure_batch_size, TASK.state_size, TASK.action_size
    measure, actor_hidden = CONFIG.measure.config, CONFIG.improve.config.actor_hidden
    pairs = (rows, measure.measure_embedding, rows)

    def layers(n: int, sizes: tuple[int, ...], backward: bool) -> list[tuple[int, int, int]]:
        forward = [(n, i, o) for i, o in pairwise(sizes)]
        weights, inputs = [(i, n, o) for _, i, o in forward], [(n, o, i) for _, i, o in forward[1:]]
        return forward + weights + inputs if backward else forward

    phi = (state + action + CONFIG.skill_size, *measure.measure_hidden, measure.measure_embedding)
    psi = (state, *measure.measure_hidden, measure.measure_embedding)
    actor = (state + CONFIG.skill_size, *actor_hidden, 2 * action)
    learnt = layers(rows, phi, True) + layers(3 * rows, psi, True) + [pairs] * 3
    bootstrap = layers(rows, actor, False) + layers(rows, phi, False) + layers(rows, psi, False) + [pairs]
    return learnt + bootstrap


def measure_against_products() -> dict[str, float]:
    """A gradient step of the measure beside a loop that only multiplies matrices of the same shapes."""
    method = Leads(CONFIG, TASK)
    state = method.init(jax.random.key(0))
    act = jax.tree_util.Partial(method.act, state)
    episodes = rollout(TASK, act, CONFIG.n_skill, CONFIG.n_episode, "pink", jax.random.key(1))
    keys = jax.random.split(jax.random.key(2), STEPS)
    products, random = matrix_products(), lambda seed, *shape: jax.random.normal(jax.random.key(seed), shape)
    operands = [(random(i, m, k), random(-i, k, n)) for i, (m, k, n) in enumerate(products)]

    @jax.jit
    def fit(state, episodes):
        return jax.lax.scan(lambda s, key: method.measure_step(s, episodes, True, key), state, keys)

    @jax.jit
    def multiply(operands):
        def once(carry, _):
            for a, b in operands:
                carry = 1e-9 * jnp.max((a + carry) @ b)  # each waits for the one before, so none is left out
            return carry, None

        return jax.lax.scan(once, jnp.float32(0), length=STEPS)

    taken = seconds({"fit": lambda: fit(state, episodes), "multiply": lambda: multiply(operands)})
    flops = 2 * sum(m * k * n for m, k, n in products)
    return {
        "measure_step_ms": 1e3 * taken["fit"] / STEPS,
        "products_of_same_shapes_ms": 1e3 * taken["multiply"] / STEPS,
        "share_of_peak": taken["multiply"] / taken["fit"],
        "products_gflops": flops * STEPS / taken["multiply"] / 1e9,
    }


def maze_steps() -> dict[str, float]:
    """Environment steps per CPU second with random actions, and with the policy acting."""
    n_episode = 64
    method = Leads(CONFIG, TASK)
    state = method.init(jax.random.key(0))
    stop = make_task("maze-hard", on_wall="stop")
    ends = lambda act, key: rollout(stop, act, 6, n_episode, "white", key).states[:, :, -1]
    bare = jax.jit(lambda key: ends(lambda s, z, noise: jnp.tanh(noise), key))
    acting = jax.jit(lambda state, key: ends(jax.tree_util.Partial(method.act, state), key))
    key, steps = jax.random.key(0), 6 * n_episode * stop.horizon
    taken = seconds({"bare": lambda: bare(key), "acting": lambda: acting(state, key)})
    return {"maze_steps_per_second": steps / taken["bare"], "with_policy_per_second": steps / taken["acting"]}


def to_90_percent() -> dict[str, float]:
    """Samples and CPU seconds (from the process's start) to 90 % of maze-hard with walls that stop; compiled before."""
    options = ["--on-wall", "stop", "--n-episode", "4", "--checkpoint-every", "1000", "--no-figures"]
    with tempfile.TemporaryDirectory() as scratch:
        for name, samples in (("warm-up", "1"), ("run", "60000")):
            out, before = Path(scratch) / name, resource.getrusage(resource.RUSAGE_CHILDREN)
            train = [sys.executable, "-m", "leads", "train", *options, "--samples", samples, "--out", str(out)]
            subprocess.run(train, check=True, stdout=subprocess.DEVNULL)
        run = Run.open(Path(scratch) / "run")
        metrics, timing = run.metrics(), run.read_lines("timing.jsonl")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    start = whole - timing[-1]["cpu_seconds"]  # importing, mostly
    first = next((i for i, line in enumerate(metrics) if line["coverage"] >= 90), None)
    if first is None:
        return {"samples_to_90": float("nan"), "cpu_seconds_to_90": float("nan")}
    return {
        "samples_to_90": metrics[first]["samples"],
        "cpu_seconds_to_90": start + timing[first]["cpu_seconds"],
        "peak_rss_mb": max(line["peak_rss_mb"] for line in timing),
    }


def late_against_early() -> dict[str, float]:
    """CPU time of epochs 100 to 104 against 5 to 9, with few gradient steps so that nothing hides what might grow."""
    method = Leads(build(LeadsConfig, {"measure_steps": 16, "policy_steps": 8}), TASK)
    state = method.init(jax.random.key(0))

    @jax.jit
    def epoch(state, key):
        collect, learn = jax.random.split(key)
        episodes = rollout(TASK, jax.tree_util.Partial(method.act, state), 6, CONFIG.n_episode, "pink", collect)
        return method.update(state, episodes, learn)[0]

    times = []
    for number in range(105):
        begin = time.process_time()
        state = jax.block_until_ready(epoch(state, jax.random.key(number)))
        times.append(time.process_time() - begin)
    early, late = statistics.median(times[5:10]), statistics.median(times[100:105])
    return {"epoch_5_seconds": early, "epoch_100_seconds": late, "epoch_100_over_5": late / early}


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results = {}
    for part in (measure_against_products, maze_steps, late_against_early, to_90_percent):
        print(f"{part.__name__}: {part.__doc__}", flush=True)
        results |= part()
    write_numbers("speed", results, 3)


if __name__ == "__main__":
    main()
