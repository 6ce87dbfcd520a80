# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Checkpoints as dictionaries of tensors: safetensors (also sharded), PyTorch, a Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from executorch.exir.serialize.pickled_tensors import check_saved_tensors
from executorch.exir.serialize.regular_file import read_regular_file

_INDEX = "model.safetensors.index.json"
_WRAPPERS = ("model", "state_dict")
_MAX_REPEATS = 8  # of a tensor's bytes: layers may share their weights


class CheckpointFileError(ValueError):
    """A broken checkpoint, or another kind of file."""


def iter_checkpoint(path: str | Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and tensors of a file or folder, a file at a time. Raises CheckpointFileError, OSError."""
    for file in _files(Path(path)):
        yield from _read(file).items()


def load_checkpoint(path: str | Path) -> dict[str, torch.Tensor]:
    """All tensors of a file or folder. Raises CheckpointFileError, OSError."""
    tensors: dict[str, torch.Tensor] = {}
    for name, tensor in iter_checkpoint(path):
        if name in tensors:
            raise CheckpointFileError(f"{path}: expected each tensor in one file, found {name!r} in several")
        tensors[name] = tensor
    return tensors


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(f"checkpoint: expected a file or a folder, found nothing at {path}")
        return _shards(path) if path.name.endswith(".index.json") else [path]
    if (path / _INDEX).exists():
        return _shards(path / _INDEX)
    files = sorted(path.glob("*.safetensors")) or sorted(path.glob("*.bin")) or sorted(path.glob("*.pth"))
    if not files:
        raise FileNotFoundError(f"checkpoint: expected *.safetensors, *.bin or *.pth in {path}")
    return files


def _shards(index: Path) -> list[Path]:
    try:
        names = set(json.loads(read_regular_file(index))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointFileError(f"{index}: expected an object with weight_map") from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise CheckpointFileError(f"{index}: expected names of files beside it, found {name!r}")
    return sorted(index.parent / name for name in names)


def _read(file: Path) -> dict[str, torch.Tensor]:
    if file.exists() and not file.is_file():  # opening a FIFO would wait for a writer
        raise CheckpointFileError(f"{file}: expected a regular file")
    if file.suffix == ".safetensors":
        import safetensors.torch

        try:
            return safetensors.torch.load_file(file)
        except OSError:
            raise
        except Exception as error:  # torch and Python refuse sizes and names that safetensors takes
            raise CheckpointFileError(f"{file}: {error}") from error
    return _tensors(file, _unpickle(file))


def _unpickle(file: Path) -> Any:
    try:
        with file.open("rb") as opened:
            check_saved_tensors(opened)
        try:
            return torch.load(file, map_location="cpu", mmap=True, weights_only=True)
        except RuntimeError:  # the older format cannot be mapped
            return torch.load(file, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # broken pickles raise any exception
        raise CheckpointFileError(f"{file}: expected a PyTorch checkpoint that has only tensors: {error}") from error


def _tensors(file: Path, read: Any) -> dict[str, torch.Tensor]:
    for wrapper in _WRAPPERS:
        if isinstance(read, dict) and isinstance(read.get(wrapper), dict):
            read = read[wrapper]
    if not isinstance(read, dict):
        raise CheckpointFileError(f"{file}: expected a dictionary of tensors, found {type(read).__name__}")
    for name, value in read.items():
        if not isinstance(name, str):
            raise CheckpointFileError(f"{file}: expected texts as names of tensors, found {name!r}")
        if not isinstance(value, torch.Tensor):
            raise CheckpointFileError(f"{file}: {name!r}: expected a tensor, found {type(value).__name__}")
        # torch's operators trust the indices of a sparse tensor.
        if value.layout is not torch.strided or value.is_nested:
            kind = "a nested tensor" if value.is_nested else str(value.layout)
            raise CheckpointFileError(f"{file}: {name!r}: expected a dense tensor, found {kind}")
    _check_size(file, read)
    return read


def _check_size(file: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Refuse tensors that together describe far more than their memory: each may repeat the same bytes."""
    memory = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors.values()}
    together = sum(tensor.nbytes for tensor in tensors.values())
    limit = _MAX_REPEATS * sum(memory.values())
    if together > limit:
        raise CheckpointFileError(f"{file}: expected tensors of at most {limit} bytes, found {together}")
