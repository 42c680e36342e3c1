"""Learn skills in an environment of your own, written in this file: python examples/own_environment.py [SAMPLES].

A boat on a lake with a current: it has inertia, its rudder turns it only while it moves, and the shore stops it.
"""

import sys
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

import leads
from leads.training.metrics import headline


class Boat(gymnasium.Env):
    """State: position in [-1, 1]^2, velocity, and cosine and sine of the heading; action: thrust and rudder."""

    observation_space = gymnasium.spaces.Box(-2, 2, (6,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-0.1, 0.1, 2)
        self.velocity, self.heading = np.zeros(2), 0.0
        return self._observation(), {}

    def step(self, action):
        thrust, rudder = action
        ahead = np.array([np.cos(self.heading), np.sin(self.heading)])
        self.heading += 2.0 * rudder * float(self.velocity @ ahead)
        current = 0.002 * np.array([-self.position[1], self.position[0]])
        self.velocity = 0.9 * self.velocity + 0.01 * thrust * ahead + current
        there = self.position + self.velocity
        self.velocity[np.abs(there) > 1] = 0.0
        self.position = np.clip(there, -1, 1)
        return self._observation(), 0.0, False, False, {}

    def _observation(self):
        heading = np.cos(self.heading), np.sin(self.heading)
        return np.concatenate([self.position, self.velocity, heading]).astype(np.float32)


def lake() -> leads.Task:
    """Explore the lake: coverage counts the boat's position, entries 0 and 1 of the observation."""
    return leads.environment_task(Boat, features=(0, 1), low=(-1, -1), high=(1, 1), horizon=100, name="lake")


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    task, out = lake(), Path(tempfile.mkdtemp()) / "lake"
    print(f"the lake: {task.note}")
    leads.train(task, samples=samples, out=out, n_episode=8, report=say)
    with leads.load(out, task) as agent:
        for skill in range(agent.n_skill):
            x, y = np.mean([path[-1, :2] for path in agent.rollout(skill, episodes=10)], axis=0)
            print(f"skill {skill} goes to ({x:+.2f}, {y:+.2f})")
        for path in leads.write_figures(agent):
            print(f"figure {path}")


def say(metrics: dict) -> None:
    """Prints one line per epoch in which skills were evaluated."""
    if metrics.get("skill_coverage") is not None:
        print(f"{metrics['samples']:7,} samples: {headline(metrics)}", flush=True)


if __name__ == "__main__":
    main()
