"""Ctrl-C in a command's own process."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from leads.cli.interruption import MOMENT, one_interruption

TWICE = """
import os, signal, time
from leads.cli import interruption
interruption.MOMENT = 0.2
with interruption.one_interruption():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        os.kill(os.getpid(), signal.SIGINT)
        print("written down", flush=True)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        print("still there")
"""


def test_the_first_interrupts_the_second_is_ignored_and_a_later_one_ends_at_once():
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "written down\n", "")
    assert MOMENT >= 1


def test_without_an_interruption_everything_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with one_interruption():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_the_interruption_itself():
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt), one_interruption():
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(5)
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_is_changed():
    seen = []

    def work():
        with one_interruption():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
