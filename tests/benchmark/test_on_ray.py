"""The benchmark on a Ray cluster of several nodes, simulated on this machine, of which one is lost."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leads
from leads.benchmark.benchmark import benchmark
from leads.benchmark.on_ray import Shelf, read
from leads.benchmark.suites import load
from leads.training import checkpoint
from leads.training.run import Run

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed: pip install 'leads[ray]'")

pytestmark = pytest.mark.filterwarnings("ignore:os.fork")  # Ray starts its processes by it, with JAX in this one

SMALL = {"object_store_memory": 100 * 1024**2}


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without cores and two nodes of one core each."""
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **SMALL}
    )
    try:
        cluster.lost = cluster.add_node(num_cpus=1, **SMALL)
        cluster.add_node(num_cpus=1, **SMALL)
        yield cluster
    finally:
        cluster.shutdown()


def suite(path: Path, samples: int) -> str:
    path.write_text(f"""
        [[runs]]
        methods = ["random"]
        tasks = ["maze-u"]
        seeds = [0, 1, 2]
        samples = {samples}
        options = {{ n_episode = 1 }}
    """)
    return str(path)


def files_of(directory: Path) -> dict[str, bytes]:
    """All there is in a run directory."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_runs_on_a_lost_node_go_on_elsewhere_and_all_end_as_on_one_machine(cluster, tmp_path):
    file, out, local = suite(tmp_path / "suite.toml", 150_000), tmp_path / "ray", tmp_path / "local"
    command = [sys.executable, "-m", "leads", "benchmark", file, "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--engine", "ray", "--address", cluster.address], stdout=subprocess.PIPE, text=True
    )
    first = [job.directory(out) for job in load(file)[:2]]
    while not all(max(checkpoint.epochs(run / "checkpoints"), default=0) >= 10 for run in first):
        assert process.poll() is None, "the benchmark ended before a node could be lost"
        time.sleep(0.02)
    cluster.remove_node(cluster.lost, allow_graceful=False)
    begun = {run: (run / "timing.jsonl").read_text().splitlines()[:10] for run in first}
    shown, _ = process.communicate()
    assert process.returncode == 0, shown
    assert shown.count("will be retried: its worker was lost") == 1 and shown.count("continues") == 1
    assert all((run / "timing.jsonl").read_text().splitlines()[:10] == lines for run, lines in begun.items())
    benchmark(file, local, processes=2)
    for job in load(file):
        ours, theirs = files_of(job.directory(out)), files_of(job.directory(local))
        assert set(ours) == set(theirs)
        for name in ours:
            if name in ("metrics.jsonl", "skills.jsonl") or name.startswith("checkpoints"):
                assert ours[name] == theirs[name], name


def test_what_a_worker_sends_late_is_not_taken(random_run, tmp_path):
    [job, *_] = load(suite(tmp_path / "suite.toml", 4_000))
    shelf, files, out = Shelf(), read(random_run), job.directory(tmp_path)
    newest = checkpoint.epochs(random_run / "checkpoints")[-1]
    shelf.put(out, newest, files, set(files))
    assert shelf.get(out) == files
    older = {name: b"older" for name in files}
    shelf.put(out, newest - 1, older, set(older))
    assert shelf.get(out) == files
    kept = {name for name in files if name != "summary.json"}
    shelf.put(out, newest, {}, kept)
    assert set(shelf.get(out)) == kept
    with Run(out).lock(), pytest.raises(leads.UserError, match="in use"):
        shelf.put(out, newest, files, set(files))


def test_a_damaged_checkpoint_is_named_and_does_not_stand_in_the_way_of_a_worker(tmp_path):
    [job, *_] = load(suite(tmp_path / "suite.toml", 4_000))
    shelf, out = Shelf(), job.directory(tmp_path)
    run = Run(out)
    leads.train("maze-u", "random", 0, 4_000, run.directory, checkpoint_every=2, n_episode=1)
    older, newest = checkpoint.epochs(run.checkpoints)
    (run.checkpoints / f"epoch-{newest:06d}.npz").write_bytes(b"")
    left = shelf.get(out)
    assert checkpoint.epochs(run.checkpoints) == [older] and f"checkpoints/epoch-{newest:06d}.npz" not in left
    assert f"epoch-{newest:06d}.npz is damaged" in job.log(tmp_path).read_text()
    shelf.put(out, older, {"metrics.jsonl": b"from the one before"}, set(left))
    assert shelf.get(out)["metrics.jsonl"] == b"from the one before"


def test_a_directory_with_something_else_in_it_is_refused(tmp_path):
    [job, *_] = load(suite(tmp_path / "suite.toml", 4_000))
    out = job.directory(tmp_path)
    out.mkdir(parents=True)
    assert Shelf().get(out) == {}
    (out / "thesis.tex").write_text("precious")
    with pytest.raises(leads.UserError, match="not empty"):
        Shelf().get(out)


def test_what_fails_on_a_node_is_told_with_its_reason(tmp_path):
    file, out = suite(tmp_path / "suite.toml", 4_000), tmp_path / "out"
    damaged, *others = load(file)
    damaged.directory(out).mkdir(parents=True)
    Run.create(damaged.directory(out), damaged.config).append("metrics.jsonl", {"epoch": 1})
    (damaged.directory(out) / "skills.jsonl").write_text("{\n{\n")
    ends = {end.job.name: end for end in benchmark(file, out, engine="ray")}
    assert ends[damaged.name].state == "failed" and ends[damaged.name].reason.endswith("damaged: line 1 cannot be read")
    assert "Traceback" in damaged.log(out).read_text() or "ray::" in damaged.log(out).read_text()
    assert all(ends[job.name].state == "done" for job in others)


@pytest.mark.parametrize("address", ["ray://head:10001", "127.0.0.1:1", "head", "auto"])
def test_an_address_that_cannot_be_used(address, tmp_path):
    with pytest.raises(leads.UserError, match=f"address: {address} cannot be used"):
        benchmark(suite(tmp_path / "suite.toml", 500), tmp_path / "out", engine="ray", address=address)
