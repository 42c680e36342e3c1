"""Gradient steps beside the matrix products in them, at the best this machine can multiply (part of `make bench`)."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from gradient_steps import STEPS, measure_steps, random_episodes, sac_steps
from measured import Program, seconds, write_part
from products import Product, products

LARGE, OFTEN_MET = Product(1, 2048, 2048, 2048), Product(1, 256, 256, 256)
LEAST_FLOPS = 2e8
"""Timed at once, so that calling a product takes no time beside it."""


def repeats(product: Product) -> int:
    return max(round(LEAST_FLOPS / product.flops), 1)


def operands(product: Product) -> tuple[np.ndarray, np.ndarray]:
    draw, (batch, m, k, n) = np.random.default_rng(0), product
    return draw.normal(size=(batch, m, k)).astype(np.float32), draw.normal(size=(batch, k, n)).astype(np.float32)


def by_numpy(product: Product) -> Program:
    """OpenBLAS, one matrix after the other."""
    a, b = operands(product)
    out = np.empty((product.batch, product.m, product.n), np.float32)
    pairs = list(zip(a, b, out, strict=True)) * repeats(product)

    def multiply() -> None:
        for left, right, result in pairs:
            np.matmul(left, right, out=result)

    return multiply


def by_xla(product: Product) -> Program:
    """XLA's own, in a loop that cannot be shortened, as the operands pass through every turn of it."""
    a, b = (x[0] if product.batch == 1 else x for x in map(jnp.asarray, operands(product)))

    @jax.jit
    def multiply(a, b):
        def once(_, carry):
            a, b, _ = carry
            return jax.lax.optimization_barrier((a, b, a @ b))

        return jax.lax.fori_loop(0, repeats(product), once, (a, b, a @ b))[2]

    return lambda: multiply(a, b)


def main() -> None:
    steps = {"measure": measure_steps(), "sac": sac_steps(random_episodes())}
    inside = {name: products(step.text()) for name, step in steps.items()}
    shapes = {LARGE, OFTEN_MET}.union(*inside.values())
    kinds = {"numpy": by_numpy, "xla": by_xla}
    programs = {f"{kind} {shape}": program(shape) for kind, program in kinds.items() for shape in shapes}
    taken = seconds({**steps, **programs})
    one = {(kind, shape): taken[f"{kind} {shape}"] / repeats(shape) for kind in kinds for shape in shapes}
    found = {name: share(taken[name], counted, one) for name, counted in inside.items()}
    gflops = {
        f"{kind}_{shape.m}": shape.flops / one[kind, shape] / 1e9 for shape in (LARGE, OFTEN_MET) for kind in kinds
    }
    write_part("peak", found | {"gflops": gflops})


def share(step: float, counted: Counter[Product], one: dict[tuple[str, Product], float]) -> dict[str, float]:
    """A step's time, that of its products, each by whoever is faster, and what the products are of the whole."""
    best = sum(count * min(one["numpy", shape], one["xla", shape]) for shape, count in counted.items())
    flops = sum(count * shape.flops for shape, count in counted.items())
    return {
        "step_ms": 1e3 * step / STEPS,
        "products_ms": 1e3 * best / STEPS,
        "products_in_a_step": counted.total() / STEPS,
        "products_mflop": flops / STEPS / 1e6,
        "share_of_peak": best / step,
    }


if __name__ == "__main__":
    main()
