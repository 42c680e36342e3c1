"""A gradient step of SAC here, in Stable-Baselines3 (PyTorch) and in SBX (JAX), side by side (part of `make bench`).

Sizes, batches and transitions are the same. Each library trains by its own routine from its own replay, and drawing
from it counts.
"""

import statistics
from collections.abc import Callable
from importlib import metadata

import gymnasium
import numpy as np
import torch
from gradient_steps import CHEETAH, CONFIG, HORIZON, SKILLS, STEPS, random_episodes, rewards, sac_steps
from measured import Program, rounds, spread, write_part
from sbx import SAC as SbxSac
from stable_baselines3 import SAC as TorchSac
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from leads.data.episodes import Episodes


class Sizes(gymnasium.Env):
    """Tells the peers what they learn on; nobody plays in it."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (CHEETAH.state_size + SKILLS,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (CHEETAH.action_size,), np.float32)


def peer(algorithm: Callable[..., OffPolicyAlgorithm], episodes: Episodes) -> Program:
    """Another library's training, from its own replay with the same transitions."""
    model = algorithm(
        "MlpPolicy",
        Sizes(),
        learning_rate=CONFIG.learning_rate,
        batch_size=CONFIG.batch_size,
        buffer_size=episodes.lengths.size * HORIZON,
        policy_kwargs={"net_arch": {"pi": list(CONFIG.actor_hidden), "qf": list(CONFIG.critic_hidden)}},
        device="cpu",
        seed=0,
    )
    model.set_logger(Logger(None, []))
    states, actions = np.asarray(episodes.states), np.asarray(episodes.actions)
    skills = np.broadcast_to(np.eye(SKILLS, dtype=np.float32)[:, None, None], (*states.shape[:3], SKILLS))
    seen = np.concatenate([states, skills], axis=-1)
    for skill, episode, time in np.ndindex(actions.shape[:3]):
        now, a = seen[skill, episode], actions[skill, episode, time]
        model.replay_buffer.add(now[time], now[time + 1], a, rewards(a), np.zeros(1), [{}])
    return lambda: model.train(STEPS, CONFIG.batch_size)


def main() -> None:
    torch.set_num_threads(1)
    episodes = random_episodes()
    peers = {"stable_baselines3": peer(TorchSac, episodes), "sbx": peer(SbxSac, episodes)}
    times = rounds({"ours": sac_steps(episodes), **peers})
    found = {f"{name}_ms": 1e3 * statistics.median(taken) / STEPS for name, taken in times.items()}
    found |= {"peers": {name: metadata.version(name) for name in ("stable_baselines3", "sbx-rl", "torch", "flax")}}
    write_part("peers", found | {f"{name}_over_ours": spread(times[name], times["ours"]) for name in peers})


if __name__ == "__main__":
    main()
