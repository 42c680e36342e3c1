"""SAC alone on a task with a known solution: Pendulum-v1, whose mean return is to rise above -200 (`make pendulum`)."""

import time

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from measured import signed, write

from leads.improvement.sac import Experience, Sac, SacConfig
from leads.nn import squashed_gaussian

STEPS = 20_000
FIRST = 1_000
"""Steps of random actions before learning begins."""
EPISODES = 10
"""Evaluation episodes, with the policy's mean action."""
TORQUE = 2.0


def learn(seed: int) -> float:
    """Mean return after learning."""
    environment = gymnasium.make("Pendulum-v1")
    sac = Sac(SacConfig(learning_rate=1e-3, first_temperature=0.1), 3, 1, 0)
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    state = sac.init(jax.random.fold_in(key, 0))
    shapes = {"s": (STEPS, 3), "a": (STEPS, 1), "r": STEPS, "next_s": (STEPS, 3)}
    kept = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    none = np.zeros((sac.config.batch_size, 0), np.float32)

    @jax.jit
    def act(actor, s, noise):
        return squashed_gaussian.sample(*actor.model(s, jnp.zeros(0)), noise)

    update = jax.jit(sac.update)
    s, _ = environment.reset(seed=seed)
    for t in range(STEPS):
        noise = rng.normal(size=1).astype(np.float32)
        a = rng.uniform(-1, 1, 1).astype(np.float32) if t < FIRST else np.asarray(act(state.actor, s, noise))
        next_s, r, _, truncated, _ = environment.step(TORQUE * a)
        for name, value in (("s", s), ("a", a), ("r", r), ("next_s", next_s)):
            kept[name][t] = value
        s = environment.reset()[0] if truncated else next_s
        if t >= FIRST:
            i = rng.integers(0, t + 1, sac.config.batch_size)
            goes_on = np.zeros(len(i), bool)  # the time limit is not an end
            batch = Experience(kept["s"][i], kept["a"][i], none, kept["r"][i], kept["next_s"][i], goes_on)
            state, _ = update(state, batch, jax.random.fold_in(key, t + 1))
    returns = []
    for episode in range(EPISODES):
        s, _ = environment.reset(seed=1000 + episode)
        total, truncated = 0.0, False
        while not truncated:
            s, r, _, truncated, _ = environment.step(TORQUE * np.asarray(act(state.actor, s, np.zeros(1, np.float32))))
            total += float(r)
        returns.append(total)
    return float(np.mean(returns))


def main() -> None:
    returns, start = {}, time.process_time()
    for seed in (0, 1, 2):
        returns[str(seed)] = round(learn(seed), 1)
        print(f"seed {seed}: mean return {returns[str(seed)]} of {EPISODES} episodes after {STEPS:,} steps", flush=True)
    found = {"steps": STEPS, "mean_return": returns, "cpu_seconds": round(time.process_time() - start)}
    write("pendulum", signed("python studies/pendulum.py", found))


if __name__ == "__main__":
    main()
