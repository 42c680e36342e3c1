"""Checkpoints are whole or refused."""

import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from leads.errors import UserError
from leads.training import checkpoint


class State(eqx.Module):
    weights: tuple[Array, ...]
    count: Array


STATE = State((jnp.arange(6.0).reshape(2, 3), jnp.asarray([True, False])), jnp.int32(7))


def test_what_is_saved_is_restored_bit_for_bit(tmp_path):
    checkpoint.save(tmp_path, 3, STATE)
    restored = checkpoint.restore(tmp_path, 3, State((jnp.zeros((2, 3)), jnp.zeros(2, bool)), jnp.int32(0)))
    assert eqx.tree_equal(restored, STATE)


def test_only_the_newest_are_kept_and_no_partial_file_stays(tmp_path):
    for epoch in range(1, 6):
        checkpoint.save(tmp_path, epoch, STATE)
    assert checkpoint.epochs(tmp_path) == [4, 5]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["epoch-000004.json", "epoch-000004.npz", "epoch-000005.json", "epoch-000005.npz"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "missing", "manifest"])
def test_a_damaged_checkpoint_is_named(tmp_path, damage):
    checkpoint.save(tmp_path, 1, STATE)
    path = tmp_path / "epoch-000001.npz"
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif damage == "missing":
        path.unlink()
    else:
        path.with_suffix(".json").write_text("{")
    with pytest.raises(checkpoint.DamagedCheckpoint, match=r"epoch-000001\.npz is damaged"):
        checkpoint.restore(tmp_path, 1, STATE)


def test_a_state_of_another_shape_is_refused(tmp_path):
    checkpoint.save(tmp_path, 1, STATE)
    other = State((jnp.zeros((3, 2)), jnp.zeros(2, bool)), jnp.int32(0))
    with pytest.raises(UserError, match="not of this run's config"):
        checkpoint.restore(tmp_path, 1, other)


def test_no_pickle_is_ever_read(tmp_path):
    checkpoint.save(tmp_path, 1, STATE)
    with np.load(tmp_path / "epoch-000001.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {".weights[0]", ".weights[1]", ".count"}
    assert json.loads((tmp_path / "epoch-000001.json").read_text())["epoch"] == 1
