import numpy as np
import pytest
from matplotlib.collections import LineCollection

import leads
from leads.cli import main
from leads.report.run.comparison import comparison_figure
from leads.training.metrics import headline
from leads.training.train import EVALUATION_EPISODES


@pytest.fixture(scope="module")
def agents(tiny_agent, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "random"
    return [tiny_agent, leads.load(leads.train("maze-u", method="random", samples=1000, out=out, n_episode=2))]


def test_every_run_has_a_panel_with_its_numbers_and_all_its_paths(agents):
    figure = comparison_figure(agents)
    assert len(figure.axes) == 2
    for axes, agent in zip(figure.axes, agents, strict=True):
        config, last = agent.config, agent.run.metrics()[-1]
        name, numbers = axes.get_title().splitlines()
        assert name == f"{config.method}, seed {config.seed}, {last['samples']:,} samples"
        assert numbers.startswith(f"coverage {last['coverage']:.0f} %, skill coverage {last['skill_coverage']:.0f} %")
        assert numbers.endswith(f"distinctness {last['distinctness']:.2f}")
        lines = next(drawn for drawn in axes.collections if isinstance(drawn, LineCollection)).get_segments()
        assert len(lines) == agent.n_skill * EVALUATION_EPISODES
        assert all(np.allclose(line[0], agent.task.start) for line in lines)


def test_an_epoch_without_an_evaluation_is_told_as_far_as_it_is_known():
    line = {"coverage": 41.6, "skill_coverage": None, "distinctness": None}
    assert headline(line) == "coverage 42 %"
    assert headline(line | {"skill_coverage": 9.5, "distinctness": 0.716}, ";") == (
        "coverage 42 %;skill coverage 10 %;distinctness 0.72"
    )


def test_from_the_command_line(agents, tmp_path, capsys):
    out = tmp_path / "new" / "both.png"
    main(["compare", *(str(agent.run.directory) for agent in agents), "--out", str(out)])
    assert capsys.readouterr().out == f"figure {out}\n"
    assert sorted(path.name for path in out.parent.iterdir()) == ["both.pdf", "both.png"]
    assert out.stat().st_size > 10_000


def test_runs_on_different_tasks_are_refused(agents, random_run, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(agents[0].run.directory), str(random_run), "--out", str(tmp_path / "both.png")])
    assert stop.value.code == 2
    assert "runs on one task can be compared, not on maze-easy and maze-u" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
