"""The command line as users meet it: help, bad input, unusual words."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from leads.cli import main
from leads.cli.parser import COMMANDS
from leads.config.fields import fields
from leads.methods import METHODS
from leads.report.run import skills


def leads_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "leads", *arguments], capture_output=True, text=True, cwd=cwd)


NAN_MAZE = '{"start": [0, NaN], "walls": []}'

BAD = {
    "unknown task": (["--task", "maze-moon"], "task: 'maze-moon'"),
    "unknown method": (["--method", "magic"], "method: 'magic'"),
    "unknown measure": (["--measure", "tape"], "measure: 'tape'"),
    "method that cannot be imported": (["--method", "nowhere:Mine"], "method: nowhere:Mine"),
    "task that cannot be imported": (["--task", "nowhere:lake"], "task: nowhere:lake"),
    "metric that cannot be imported": (["--metrics", "nowhere:depth"], "metrics: nowhere:depth"),
    "method without a name": (["--method"], "--method"),
    "unknown field": (["--novelty", "3"], "--novelty"),
    "abbreviated field": (["--entrop", "3"], "--entrop"),
    "field of another method": (["--method", "random", "--entropy", ".1"], "--entropy"),
    "negative samples": (["--samples", "-5"], "-5"),
    "no samples": (["--samples", "0"], "samples: 0"),
    "samples in words": (["--samples", "many"], "samples: 'many' is not a whole number"),
    "negative seed": (["--seed", "-1"], "seed: -1"),
    "wall": (["--on-wall", "bounce"], "on_wall: 'bounce'"),
    "choice": (["--noise", "blue"], "noise: 'blue'"),
    "none where it is no value": (["--n-skill", "none"], "n_skill: 'none' is not a whole number"),
    "not a number": (["--entropy", "much"], "entropy: 'much' is not a finite number"),
    "not finite": (["--entropy", "nan"], "entropy"),
    "out of range": (["--measure-discount", "1.5"], "measure_discount: 1.5"),
    "layers": (["--actor-hidden", "256,x"], "actor_hidden: '256,x' is not numbers with commas"),
    "no maze file": (["--task", "maze:nowhere.json"], "nowhere.json"),
    "NaN in a maze": (["--task", "maze:nan.json"], "nan.json"),
    "out is a file": (["--out", "nan.json"], "nan.json"),
    "resume nothing": (["--resume", "nowhere"], "nowhere"),
    "resume with more": (["--resume", "nowhere", "--seed", "3"], "seed"),
    "empty layer": (["--measure-hidden", "128,0"], "measure_hidden"),
    "too many samples": (["--samples", "10000000000"], "samples: 10000000000"),
    "checkpoints of a resumed run": (["--resume", "nowhere", "--checkpoint-every", "0"], "checkpoint_every: 0"),
    "checkpoints": (["--checkpoint-every", "0"], "checkpoint_every: 0"),
    "out without a name": (["--out", ""], "out: '' is not the path of a file or directory"),
    "out with a zero byte": (["--out", "a\0b"], "out: 'a\\x00b' is not the path of a file or directory"),
    "resume without a name": (["--resume", ""], "resume: '' is not the path of a file or directory"),
    "a maze that is a directory": (["--task", "maze:."], "maze file .: it is not a regular file"),
    "a maze with a zero byte": (["--task", "maze:a\0b"], "maze file a"),
    "an environment with a zero byte": (["--task", "gym:a\0b"], "gymnasium.make"),
    "more threads than a machine begins": (
        ["--threads", "100000"],
        "threads: 100000 is not allowed; give",
    ),
    "more than an epoch offers": (["--archive-admit", "100000"], "give at most the states of an epoch, 19200"),
    "a number beyond floats": (["--entropy", "1e300"], "entropy: 1e+300 is not a finite number"),
    "noise beyond floats": (["--noise-scale", "1e39"], "noise_scale: 1e+39 is not a finite number"),
    "negative sharpness": (["--sharpness", "-1"], "sharpness: -1.0 is not allowed; give a number above 0"),
    "no embedding": (["--measure-embedding", "0"], "measure_embedding: 0 is not allowed; give a number above 0"),
    "a very long number": (["--n-skill", 5000 * "9"], "9... is not a whole number"),
    "beyond 32 bits": (
        ["--n-episode", "3000000000"],
        "n_episode: 3000000000 is not allowed; give",
    ),
    "layers beyond 32 bits": (
        ["--actor-hidden", "3000000000"],
        "actor_hidden: (3000000000,) is not allowed",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("nan.json").write_text(NAN_MAZE)
    arguments, word = BAD[case]
    with pytest.raises(SystemExit) as stop:
        main(["train", *arguments])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1 and captured.err.startswith("leads: ") and word in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["nan.json"], "nothing half-written"


def test_a_maze_that_is_a_pipe_does_not_hang(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(SystemExit) as stop:
        main(["train", "--task", f"maze:{tmp_path / 'pipe.json'}"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"leads: maze file {tmp_path / 'pipe.json'}: it is not a regular file\n"


def test_unwritable_out_has_no_traceback(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stop:
        main(["train", "--out", str(tmp_path / "file" / "run")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and error.count("\n") == 1 and "cannot be written" in error


def test_no_command_and_unknown_command():
    for arguments in ([], ["fly"]):
        done = leads_command(*arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_commands_on_something_that_is_no_run(tmp_path, capsys):
    for command in ("skills", "figures", "compare", "diagnose"):
        with pytest.raises(SystemExit) as stop:
            main([command, str(tmp_path)])
        assert stop.value.code == 2 and "not a run directory" in capsys.readouterr().err


HEAVY = ("jax", "matplotlib", "mujoco", "leads.training")


def loaded(code: str) -> list[str]:
    """Which of HEAVY are imported after some code."""
    show = f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)"
    command = [sys.executable, "-c", f"import json, sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{show}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True).stderr)


def test_help_names_every_command_and_imports_none_of_them():
    assert loaded("from leads.cli import main; main(['--help'])") == []
    done = leads_command("--help")
    assert done.returncode == 0 and all(f"    {name}" in done.stdout for name in COMMANDS)


def test_importing_the_package_imports_nothing_that_takes_seconds():
    assert loaded("import leads") == []


WITHOUT_SCREEN = """
import os, gymnasium  # which itself sets some
before = dict(os.environ)
import leads
assert dict(os.environ) == before
for task in ("finger", "fetch-reach", "hand", "ant"):
    leads.make_task(task).make().close()
assert "MUJOCO_GL" not in os.environ
environment = gymnasium.make("leads/Finger-v0", render_mode="rgb_array")
environment.reset()
try:
    assert environment.render().std() > 1
except leads.UserError as error:
    assert "there is neither a screen nor EGL" in str(error)
environment.close()
assert "MUJOCO_GL" not in os.environ
"""


def test_importing_the_package_changes_no_environment_variable_and_robots_need_no_screen():
    alone = {
        name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MUJOCO_GL", "PYOPENGL_PLATFORM")
    }
    done = subprocess.run([sys.executable, "-c", WITHOUT_SCREEN], capture_output=True, text=True, env=alone)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0 and capsys.readouterr().out == f"leads {metadata.version('leads')}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert stop.value.code == 0 and COMMANDS[command] in shown


@pytest.mark.parametrize("method", METHODS)
def test_every_field_is_an_option_with_its_line_of_help(method, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "--method", method, "--help"])
    assert stop.value.code == 0
    shown = "".join(capsys.readouterr().out.split())  # words are broken at their hyphens
    for name, field in fields(METHODS.find(method).Config).items():
        assert field.doc, name
        assert f"--{name.replace('_', '-')}" in shown
        assert "".join(field.doc.rstrip(").").split()) in shown


def test_train_and_skills_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(skills, "MOVING", 10)  # a short film
    tiny = "--n-episode 2 --measure-steps 4 --policy-steps 2 --td-steps 1 --actor-hidden 16 --measure-hidden 16,16 "
    tiny += "--measure-batch-size 32 --policy-batch-size 16 --n-targets 4 --archive-size 64 --archive-admit 32"
    main(["train", "--task", "maze-u", "--samples", "1500", "--out", "run", *tiny.split()])
    shown = capsys.readouterr().out
    assert "coverage" in shown and "distinctness" in shown and "run run" in shown
    for name in ("skills", "measure", "uncertainty", "coverage"):
        for kind in ("png", "pdf"):
            assert (tmp_path / "run" / "figures" / f"{name}.{kind}").stat().st_size > 1000
    main(["skills", "run", "--episodes", "2"])
    assert {"skills.gif", "skills.mp4", "skills.csv"} <= {
        path.name for path in (tmp_path / "run" / "figures").iterdir()
    }


def test_a_list_may_begin_with_a_minus_sign(tmp_path, capsys):
    out = tmp_path / "run"
    common = ["train", "--task", "gym:Pendulum-v1", "--method", "random", "--n-episode", "1", "--samples", "10"]
    box = ["--features", "0,2", "--low", "-1,-8", "--high", "1,8", "--horizon", "5"]
    main([*common, *box, "--out", str(out), "--no-figures"])
    options = json.loads((out / "config.json").read_text())["task_options"]
    assert options == {"features": [0, 2], "low": [-1.0, -8.0], "high": [1.0, 8.0], "horizon": 5}
    assert "every episode here begins as reset(seed=0) does" in capsys.readouterr().out
