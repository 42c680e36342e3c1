"""What the README and the pages say can be typed can be typed."""

import re
import shlex
from pathlib import Path

import pytest

from leads.cli.parser import make_parser
from leads.report.study.read import read_rows

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
WITH_MODULES = "extending.md"
"""Its commands need its own modules; tests/test_extending.py runs them."""
LINES = [re.findall(r"^leads [^#\n]*", page.read_text(), re.MULTILINE) for page in PAGES if page.name != WITH_MODULES]
COMMANDS = sorted({tuple(shlex.split(line)) for lines in LINES for line in lines})


def test_there_are_commands():
    assert len(re.findall(r"^leads .*$", README, re.MULTILINE)) >= 5


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_are_understood(command):
    if {"--help", "--version"} & set(command):
        with pytest.raises(SystemExit) as stop:
            make_parser(command[1:]).parse_args(command[1:])
        assert stop.value.code == 0
    else:
        assert callable(make_parser(command[1:]).parse_args(command[1:]).command)


def test_make_targets_exist():
    targets = set(re.findall(r"`make (\w+)`|^make (\w+)", README, re.MULTILINE))
    for target in {first or second for first, second in targets}:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


def test_the_python_snippet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [snippet] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    small = "n_skill=6, n_episode=1, measure_steps=2, policy_steps=2, measure_hidden=(16,), actor_hidden=(16,)"
    names: dict = {}
    exec(snippet.replace("300_000", "300").replace("n_skill=6", small), names)
    assert float(names["m"]) > 0 and len(names["paths"]) == 20


def test_pages_that_are_linked_exist():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_tables_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "studies")
    import tables

    study = read_rows(tables.RESULTS)
    assert ROOT / "README.md" in tables.pages()
    for page in tables.pages():
        text = page.read_text()
        named = set(re.findall("<!-- table (.*?) -->", text))
        assert named <= set(tables.TABLES), page
        assert tables.filled(text, study) == text, f"{page}: make results was not run"
