"""Ctrl-C: the first one stops what is done; another within a moment, while that is written down, changes nothing."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOMENT = 3.0
"""Seconds after which a further Ctrl-C ends the process at once."""
INTERRUPTED = 130
"""The exit code that shells expect."""


@contextmanager
def one_interruption() -> Iterator[None]:
    """For the time of a command; after an interruption it stays, as the process is about to end."""
    first: list[float] = []

    def interrupt(number: int, frame: Any) -> None:
        if first and time.monotonic() - first[0] > MOMENT:
            os._exit(INTERRUPTED)
        if not first:
            first.append(time.monotonic())
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # where Python allows no handlers
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if not first:
            signal.signal(signal.SIGINT, before)
