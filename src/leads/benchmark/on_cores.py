"""The local engine: a process a run, as many at a time as there are cores."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from leads.benchmark.suites import Job
from leads.benchmark.work import work
from leads.errors import UserError, in_a_line


class OnCores:
    """Runs on this machine."""

    def __init__(self, out: Path, processes: int, checkpoint_every: int):
        self.out, self.processes, self.checkpoint_every = out, processes, checkpoint_every
        self.running: dict[Any, tuple[Job, BaseProcess, Connection]] = {}
        """By what tells that the process has ended; through the connection comes why, if it failed."""

    def has_room(self) -> bool:
        return len(self.running) < self.processes

    def begin(self, job: Job) -> None:
        log, spawn = job.log(self.out), multiprocessing.get_context("spawn")
        log.parent.mkdir(parents=True, exist_ok=True)
        reason, to_say = spawn.Pipe(duplex=False)
        arguments = job, job.directory(self.out), self.checkpoint_every, log, to_say
        process = spawn.Process(target=_child, args=arguments, daemon=True)
        with _without_interrupts():
            process.start()
            self.running[process.sentinel] = job, process, reason
        to_say.close()

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


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """What is started here never sees Ctrl-C: it is for the benchmark, which then stops its runs."""
    resource_tracker.ensure_running()  # the first process starts it otherwise, and it unblocks interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reason(exit_code: int, reason: Connection) -> str:
    if exit_code < 0:
        return f"its process was ended by signal {-exit_code}, {signal.strsignal(-exit_code)}"
    try:
        return reason.recv()
    except EOFError:
        return f"its process ended with exit code {exit_code}" if exit_code else ""


def _child(job: Job, directory: Path, checkpoint_every: int, log: Path, reason: Connection) -> None:
    """A run in a process of its own; whatever is said goes to the log, and why it failed to the benchmark."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with open(log, "a") as file:
            os.dup2(file.fileno(), sys.stdout.fileno())
            os.dup2(file.fileno(), sys.stderr.fileno())
        work(job, directory, checkpoint_every)
    except Exception as error:
        reason.send(in_a_line(error))
        if isinstance(error, UserError):
            sys.exit(1)
        raise


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
