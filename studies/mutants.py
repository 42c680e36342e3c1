"""Whether the tests notice broken code: every fault of mutants.toml is put into a copy of the sources (`make mutants`).

A mutant is killed if one of the test files named with it fails. Those that survive are listed, and the exit code is 1.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 600
"""Seconds after which a test counts as failed: some faults make a program endless."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in `file`, `old` becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """FILE, or FILE::WORD for those of its tests whose name has the word."""

    def written(self, source: Path) -> None:
        """Puts the fault into a copy of the sources."""
        path = source / "leads" / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text stands {text.count(self.old)} times in {self.file}, not once")
        path.write_text(text.replace(self.old, self.new))


def mutants() -> list[Mutant]:
    tables = tomllib.loads((ROOT / "studies" / "mutants.toml").read_text())["mutants"]
    return [Mutant(**table | {"tests": tuple(table["tests"])}) for table in tables]


def killer(mutant: Mutant) -> str | None:
    """The first test that fails, None if all pass."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        mutant.written(source)
        return next(filter(None, (_failure(test, source) for test in mutant.tests)), None)


def _failure(test: str, source: Path) -> str | None:
    file, _, word = test.partition("::")
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", file, *(["-k", word] if word else [])]
    try:
        environment = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"{file} (endless)"
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{test} could not be run: {done.stdout[-500:]}{done.stderr[-500:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else None


def killed(chosen: list[Mutant]) -> Iterator[dict[str, str | None]]:
    """One row per mutant, as many at a time as there are cores."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for mutant, test in zip(chosen, pool.map(killer, chosen), strict=True):
            print(f"{'killed' if test else 'SURVIVES':9} {mutant.name}: {test or ', '.join(mutant.tests)}", flush=True)
            yield {"mutant": mutant.name, "killed_by": test}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose name has one of these; rows of others stay")
    words = parser.parse_args().words
    chosen = [mutant for mutant in mutants() if not words or any(word in mutant.name for word in words)]
    rows = list(killed(chosen))
    survivors = [row["mutant"] for row in rows if row["killed_by"] is None]
    print(f"{len(rows) - len(survivors)} of {len(rows)} mutants killed")
    from measured import RESULTS, signed, write  # here, as it sets up XLA for timing

    path = RESULTS / "mutants.json"
    known = json.loads(path.read_text())["mutants"] if words and path.exists() else []
    found = {row["mutant"]: row for row in [*known, *rows]}
    every = [found[mutant.name] for mutant in mutants() if mutant.name in found]
    write("mutants", signed("make mutants", {"mutants": every}))
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
