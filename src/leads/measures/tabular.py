"""The exact successor state measure of a finite Markov decision process: the oracle of every estimator.

The measure of a policy is the law of the state k steps ahead, k ~ Geometric(1 - discount), k >= 1:

    p(s2|s1,a) = (1 - discount) sum_{k>=1} discount^(k-1) P(s_{t+k} = s2 | s_t = s1, a_t = a).

The first step follows the given action, all later ones the policy. With P_a[s1,s2] = P(s2|s1,a) and
P_pi = sum_a pi(a|s1) P_a, the state k steps ahead has the law P_a P_pi^(k-1), and the geometric series sums to

    p(.|.,a) = (1 - discount) P_a (I - discount P_pi)^-1,

one linear system for all states and actions. A terminal state keeps this formula if its row, in P_a and in P_pi,
is replaced by what follows it: itself ("absorb"; every row of p then sums to 1) or nothing ("vanish"; a row then sums
to 1 - E[discount^T], T being the step that reaches a terminal state, which itself still counts once).
"""

import numpy as np
from jaxtyping import Bool, Float

from leads.measures.measure import AfterEnd


def successor_state_measure(
    transition: Float[np.ndarray, "s a s"],
    policy: Float[np.ndarray, "s a"],
    discount: float,
    terminal: Bool[np.ndarray, " s"] | None = None,
    after_end: AfterEnd = "absorb",
) -> Float[np.ndarray, "s a s"]:
    """p(s2|s1,a) as an array [s1, a, s2], from P(s'|s,a) as [s, a, s'] and pi(a|s) as [s, a]."""
    n_state = len(transition)
    identity = np.eye(n_state)
    after_terminal = identity if after_end == "absorb" else np.zeros_like(identity)
    if terminal is not None:
        transition = np.where(terminal[:, None, None], after_terminal[:, None, :], transition)
    # a policy's row sums to 1, so a terminal state's row comes through this average as it is
    under_policy = np.einsum("sa,sat->st", policy, transition)
    # X (I - discount P_pi) = P_a, transposed because `solve` wants the unknown on the right
    solution = np.linalg.solve((identity - discount * under_policy).T, transition.reshape(-1, n_state).T).T
    return (1 - discount) * solution.reshape(transition.shape)


def log_ratio(
    measure: Float[np.ndarray, "*batch s"], marginal: Float[np.ndarray, " s"]
) -> Float[np.ndarray, "*batch s"]:
    """f = log p(s2|s1,a) / p(s2), -inf where s2 is never reached; every state needs some marginal probability."""
    if np.any(marginal <= 0):
        raise ValueError(f"no ratio against states of marginal probability 0: {np.flatnonzero(marginal <= 0)}")
    with np.errstate(divide="ignore"):
        return np.log(measure) - np.log(marginal)
