"""Older versions of this library, each installed once below .fingerprints/ and kept."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".fingerprints"
OLD = "ede5743"
"""Version 0.3.0, the one to compare with unless told otherwise."""


def install(commit: str) -> Path:
    """The interpreter of a virtual environment that has the version of a commit; made once."""
    home = CACHE / commit
    source, python = home / "source", home / "venv" / "bin" / "python"
    if not (home / "installed").exists():
        print(f"installing {commit} into {home}", flush=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source, filter="data")
        subprocess.run([sys.executable, "-m", "venv", "--clear", home / "venv"], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", "."]
        subprocess.run(pip, cwd=source, check=True)
        (home / "installed").touch()
    return python


def git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
