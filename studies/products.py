"""The matrix products in a compiled program: what it multiplies, and how often."""

import re
from collections import Counter
from math import prod
from typing import NamedTuple


class Product(NamedTuple):
    """`batch` products of an m x k matrix with a k x n matrix."""

    batch: int
    m: int
    k: int
    n: int

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.k * self.n


def products(program: str) -> Counter[Product]:
    """Of a program's HLO text (`jax.jit(f).lower(...).compile().as_text()`), counted as often as they are done.

    Products that XLA turned into sums of elementwise products are not seen.
    """
    computations = _computations(program)

    def done(name: str) -> Counter[Product]:
        found: Counter[Product] = Counter()
        shapes = {known[1]: known[2] for line in computations[name] if (known := re.match(RESULT, line))}
        for line in computations[name]:
            if " dot(" in line:
                found[_product(line, shapes)] += 1
            if " conditional(" in line and any(done(branch) for branch in re.findall(r"%([\w.-]+)", _branches(line))):
                raise ValueError(f"products behind a condition: {line}")
            for called in re.findall(r"(?:calls|to_apply|body)=%([\w.-]+)", line):
                found.update({product: count * _times(line) for product, count in done(called).items()})
        return found

    [entry] = re.findall(r"^ENTRY %([\w.-]+)", program, re.MULTILINE)
    return done(entry)


RESULT = r"\s+(?:ROOT )?%([\w.-]+) = \w+\[([\d,]*)\]"
"""An instruction's name and the shape of its result."""


def _computations(program: str) -> dict[str, list[str]]:
    """Name -> instructions."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in program.splitlines():
        if head := re.match(r"(?:ENTRY )?%([\w.-]+) .*\{$", line):
            name = head[1]
            found[name] = []
        elif name:
            found[name].append(line)
    return found


def _product(line: str, shapes: dict[str, str]) -> Product:
    operands = re.search(r" dot\(%([\w.-]+), %([\w.-]+)\)", line)
    assert operands, f"no operands: {line}"
    named = {name: [int(i) for i in axes.split(",")] for name, axes in re.findall(r"(\w+_dims)=\{([\d,]+)\}", line)}
    sides = []
    for operand, side in zip(operands.groups(), ("lhs", "rhs"), strict=True):
        sizes = [int(size) for size in shapes[operand].split(",")]
        batch, contracted = named.get(f"{side}_batch_dims", []), named.get(f"{side}_contracting_dims", [])
        free = [size for axis, size in enumerate(sizes) if axis not in (*batch, *contracted)]
        sides.append((prod(free), prod(sizes[i] for i in contracted), prod(sizes[i] for i in batch)))
    (m, k, batch), (n, *_) = sides
    return Product(batch, m, k, n)


def _branches(line: str) -> str:
    return " ".join(re.findall(r"(?:branch_computations=\{[^}]*\}|(?:true|false)_computation=%[\w.-]+)", line))


def _times(line: str) -> int:
    """How often an instruction does what it calls."""
    if " while(" not in line:
        return 1
    known = re.search(r'"known_trip_count":\{"n":"(\d+)"', line)
    if not known:
        raise ValueError(f"products in a loop of unknown length: {line}")
    return int(known[1])
