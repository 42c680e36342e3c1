"""Learn skills, load them, and use one in the Gymnasium environment: python examples/use_a_skill.py [RUN_DIR].

Without a run directory it learns for a short while first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import leads


def follow(agent: leads.Agent, skill: int) -> np.ndarray:
    """The path of a skill's mean actions in the task's Gymnasium environment."""
    environment = agent.task.make()
    observation, _ = environment.reset()
    path = [observation]
    for _ in range(agent.task.horizon):
        observation, _, terminated, truncated, _ = environment.step(agent.act(observation, skill))
        path.append(observation)
        if terminated or truncated:
            break
    environment.close()
    return np.stack(path)


def main() -> None:
    agent = leads.load(sys.argv[1] if len(sys.argv) > 1 else learn())
    for skill in range(agent.n_skill):
        path = follow(agent, skill)
        ratio = agent.measure(agent.task.start, path[-1], skill)
        print(
            f"skill {skill}: {len(path) - 1:3d} steps to ({path[-1][0]:+.2f}, {path[-1][1]:+.2f}); by its measure it "
            f"goes there {ratio:.2f} times as often as chance"
        )


def learn() -> Path:
    """A short run, which is enough to see how it works."""
    out = Path(tempfile.mkdtemp()) / "run"
    return leads.train("maze-u", samples=3_000, out=out, n_episode=2, measure_steps=16, policy_steps=4)


if __name__ == "__main__":
    main()
