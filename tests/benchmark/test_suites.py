"""Suites: what is shipped, what a file means, and what is wrong with one."""

from collections import Counter

import pytest

import leads
from leads.benchmark.suites import SUITES, load
from leads.methods import METHODS


def test_the_papers_suite_is_all_methods_and_two_controls_on_six_tasks_with_five_seeds():
    jobs = load("paper")
    assert {job.config.method for job in jobs} == set(METHODS)
    runs = Counter((job.kind.split("/")[1], job.config.task) for job in jobs)
    assert len(runs) == 10 * 6 and set(runs.values()) == {5}
    assert {job.config.samples for job in jobs} == {1_000_000, 200_000, 100_000}
    assert {job.config.task_options["on_wall"] for job in jobs if job.config.task.startswith("maze")} == {"terminate"}


@pytest.mark.parametrize("suite", [suite for suite in SUITES if suite != "paper"])
def test_shipped_suites_can_be_used(suite):
    assert load(suite)


def test_a_file_means_every_combination(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("""
        [[runs]]
        methods = ["leads", "random"]
        tasks = ["maze-u"]
        seeds = [0, 3]
        samples = 500
        options = { n_episode = 2 }
        [runs.variants]
        pink = { noise = "pink" }
        white-few = { noise = "white", n_episode = 1 }

        [[runs]]
        methods = ["random"]
        tasks = ["gym:Pendulum-v1"]
        seeds = [0]
        options = { features = [0, 2], low = [-1, -8], high = [1, 8] }
    """)
    jobs = {job.name: job.config for job in load(str(file))}
    mazes = [f"maze-u/{m}-{v}/seed-{s}" for m in ("leads", "random") for v in ("pink", "white-few") for s in (0, 3)]
    assert list(jobs) == [*mazes, "Pendulum-v1/random/seed-0"]
    config = jobs["maze-u/leads-white-few/seed-3"].method_config
    assert (config.noise, config.n_episode) == ("white", 1)
    assert jobs["maze-u/random-pink/seed-0"].method_config.n_episode == 2
    assert jobs["maze-u/random-pink/seed-0"].samples == 500
    assert jobs["Pendulum-v1/random/seed-0"].task_options["features"] == [0, 2]


GOOD = 'methods = ["random"]\ntasks = ["maze-u"]\nseeds = [0]\n'
BAD = {
    "not TOML": ("[[runs", "not TOML"),
    "no runs": ("", "made of"),
    "something else": (f"title = 'mine'\n[[runs]]\n{GOOD}", "made of"),
    "runs of another kind": ("runs = [1]", "made of"),
    "a number for a list": (
        "[[runs]]\nmethods = 3\ntasks = ['maze-u']\nseeds = [0]",
        "methods: 3 is not a list of names",
    ),
    "a maze of another kind": (f"[[runs]]\n{GOOD}options = {{ maze = {{ foo = 1 }} }}", "maze"),
    "no seeds": ("[[runs]]\nmethods = ['random']\ntasks = ['maze-u']", "seeds: is missing"),
    "unknown method": ("[[runs]]\nmethods = ['magic']\ntasks = ['maze-u']\nseeds = [0]", "magic"),
    "unknown task": ("[[runs]]\nmethods = ['random']\ntasks = ['moon']\nseeds = [0]", "moon"),
    "a word for a list": ("[[runs]]\nmethods = 'random'\ntasks = ['maze-u']\nseeds = [0]", "methods: 'random'"),
    "unknown key": (f"[[runs]]\n{GOOD}colour = 1", "colour: unknown"),
    "option of another method": (f"[[runs]]\n{GOOD}options = {{ entropy = 1 }}", "entropy: unknown"),
    "value": (f"[[runs]]\n{GOOD}options = {{ noise = 'blue' }}", "blue"),
    "samples": (f"[[runs]]\n{GOOD}samples = 0", "samples: 0"),
    "metric": (f"[[runs]]\n{GOOD}metrics = ['nowhere:depth']", "metrics: nowhere:depth cannot be imported"),
    "a word for metrics": (f"[[runs]]\n{GOOD}metrics = 'a:b'", "metrics: 'a:b' is not a list of names"),
    "method from nowhere": (
        "[[runs]]\nmethods = ['nowhere:Mine']\ntasks = ['maze-u']\nseeds = [0]",
        "method: nowhere:Mine cannot be imported",
    ),
    "seed": ("[[runs]]\nmethods = ['random']\ntasks = ['maze-u']\nseeds = [-1]", "seed: -1"),
    "variant without options": (f"[[runs]]\n{GOOD}variants = {{ pink = 'pink' }}", "variants: 'pink'"),
    "variant that is no name": (f"[[runs]]\n{GOOD}variants = {{ '../x' = {{}} }}", "variants: '../x'"),
    "twice": (f"[[runs]]\n{GOOD}[[runs]]\n{GOOD}", "maze-u/random/seed-0 occurs twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_suite_is_said_in_one_line(case, tmp_path):
    text, word = BAD[case]
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(leads.UserError, match=r"mine\.toml cannot be used: ") as error:
        load(str(file))
    assert word in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_suite_is_named_with_those_that_are_known():
    with pytest.raises(leads.UserError, match=r"suite: big cannot be used: .* quick, paper"):
        load("big")
