"""The tables of docs/speed.md: heads and rows, from results/speed.json and results/simulators.json."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from collect import RESULTS

Rows = tuple[list[str], list[list[str]]]
"""Titles of columns, and texts of cells."""


@cache
def found(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def ratio(of: dict[str, float]) -> str:
    """The median of the rounds, and their range."""
    return f"{of['median']:.2f} ({of['least']:.2f} to {of['most']:.2f})"


def peers() -> Rows:
    of = found("speed")["peers"]
    body = [["leads", "JAX", f"{of['ours_ms']:.2f}", "1"]]
    for title, framework, name in (("SBX", "JAX", "sbx"), ("Stable-Baselines3", "PyTorch", "stable_baselines3")):
        body.append([title, framework, f"{of[f'{name}_ms']:.2f}", ratio(of[f"{name}_over_ours"])])
    return ["library", "written in", "CPU ms per step", "against ours"], body


def old_version() -> Rows:
    of = found("speed")["versions"]
    titles = {
        "metra half-cheetah-paper": "METRA on half-cheetah-paper",
        "leads maze-hard": "LEADS on maze-hard, as shipped",
        "leads maze-hard, same steps": "LEADS on maze-hard, the same gradient steps",
        "leads fetch-slide": "LEADS on fetch-slide, as shipped",
    }
    body = []
    for name, title in titles.items():
        run = of[name]
        epochs = [ratio(run[part]) for part in ("seconds_new_over_old", "learning_seconds_new_over_old")]
        body.append([title, *epochs, f"{run['per_sample_new_over_old']:.2f}"])
    return ["new over old", "an epoch", "learning alone", "a sample"], body


def peak() -> Rows:
    of = found("speed")["peak"]
    body = []
    for title, name in (("LEADS's measure, maze-hard", "measure"), ("SAC, half-cheetah", "sac")):
        step = of[name]
        numbers = [f"{step['products_in_a_step']:.0f}", f"{step['products_mflop']:.0f}"]
        numbers += [f"{step[part]:.2f}" for part in ("products_ms", "step_ms", "share_of_peak")]
        body.append([title, *numbers])
    return [
        "gradient step",
        "products",
        "MFLOP in them",
        "CPU ms of products alone",
        "CPU ms of the step",
        "share",
    ], body


def machine() -> Rows:
    of = found("speed")["peak"]["gflops"]
    body = [[f"{n} x {n} x {n}", f"{of[f'numpy_{n}']:.0f}", f"{of[f'xla_{n}']:.0f}"] for n in (2048, 256)]
    return ["matrix product", "NumPy (OpenBLAS), GFLOP/s", "XLA, GFLOP/s"], body


def growth() -> Rows:
    of = found("speed")["growth"]
    body = [[f"{n} skills against 6", ratio(of[f"{n}_skills_over_6"])] for n in (12, 24, 48)]
    return ["an epoch of LEADS on maze-hard", "CPU time"], [
        *body,
        ["epoch 100 against epoch 5", f"{of['epoch_100_over_5']:.2f}"],
    ]


def reach() -> Rows:
    of = found("speed")["reach"]
    shown = lambda value: "not reached" if value is None else f"{value:,.0f}"
    body = [
        [name, *(shown(of[name][part]) for part in ("samples", "cpu_seconds"))]
        for name in ("as shipped", "walls that stop")
    ]
    return ["maze-hard", "samples to 90 %", "CPU seconds to 90 %"], body


def checkpoints() -> Rows:
    of = found("speed")["files"]
    body = []
    for title, name in (("LEADS", "leads"), ("METRA, with 300,000 transitions", "metra")):
        saved = of[f"checkpoint {name}"]
        times = [f"{1e3 * saved[f'{what}_cpu_seconds']:.0f}" for what in ("save", "restore")]
        body.append([title, f"{saved['megabytes']:.1f}", *times])
    return ["method, in a maze", "MB", "CPU ms to save", "CPU ms to restore"], body


def reports() -> Rows:
    of = found("speed")["files"]
    chosen = [(f"{n}", of[f"report of {n} runs"]) for n in (50, 200)]
    return ["runs", "CPU seconds", "MB at most"], [
        [n, f"{cost['cpu_seconds']:.1f}", f"{cost['peak_rss_mb']:.0f}"] for n, cost in chosen
    ]


def simulators() -> Rows:
    of = found("simulators")
    packaged = {"fetch-reach": "Gymnasium-Robotics", "fetch-slide": "Gymnasium-Robotics", "hand": "Gymnasium-Robotics"}
    packaged |= {"finger": "dm_control"}
    body = [[task, other, f"{of[f'{task} ratio']:.2f}"] for task, other in packaged.items()]
    return ["task", "against", "steps per CPU second, ours over theirs"], body


def measured_on() -> Rows:
    of = found("speed")
    return ["part", "commit", "processor", "JAX"], [
        [part, numbers["commit"], numbers["processor"], numbers["versions"]["jax"]] for part, numbers in of.items()
    ]


TABLES: dict[str, Callable[[], Rows]] = {
    "speed-peers": peers,
    "speed-versions": old_version,
    "speed-peak": peak,
    "speed-machine": machine,
    "speed-growth": growth,
    "speed-reach": reach,
    "speed-checkpoints": checkpoints,
    "speed-reports": reports,
    "speed-simulators": simulators,
    "speed-measured-on": measured_on,
}
