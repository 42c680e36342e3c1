"""The wheel by itself: built from the checkout, installed where no checkout is in reach, and trained with."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = {
    "py.typed",
    "benchmark/suites/quick.toml",
    "methods/settings.toml",
    "report/study/page_parts/page.html",
    "report/study/paper.json",
}


def done(*command: str | Path, cwd: Path) -> str:
    """What a command prints that is to succeed; it gets no path into this checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def files(package: Path) -> set[str]:
    return {
        path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from, for setuptools writes beside it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src" / "leads", source / "src" / "leads", ignore=shutil.ignore_patterns("__pycache__"))
    return source


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; all other packages are those of the running environment."""
    out = tmp_path_factory.mktemp("installed")
    done(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source, cwd=out)
    [wheel] = out.glob("*.whl")
    venv = out / "venv"
    done(sys.executable, "-m", "venv", "--without-pip", venv, cwd=out)
    done(
        *(sys.executable, "-m", "pip", "--python", venv / "bin" / "python"),
        *("install", "--no-deps", "--no-index", wheel),
        cwd=out,
    )
    # After the wheel's own place, and without the .pth file there that leads to this checkout.
    [site_packages] = venv.glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text("\n".join({sysconfig.get_path(kind) for kind in ("purelib", "platlib")}))
    return venv


def test_the_package_is_all_there(source, installed):
    where = done(installed / "bin" / "python", "-c", "import leads; print(leads.__file__)", cwd=installed.parent)
    package = Path(where.strip()).parent
    assert package.is_relative_to(installed)
    assert files(package) == files(source / "src" / "leads")
    assert files(package) >= DATA


def test_a_run_outside_the_checkout(installed, tmp_path):
    options = ("--task", "maze-u", "--method", "random", "--samples", "2000", "--no-figures", "--out", "run")
    done(installed / "bin" / "leads", "train", *options, cwd=tmp_path)
    assert (tmp_path / "run" / "config.json").is_file()
