"""Saves and restores a State: an array file and a JSON manifest with its checksum, each written whole or not at all."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from leads.errors import UserError

State = TypeVar("State")

KEPT = 2
"""Checkpoints that stay; an older one is there for when the newest turns out to be damaged."""


class DamagedCheckpoint(Exception):
    """A checkpoint that is truncated or altered."""


def save(directory: Path, epoch: int, state: Any) -> None:
    """Writes `epoch-N.npz` and `epoch-N.json`; the manifest comes last, so a checkpoint with one is complete."""
    directory.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(leaf) for name, leaf in _named_leaves(_plain_keys(state))}
    np.savez(buffer, **arrays)
    data = buffer.getvalue()
    manifest = {"epoch": epoch, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    write_whole(directory / f"epoch-{epoch:06d}.npz", data)
    write_whole(directory / f"epoch-{epoch:06d}.json", json.dumps(manifest).encode())
    for old in epochs(directory)[:-KEPT]:
        remove(directory, old)


def remove(directory: Path, epoch: int) -> None:
    for kind in ("json", "npz"):
        (directory / f"epoch-{epoch:06d}.{kind}").unlink(missing_ok=True)


def epochs(directory: Path) -> list[int]:
    """The epochs of which there is a checkpoint, oldest first."""
    return sorted(int(path.stem.removeprefix("epoch-")) for path in directory.glob("epoch-*.json"))


def restore(directory: Path, epoch: int, like: State) -> State:
    """The state saved at `epoch`, in the shape of `like`."""
    path = directory / f"epoch-{epoch:06d}.npz"
    arrays = _read(path)
    expected = {name: (leaf.shape, leaf.dtype) for name, leaf in _named_leaves(_plain_keys(like))}
    if {name: (array.shape, array.dtype) for name, array in arrays.items()} != expected:
        raise UserError(f"checkpoint {path} is whole but not of this run's config: was config.json changed?")
    leaves = [jax.numpy.asarray(arrays[name]) for name in expected]
    plain = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return jax.tree.map(lambda old, new: jax.random.wrap_key_data(new) if _is_key(old) else new, like, plain)


def _plain_keys(state: Any) -> Any:
    """With typed PRNG keys as the numbers they are."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, state)


def _is_key(leaf: Any) -> bool:
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        manifest = json.loads(path.with_suffix(".json").read_text())
        data = path.read_bytes()
        if len(data) != manifest["bytes"] or hashlib.sha256(data).hexdigest() != manifest["sha256"]:
            raise DamagedCheckpoint(f"checkpoint {path} is damaged: its checksum does not match")
        with np.load(io.BytesIO(data)) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise DamagedCheckpoint(f"checkpoint {path} is damaged: {error}") from error


def damaged(directory: Path) -> dict[int, str]:
    """The epochs, newest first, of damaged checkpoints that are newer than every whole one, and what is wrong."""
    found: dict[int, str] = {}
    for epoch in reversed(epochs(directory)):
        try:
            _read(directory / f"epoch-{epoch:06d}.npz")
            break
        except DamagedCheckpoint as error:
            found[epoch] = str(error)
    return found


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file under a temporary name, makes sure of it on disk and renames it."""
    temporary = path.with_name(path.name + ".partial")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _named_leaves(state: Any) -> list[tuple[str, jax.Array]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]]
