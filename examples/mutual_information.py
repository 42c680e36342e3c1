"""Why mutual information alone does not measure exploration: the paper's first example (fig:twocases).

Two sets of four skills walk a grid of 4x4 cells, each skill visiting its cells equally often. In the first set every
skill has one cell, in the second two. Both tie in mutual information, I(S;Z) = log 4, because either way the cell tells
the skill; yet the second set covers twice as many cells.

    python examples/mutual_information.py
"""

import numpy as np
from jaxtyping import Float

PICTURES = {
    "Z1": """
        . . . .
        . x o .
        . ^ # .
        . . . .""",
    "Z2": """
        x . . o
        . x o .
        . ^ # .
        ^ . . #""",
}
"""One symbol per skill, as in the figure."""
SKILLS = "xo^#"


def counts_of(picture: str) -> Float[np.ndarray, "z cell"]:
    """How often each skill visits each cell: once where its symbol stands, never elsewhere."""
    cells = np.asarray(picture.split())
    return (cells == np.asarray(list(SKILLS))[:, None]).astype(float)


def mutual_information(counts: Float[np.ndarray, "z cell"]) -> float:
    """I(S;Z) = sum p(s,z) log p(s,z) / (p(s) p(z)) in nats, from counted visits; all skills are equally likely."""
    joint = counts / counts.sum(axis=1, keepdims=True) / len(counts)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    visited = joint > 0
    return float(np.sum(joint[visited] * np.log(joint[visited] / independent[visited])))


def coverage(counts: Float[np.ndarray, "z cell"]) -> int:
    """Cells that any skill visits."""
    return int(np.sum(counts.sum(axis=0) > 0))


def compare() -> dict[str, tuple[float, int, int]]:
    """(mutual information, cells covered, all cells) of each set of skills."""
    sets = {name: counts_of(picture) for name, picture in PICTURES.items()}
    return {name: (mutual_information(counts), coverage(counts), counts.shape[1]) for name, counts in sets.items()}


def main() -> None:
    grids = [[line.strip() for line in picture.strip().splitlines()] for picture in PICTURES.values()]
    for left, right in zip(*grids, strict=True):
        print(f"  {left}      {right}")
    print(f"{'Z1':^11}   {'Z2':^11}\n")
    print("skills   I(S;Z)   I(S;Z)/log 4   coverage")
    for name, (information, covered, cells) in compare().items():
        print(f"{name:6}   {information:6.4f}   {information / np.log(len(SKILLS)):12.4f}   {covered:2d} of {cells}")


if __name__ == "__main__":
    main()
