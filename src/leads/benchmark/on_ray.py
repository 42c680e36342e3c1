"""The cluster engine: one Ray task per run, as many at a time as the cluster has cores.

No file system has to be shared. A worker fetches what there is of its run from the driver's node, continues it in a
directory of its own and sends every checkpoint back; so a run on a lost node continues elsewhere from its last one.
Ray lets workers import from the driver's current directory; on a node that does not share it, modules with methods,
tasks or metrics of your own have to be installed.
"""

import logging
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from leads.benchmark.job import Job, add_to_log, work
from leads.compilation import ONE_THREAD
from leads.errors import UserError, in_a_line
from leads.training import checkpoint
from leads.training.run import LOGS, Run

Files = dict[str, bytes]
"""Path below the run directory -> content."""
CHANGING = ("config.json", *LOGS)
"""Files that are sent with every checkpoint."""


class OnRay:
    """Runs on the cluster at an address, or on one that is started here."""

    def __init__(self, out: Path, address: str | None, checkpoint_every: int):
        try:
            import ray
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        except ImportError as error:
            raise UserError("engine: ray is not installed; install leads[ray]") from error
        try:
            _try(address)
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except (OSError, ValueError, RuntimeError) as error:
            what = "engine: Ray cannot be started" if address is None else f"address: {address} cannot be used"
            raise UserError(f"{what} ({in_a_line(error)})") from error
        self.ray, self.out, self.checkpoint_every = ray, out, checkpoint_every
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        again = {"max_restarts": -1, "max_task_retries": -1}
        self.shelf = ray.remote(Shelf).options(num_cpus=0, scheduling_strategy=here, **again).remote()
        environment = {"env_vars": {name: os.environ[name] for name in ONE_THREAD}}
        self.work = ray.remote(num_cpus=1, max_retries=0, max_calls=1, runtime_env=environment)(remote_work)
        self.running: dict[Any, Job] = {}
        """By the Ray task."""

    def has_room(self) -> bool:
        return len(self.running) < self.ray.cluster_resources().get("CPU", 0)

    def begin(self, job: Job) -> None:
        task = self.work.remote(job.arguments, job.directory(self.out), self.checkpoint_every, self.shelf)
        self.running[task] = job

    def ended(self, seconds: float) -> list[tuple[Job, str]]:
        if not self.running:  # a cluster without cores, until a node joins
            time.sleep(seconds)
            return []
        tasks, _ = self.ray.wait(list(self.running), timeout=seconds)
        return [(job, self._reason(task, job)) for task in tasks if (job := self.running.pop(task))]

    def _reason(self, task: Any, job: Job) -> str:
        try:
            self.ray.get(task)
            return ""
        except self.ray.exceptions.RayTaskError as error:
            text, reason = str(error).strip(), in_a_line(error.cause)
        except self.ray.exceptions.RayError as error:
            text = f"its worker was lost: {str(error).strip()}"
            reason = text.split(". ")[0]
        add_to_log(job.directory(self.out), text)
        return reason

    def close(self) -> None:
        self.ray.shutdown()


def _try(address: str | None) -> None:
    """Fails at once where Ray would fail after minutes."""
    if address in (None, "auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not port.isdigit():
        raise UserError(f"address: {address} cannot be used; give HOST:PORT, on a node of the cluster")
    socket.create_connection((host, int(port)), timeout=10).close()


class Shelf:
    """The run directories on the driver's node, as workers everywhere see them."""

    def get(self, directory: Path) -> Files:
        """What there is of a run, without damaged checkpoints."""
        run = Run(directory)
        if directory.exists() and not (directory / "config.json").exists():
            run.refuse_if_used()
        for epoch, wrong in checkpoint.damaged(run.checkpoints).items():
            add_to_log(directory, f"{wrong}; it is removed")
            checkpoint.remove(run.checkpoints, epoch)
        return read(directory)

    def put(self, directory: Path, epoch: int, files: Files, names: set[str]) -> None:
        """Makes a run what it was elsewhere at a checkpoint: `files` are those that are new, `names` those of all."""
        run = Run(directory)
        directory.mkdir(parents=True, exist_ok=True)
        with run.lock():
            if max(checkpoint.epochs(run.checkpoints), default=0) > epoch:
                return  # from a worker that was thought lost
            if "summary.json" not in names:
                run.forget_end()
            for path in sorted(run.checkpoints.glob("*")):
                if str(path.relative_to(directory)) not in names:
                    path.unlink(missing_ok=True)
            write(directory, files)


def read(directory: Path) -> Files:
    """A run's files in the order in which it writes them: first the logs, and arrays before their manifest."""
    patterns = (*CHANGING, "checkpoints/*.npz", "checkpoints/*.json", "summary.json")
    paths = [path for pattern in patterns for path in sorted(directory.glob(pattern))]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def write(directory: Path, files: Files) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write_whole(directory / name, content)


def remote_work(arguments: dict[str, Any], home: Path, checkpoint_every: int, shelf: Any) -> None:
    """A run on a node of the cluster; `home` is its directory on the driver's."""
    import ray

    sent: set[str] = set()

    def send(epoch: int) -> None:
        files = read(directory)
        new = {name: content for name, content in files.items() if name in CHANGING or name not in sent}
        ray.get(shelf.put.remote(home, epoch, new, set(files)))
        sent.update(files)

    def send_checkpoint(metrics: dict[str, Any]) -> None:
        if "run" not in metrics and metrics["epoch"] in checkpoint.epochs(directory / "checkpoints"):
            send(metrics["epoch"])

    with tempfile.TemporaryDirectory(prefix="leads-") as scratch:
        directory = Path(scratch) / home.name
        write(directory, ray.get(shelf.get.remote(home)))
        work(arguments, directory, checkpoint_every, send_checkpoint)
        send(Run(directory).metrics()[-1]["epoch"])
