"""The local engine: one process per run, as many at a time as there are cores."""

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from leads.benchmark.job import Job, log_of, work
from leads.errors import UserError, in_a_line


class OnCores:
    """Runs on this machine."""

    def __init__(self, out: Path, processes: int | None, checkpoint_every: int):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.out, self.processes, self.checkpoint_every = out, processes or cores, checkpoint_every
        self.running: dict[Any, tuple[Job, BaseProcess, Connection]] = {}
        """By the sentinel of the process; the connection brings the reason of a failure."""

    def has_room(self) -> bool:
        return len(self.running) < self.processes

    def begin(self, job: Job) -> None:
        run, spawn = job.directory(self.out), multiprocessing.get_context("spawn")
        run.parent.mkdir(parents=True, exist_ok=True)
        reason, to_tell = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_child, args=(job.arguments, run, self.checkpoint_every, to_tell), daemon=True)
        resource_tracker.ensure_running()  # the first process starts it otherwise, and it unblocks interrupts
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the benchmark alone
        try:
            process.start()
            self.running[process.sentinel] = job, process, reason
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        to_tell.close()

    def ended(self, seconds: float) -> list[tuple[Job, str]]:
        found = []
        for sentinel in wait(list(self.running), timeout=seconds):
            job, process, reason = self.running.pop(sentinel)
            process.join()
            found.append((job, _reason(process.exitcode or 0, reason)))
            process.close()
            reason.close()
            if not job.has_log(self.out):
                job.log(self.out).unlink(missing_ok=True)
        return found

    def close(self) -> None:
        for _, process, _ in self.running.values():
            process.terminate()
        for _, process, _ in self.running.values():
            process.join()


def _reason(exit_code: int, reason: Connection) -> str:
    if exit_code < 0:
        return f"its process was ended by signal {-exit_code}, {signal.strsignal(-exit_code)}"
    try:
        return reason.recv()
    except EOFError:
        return f"its process ended with exit code {exit_code}" if exit_code else ""


def _child(arguments: dict[str, Any], run: Path, checkpoint_every: int, reason: Connection) -> None:
    """A run in a process of its own: its output goes to the log, the reason of a failure to the benchmark."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with open(log_of(run), "a") as file:
            os.dup2(file.fileno(), sys.stdout.fileno())
            os.dup2(file.fileno(), sys.stderr.fileno())
        work(arguments, run, checkpoint_every)
    except Exception as error:
        reason.send(in_a_line(error))
        if isinstance(error, UserError):
            sys.exit(1)
        raise


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()  # type: ignore[union-attr]
    os._exit(1)
