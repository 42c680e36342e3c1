"""`make bench`: products counted in compiled programs, versions that take turns, and the tables. Never a time."""

import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

ROOT = Path(__file__).parents[2]
BATCH, SIZES = 64, (24, 40, 48, 16)


@pytest.fixture(scope="module", autouse=True)
def studies():
    """The studies can be imported, and leave the environment as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "studies")
        patch.setenv("XLA_FLAGS", "")
        yield


def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return jnp.sum(x**2)


def descend(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, jax.grad(loss)(weights, x))


def counted(program, *arguments) -> Counter:
    """(batch, k, and m and n in order) of a program's products: XLA may compute a product transposed."""
    from products import products

    found = products(jax.jit(program).lower(*arguments).compile().as_text())
    return Counter((p.batch, p.k, *sorted((p.m, p.n))) for p in found.elements())


@pytest.fixture
def network() -> list[jax.Array]:
    return [jax.random.normal(jax.random.key(i), pair) for i, pair in enumerate(pairwise(SIZES))]


BY_HAND = Counter(
    [(1, i, *sorted((BATCH, o))) for i, o in pairwise(SIZES)]  # forward
    + [(1, BATCH, *sorted((i, o))) for i, o in pairwise(SIZES)]  # slopes of weights
    + [(1, o, *sorted((BATCH, i))) for i, o in pairwise(SIZES[1:])]  # slopes of inputs
)
"""The products of a gradient step on the network."""


def test_products_of_a_gradient_step_are_those_counted_by_hand(network):
    assert counted(descend, network, jnp.ones((BATCH, SIZES[0]))) == BY_HAND


def test_a_loop_counts_as_often_as_it_turns(network):
    def many(weights, x):
        return jax.lax.scan(lambda w, _: (descend(w, x), None), weights, length=7)[0]

    found = counted(many, network, jnp.ones((BATCH, SIZES[0])))
    assert found == Counter({product: 7 * count for product, count in BY_HAND.items()})


def test_stacked_networks_are_a_batch_of_products():
    a, b = jnp.ones((2, 64, 32)), jnp.ones((2, 32, 48))
    assert counted(jnp.matmul, a, b) == Counter({(2, 32, 48, 64): 1})


def test_a_loop_of_unknown_length_is_not_guessed():
    def until(x):
        return jax.lax.while_loop(lambda x: jnp.sum(x) < 1e3, lambda x: x @ x, x)

    with pytest.raises(ValueError, match="unknown length"):
        counted(until, jnp.ones((64, 64)))


def test_products_behind_a_condition_are_not_guessed():
    def maybe(x):
        return jax.lax.cond(jnp.sum(x) > 0, lambda: x @ x, lambda: x)

    with pytest.raises(ValueError, match="behind a condition"):
        counted(maybe, jnp.ones((64, 64)))


def test_a_product_has_two_flops_per_multiplication():
    from products import Product

    assert Product(2, 3, 5, 7).flops == 2 * 2 * 3 * 5 * 7


def test_a_run_goes_on_by_one_epoch_when_asked():
    from epochs import Epochs

    with Epochs(Path(sys.executable), task="maze-u", method="random", n_skill=3, n_episode=2) as run:
        first, second = run.next(), run.next()
    assert second["all_samples"] == first["samples"] + second["samples"] and first["samples"] > 0
    for epoch in (first, second):
        assert 0 < epoch["learning_seconds"] <= epoch["seconds"] <= epoch["seconds_since_start"]
    assert run.process.poll() is not None and not Path(run.scratch.name).exists()


def test_ratios_are_of_the_same_round():
    from measured import rounded, spread

    assert spread([2.0, 9.0, 4.0], [1.0, 3.0, 4.0]) == {"median": 2.0, "least": 1.0, "most": 3.0}
    assert rounded({"a": 1.23456, "b": [123456.0], "c": 123456}) == {"a": 1.235, "b": [123500.0], "c": 123456}


def test_one_part_leaves_the_others_alone(monkeypatch, tmp_path):
    import measured

    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    monkeypatch.setattr(measured, "commit", lambda: "abc")
    (tmp_path / "speed.json").write_text(json.dumps({"peers": {"ours_ms": 1}, "peak": {"share": 0.1}}))
    measured.write_part("peak", {"share": 0.2})
    written = json.loads((tmp_path / "speed.json").read_text())
    assert written["peers"] == {"ours_ms": 1} and written["peak"]["share"] == 0.2
    assert written["peak"].keys() >= {"commit", "processor", "versions"}


def test_every_part_was_measured_and_is_shown():
    import speed
    import speed_tables

    results = json.loads((ROOT / "studies" / "results" / "speed.json").read_text())
    assert results.keys() == speed.PARTS.keys()
    assert all((ROOT / "studies" / f"speed_{part}.py").exists() for part in speed.PARTS)
    page = (ROOT / "docs" / "speed.md").read_text()
    assert all(f"<!-- table {name} -->" in page for name in speed_tables.TABLES)
    titles, rows = speed_tables.peers()
    assert len(rows) == 3 and all(len(row) == len(titles) for row in rows)
    assert rows[1][-1].startswith(f"{results['peers']['sbx_over_ours']['median']:.2f} (")
