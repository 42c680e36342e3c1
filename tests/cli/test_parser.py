"""Options from config fields, those of a user's own methods, measures, tasks and metrics among them."""

import json
import sys
from pathlib import Path

import pytest

from leads.cli import main
from leads.cli.parser import make_parser, words
from leads.errors import UserError

MINE = '''
from dataclasses import dataclass

import jax.numpy as jnp

from leads import Metric, make_task
from leads.measures.c_learning import CLearning, CLearningConfig
from leads.methods.random import Random, RandomConfig


@dataclass(frozen=True)
class WaveConfig(RandomConfig):
    loud: bool = False
    """Whether waves are loud."""
    patience: int | None = 3
    """Epochs to wait; none: for ever."""
    depth: float | None = None
    """Depth, if there is any."""


class Waves(Random):
    Config = WaveConfig


@dataclass(frozen=True)
class CaughtConfig(RandomConfig):
    seed: int = 0
    """Of another kind."""


class Caught(Random):
    Config = CaughtConfig


@dataclass(frozen=True)
class ShyConfig(CLearningConfig):
    shyness: float = 0.25
    """How shy it is (of 1)."""


class Shy(CLearning):
    Config = ShyConfig


def lake():
    return make_task("maze-u")


cells = Metric("cells", "cells visited", of_skills=False, headline=True, compute=lambda e: jnp.sum(e.visited))
skills = Metric("skills_counted", "skills", compute=lambda e: jnp.float32(len(e.counts)))
'''


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    """A current directory with a module of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def help_of(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["train", *arguments, "--help"])
    assert stop.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def config_of(*arguments: str) -> dict:
    """What a short run keeps."""
    main(["train", "--out", "run", "--no-figures", "--samples", "300", "--n-episode", "1", *arguments])
    return json.loads(Path("run/config.json").read_text())


def test_options_can_be_found_before_it_is_known_which_there_are():
    assert words(["train", "--method", "leads", "--measure=a:b", "--n-skill", "3", "--low", "-1,2", "--help"]) == {
        "method": "leads",
        "measure": "a:b",
        "n_skill": "3",
    }


def test_help_shows_the_options_of_the_method_and_then_those_of_its_parts(capsys):
    shown = help_of(capsys, "--method", "leads", "--measure", "c-learning")
    at = [shown.index(title) for title in ("options of --method leads", "options of --measure", "options of --improve")]
    assert at == sorted(at) and shown.index("--measure-hidden") > at[1] and shown.index("--policy-steps") > at[2]
    assert "--n-skill N Number of skills (paper: 6; default 6)" in shown
    assert "--measure-hidden N,... Hidden layers of the measure's networks (paper: 256,128; default 128,128)" in shown
    assert "--noise {pink,white} Colour" in shown and "metric or MODULE:NAME; default c-learning)" in shown
    assert "(default 0.1)" in shown.split("--floor X")[1].split("--sharpness")[0], (
        "brackets of a formula are left alone"
    )


def test_a_method_of_ones_own(mine, capsys):
    shown = help_of(capsys, "--method", "mine:Waves")
    assert "--loud {true,false} Whether waves are loud (default false)" in shown
    assert "--patience N Epochs to wait; none: for ever (default 3)" in shown
    assert "--depth X Depth, if there is any" in shown and "--depth X Depth, if there is any (" not in shown
    config = config_of("--method", "mine:Waves", "--task", "maze-u", "--loud", "true", "--patience", "none")
    assert config["method"] == "mine:Waves"
    options = config["method_options"]
    assert (options["loud"], options["patience"], options["depth"], options["noise"]) == (True, None, None, "pink")


def test_false_is_a_value_and_other_words_are_not(mine, capsys):
    assert config_of("--method", "mine:Waves", "--task", "maze-u", "--loud", "false")["method_options"]["loud"] is False
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["train", "--method", "mine:Waves", "--loud", "yes"])
    assert stop.value.code == 2 and capsys.readouterr().err == "leads: loud: 'yes' is not true or false\n"


def test_a_field_with_the_name_of_another_option_is_refused(mine, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "--method", "mine:Caught"])
    assert stop.value.code == 2 and capsys.readouterr().err.startswith("leads: seed: is the name of another option")


def test_none_reaches_the_temperature_that_diayn_learns(mine, capsys):
    small = "--actor-hidden 8 --critic-hidden 8 --model-hidden 8 --batch-size 16 --replay-size 2000 --task maze-u"
    config = config_of("--method", "diayn", "--temperature", "none", *small.split())
    assert config["method_options"]["temperature"] is None


def test_a_task_a_measure_and_metrics_of_ones_own(mine, capsys):
    shown = help_of(capsys, "--measure", "mine:Shy")
    assert "options of --measure mine:Shy" in shown and "--shyness X How shy it is (of 1; default 0.25)" in shown
    tiny = "--measure-steps 2 --policy-steps 2 --actor-hidden 8 --measure-hidden 8 --measure-batch-size 16"
    own = "--task mine:lake --measure mine:Shy --shyness 0.5 --metrics mine:cells,mine:skills"
    config = config_of(*own.split(), *tiny.split())
    assert (config["task"], config["method_options"]["measure"]) == ("mine:lake", "mine:Shy")
    assert config["method_options"]["shyness"] == 0.5 and config["method_options"]["measure_hidden"] == [8]
    assert [metric["source"] for metric in config["metrics"]] == ["mine:cells", "mine:skills"]
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["skills_counted"] == 6 and summary["cells"] == summary["coverage"], "of 100 cells"
    assert f"cells visited {summary['cells']:.0f}" in capsys.readouterr().out, "it is a headline, and so is shown"


def test_metrics_that_are_none(mine, capsys):
    for given, word in (
        ("mine:lake", "mine:lake is not a Metric"),
        ("mine:nothing", "mine:nothing cannot be imported"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["train", "--metrics", given])
        assert stop.value.code == 2 and word in capsys.readouterr().err


def test_options_of_the_part_that_a_task_ships_with_are_known():
    """On half-cheetah LEADS is improved by SAC, whose options are not those of the mazes' way."""
    options = lambda *words: vars(make_parser(["train", *words]).parse_args(["train", *words]))
    assert options("--task", "half-cheetah", "--pull", "middle")["pull"] == "middle"
    assert options("--task", "half-cheetah", "--improve", "measure", "--entropy", ".01")["entropy"] == 0.01
    with pytest.raises(UserError, match="--entropy"):
        options("--task", "half-cheetah", "--entropy", ".01")
    with pytest.raises(UserError, match="--pull"):
        options("--task", "maze-u", "--pull", "middle")
