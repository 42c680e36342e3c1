"""The benchmark: what it does in which order, and that no failure, kill -9 or second start changes how it ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import leads
from leads.benchmark import benchmark as module
from leads.benchmark.benchmark import TRIES, benchmark
from leads.benchmark.job import Job, add_to_log
from leads.benchmark.standing import standing
from leads.benchmark.suites import load
from leads.cli import main
from leads.training import checkpoint
from leads.training.run import Run


def suite(path: Path, seeds: list[int], samples: int, more: str = "") -> str:
    """A file with runs that cost next to nothing."""
    text = f'[[runs]]\nmethods = ["random"]\ntasks = ["maze-u"]\nseeds = {seeds}\nsamples = {samples}\n'
    path.write_text(f"{text}options = {{ n_episode = 1 }}\n{more}")
    return str(path)


def train(out: Path, seed: int, samples: int) -> Path:
    """The same run without a benchmark."""
    return leads.train("maze-u", "random", seed, samples, out, n_episode=1)


def arrays(run: Path) -> dict[str, bytes]:
    newest = checkpoint.epochs(run / "checkpoints")[-1]
    with np.load(run / "checkpoints" / f"epoch-{newest:06d}.npz") as file:
        return {name: file[name].tobytes() for name in file.files}


def assert_same_end(one: Path, other: Path) -> None:
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    assert arrays(one) == arrays(other)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class Pretended:
    """An engine that does nothing; jobs end after as many samples as `script` says, try by try, and then are done."""

    def __init__(self, out: Path, script: dict[str, list[int]]):
        self.out, self.script, self.running, self.begun = out, script, [], []

    def has_room(self) -> bool:
        return not self.running

    def begin(self, job: Job) -> None:
        self.running.append(job)
        self.begun.append(job.name)

    def ended(self, seconds: float) -> list[tuple[Job, str]]:
        job = self.running.pop()
        directory = job.directory(self.out)
        run = Run(directory) if directory.exists() else Run.create(directory, job.config)
        samples = (self.script.get(job.name) or [job.config.samples]).pop(0)
        run.append("metrics.jsonl", {"samples": samples, "coverage": 1.0})
        if samples == job.config.samples:
            run.write_summary({"samples": samples, "cpu_seconds": 1e-5 * samples})
            return [(job, "")]
        return [(job, "it stumbled")]


def test_the_longest_is_begun_first_as_finished_runs_tell_the_cost(tmp_path):
    block = '[[runs]]\nmethods = ["leads", "metra", "random"]\ntasks = ["maze-u"]\nseeds = [0, 1]\nsamples = 50_000\n'
    (tmp_path / "suite.toml").write_text(block)
    jobs = load(str(tmp_path / "suite.toml"))
    engine = Pretended(tmp_path, {})
    module._do(jobs, tmp_path, engine, lambda standings, costs: None)
    names = [f"maze-u/{name}" for name in ("leads/seed-0", "metra/seed-0", "random/seed-0")]
    assert engine.begun[:3] == names, "one of each, for leads and metra turn out to be cheaper than guessed"
    assert sorted(engine.begun) == sorted(job.name for job in jobs)


def test_what_fails_is_tried_again_as_long_as_it_gets_further_and_then_reported(tmp_path):
    jobs = load(suite(tmp_path / "suite.toml", [0, 1, 2], 1000))
    names = [job.name for job in jobs]
    steady, stuck = [100 * n for n in range(1, 8)], [300] * TRIES
    engine = Pretended(tmp_path, {names[0]: [*steady, 1000], names[1]: stuck})
    ends = module._do(jobs, tmp_path, engine, lambda standings, costs: None)
    assert [(end.state, end.reason) for end in ends] == [("done", ""), ("failed", "it stumbled"), ("done", "")]
    assert [engine.begun.count(name) for name in names] == [len(steady) + 1, TRIES, 1]


def test_a_run_that_cannot_be_begun_is_reported_and_the_others_are_done(tmp_path):
    file = suite(
        tmp_path / "suite.toml", [0], 2_000, "[[runs]]\nmethods = ['random']\ntasks = ['maze-easy']\nseeds = [0]"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "maze-easy").write_text("in the way")
    stood = {s.job.name: s for s in benchmark(file, tmp_path / "out")}
    assert stood["maze-u/random/seed-0"].state == "done"
    failed = stood["maze-easy/random/seed-0"]
    assert failed.state == "failed" and failed.reason.startswith("it cannot begin: ")


def test_a_run_whose_process_is_killed_goes_on_from_its_checkpoint(tmp_path, capsys):
    samples = 100_000  # so many that it cannot end between two reports
    file, out = suite(tmp_path / "suite.toml", [0], samples), tmp_path / "out"
    [job] = load(file)
    told = []

    def kill_once(standings, costs):
        told.extend(s.reason for s in standings if s.reason and s.reason not in told)
        if not told and checkpoint.epochs(job.directory(out) / "checkpoints"):
            for process in multiprocessing.active_children():
                process.kill()

    [end] = benchmark(file, out, report=kill_once)
    assert end.state == "done" and told == ["its process was ended by signal 9, Killed"]
    assert not job.log(out).exists()
    assert_same_end(job.directory(out), train(tmp_path / "alone", 0, samples))


@pytest.fixture
def two_tries(monkeypatch) -> None:
    """Every try is a process."""
    monkeypatch.setattr(module, "TRIES", 2)


def test_the_reason_of_an_exception_is_told_and_its_traceback_kept(two_tries, tmp_path, capsys):
    file, out = suite(tmp_path / "suite.toml", [0], 20_000), tmp_path / "out"
    [job] = load(file)
    add_to_log(job.directory(out), "an older failure")
    Run.create(job.directory(out), job.config)
    (job.directory(out) / "checkpoints").write_text("in the way")
    with pytest.raises(SystemExit) as stop:
        main(["benchmark", file, "--out", str(out)])
    [line] = capsys.readouterr().err.splitlines()
    assert stop.value.code == 1
    assert line.startswith(f"leads: {job.name} failed: FileExistsError: ") and line.endswith(f"; see {job.log(out)}")
    assert "Traceback" in job.log(out).read_text()


def test_a_benchmark_does_what_is_missing_and_nothing_else(two_tries, tmp_path, capsys):
    out = tmp_path / "out"
    ends = benchmark(suite(tmp_path / "one.toml", [0], 2_000), out, processes=2)
    assert [(end.state, end.job.name) for end in ends] == [("done", "maze-u/random/seed-0")]
    assert_same_end(out / "maze-u/random/seed-0", train(tmp_path / "alone", 0, 2_000))
    before = contents(out)

    (out / "maze-u/random/seed-2").mkdir()
    (out / "maze-u/random/seed-2/thesis.tex").write_text("precious")
    more = suite(tmp_path / "more.toml", [0, 1, 2], 2_000)
    with pytest.raises(SystemExit) as stop:
        main(["benchmark", more, "--out", str(out)])
    shown = capsys.readouterr()
    assert stop.value.code == 1 and shown.err.count("\n") == 1
    assert "maze-u/random/seed-2 failed" in shown.err and "not empty" in shown.err
    assert shown.out.count("will be retried") == 1 and "1 failed" in shown.out
    assert contents(out / "maze-u/random/seed-2") == {str(out / "maze-u/random/seed-2/thesis.tex"): b"precious"}
    after = contents(out)
    assert {name: after[name] for name in before} == before, "a finished run is left alone"
    assert [standing(job, out).state for job in load(more)] == ["done", "done", "waiting"]

    (out / "maze-u/random/seed-2/thesis.tex").unlink()
    main(["benchmark", suite(tmp_path / "longer.toml", [0, 2], 4_000), "--out", str(out), "--processes", "1"])
    assert "2 runs in" in capsys.readouterr().out
    assert_same_end(out / "maze-u/random/seed-0", train(tmp_path / "longer", 0, 4_000))


def test_a_run_that_the_suite_does_not_mean_is_refused_and_left_alone(tmp_path):
    train(tmp_path / "out/maze-u/random/seed-0", 0, 500)
    before = contents(tmp_path / "out")
    other = tmp_path / "other.toml"
    for change, word in (
        ("n_episode = 2", "n_episode 1, .* says 2"),
        ("on_wall = 'stop'", "on_wall terminate, .* stop"),
    ):
        text = '[[runs]]\nmethods = ["random"]\ntasks = ["maze-u"]\nseeds = [1, 0]\nsamples = 500\n'
        other.write_text(f"{text}options = {{ {change} }}")
        with pytest.raises(leads.UserError, match=word):
            benchmark(str(other), tmp_path / "out")
    with pytest.raises(leads.UserError, match="has 500 samples, but the suite says 400"):
        benchmark(suite(other, [0], 400), tmp_path / "out")
    assert contents(tmp_path / "out") == before


MINE = """
import jax.numpy as jnp

from leads import Metric, make_task
from leads.methods.random import Random


class Waves(Random):
    title = "waves"


def lake():
    return make_task("maze-u")


cells = Metric("cells", "cells visited", of_skills=False, compute=lambda e: jnp.sum(e.visited))
"""


@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_methods_tasks_and_metrics_of_the_current_directory_are_found_by_workers(engine, tmp_path):
    if engine == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'leads[ray]'")
    (tmp_path / "mine_elsewhere.py").write_text(MINE)
    (tmp_path / "suite.toml").write_text("""
        [[runs]]
        methods = ["mine_elsewhere:Waves"]
        tasks = ["mine_elsewhere:lake"]
        seeds = [0]
        samples = 2_000
        metrics = ["mine_elsewhere:cells"]
        options = { n_episode = 1 }
    """)
    command = Path(sys.executable).with_name("leads")  # unlike `python -m`, it does not find the current directory
    for _ in range(2):
        done = subprocess.run(
            [command, "benchmark", "suite.toml", "--engine", engine], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0 and done.stderr == "", done
    run = tmp_path / "runs/suite/lake/Waves/seed-0"
    alone = train(tmp_path / "alone", 0, 2_000)
    assert arrays(run) == arrays(alone)
    assert all(line["cells"] == line["coverage"] for line in Run(run).metrics()), "of 100 cells"


def test_options_that_cannot_be(tmp_path):
    file = suite(tmp_path / "suite.toml", [0], 500)
    for options, word in (
        ({"processes": 0}, "processes: 0"),
        ({"checkpoint_every": 0}, "checkpoint_every: 0"),
        ({"address": "auto"}, "address: is an option of the engine ray"),
        ({"engine": "ray", "processes": 2}, "processes: is an option of the engine local"),
    ):
        with pytest.raises(leads.UserError, match=word):
            benchmark(file, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_engine_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(leads.UserError, match=r"engine: ray is not installed; install leads\[ray\]"):
        benchmark(suite(tmp_path / "suite.toml", [0], 500), tmp_path / "out", engine="ray")


def test_a_summary_that_is_none_is_named(tmp_path):
    file = suite(tmp_path / "suite.toml", [0], 500)
    run = train(tmp_path / "out/maze-u/random/seed-0", 0, 500)
    for text in ("{", "{}", "[]", "null", '{"samples": 0, "cpu_seconds": 1}', '{"samples": "many", "cpu_seconds": 1}'):
        (run / "summary.json").write_text(text)
        with pytest.raises(leads.UserError, match=r"summary\.json cannot be used"):
            benchmark(file, tmp_path / "out")


def test_two_benchmarks_in_one_directory_are_refused(tmp_path):
    with Run(tmp_path).lock(), pytest.raises(leads.UserError, match="in use by another process"):
        benchmark(suite(tmp_path / "suite.toml", [0], 500), tmp_path)


def test_kill_9_and_a_second_start_lose_no_finished_run_and_repeat_nothing_before_a_checkpoint(tmp_path):
    out, samples = tmp_path / "out", 20_000
    file = suite(tmp_path / "suite.toml", [0, 1], samples)
    command = [sys.executable, "-m", "leads", "benchmark", file, "--out", str(out), "--processes", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    finished, cut = out / "maze-u/random/seed-0", out / "maze-u/random/seed-1"
    while not checkpoint.epochs(cut / "checkpoints"):
        assert process.poll() is None, "the benchmark ended before it could be killed"
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(600):
        if not _is_in_use(cut):
            break
        time.sleep(0.1)
    assert not (cut / "summary.json").exists()
    before, epoch = contents(finished), checkpoint.epochs(cut / "checkpoints")[-1]
    times = (cut / "timing.jsonl").read_text().splitlines()[:epoch]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(finished) == before
    assert (cut / "timing.jsonl").read_text().splitlines()[:epoch] == times, "an epoch was done twice"
    assert "seed-1: continues" in done.stdout and "seed-0" not in done.stdout
    assert_same_end(cut, train(tmp_path / "alone", 1, samples))


def _is_in_use(run: Path) -> bool:
    """By what is left of a benchmark that was killed."""
    try:
        with Run(run).lock():
            return False
    except leads.UserError:
        return True


def test_ctrl_c_stops_all_runs_and_says_how_to_go_on(tmp_path):
    file = suite(tmp_path / "suite.toml", [0], 2_000_000)
    command = [sys.executable, "-m", "leads", "benchmark", file, "--out", str(tmp_path / "out")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None and any("begins" in line for line in process.stdout)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate()
    assert process.returncode == 130 and "run the same command again" in errors
    assert all(line.startswith("leads: ") for line in errors.splitlines()), errors
    assert not load(file)[0].has_log(tmp_path / "out"), "the run saw it too"
    for _ in range(100):
        if not _is_alive(process.pid):
            return
        time.sleep(0.1)
    pytest.fail("something of it is still running")


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
