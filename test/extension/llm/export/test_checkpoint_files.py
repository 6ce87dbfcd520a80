# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Checkpoints of sparse tensors, of tensors that repeat their bytes, and of sizes that torch refuses."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
import torch

from executorch.extension.llm.export.load import CheckpointFileError, load_checkpoint

OUTSIDE = torch.sparse_coo_tensor(torch.tensor([[1 << 40]]), torch.ones(1), (4,), check_invariants=False)
EYE = torch.eye(64)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"a": OUTSIDE}, "'a': expected a dense tensor, found torch.sparse_coo"),
        ({"a": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])}, "'a': expected a dense tensor"),
        ({"a": torch.ones(1).expand(1 << 45)}, "expected tensors of at most 32 bytes"),
        ({str(i): EYE for i in range(9)}, "expected tensors of at most 131072 bytes, found 147456"),
    ],
)
def test_tensors_that_are_not_dense_or_repeat_their_bytes_are_refused(
    weights: dict[str, torch.Tensor], says: str, tmp_path: Path
) -> None:
    torch.save(weights, tmp_path / "a.pth")
    with pytest.raises(CheckpointFileError, match=says):
        load_checkpoint(tmp_path / "a.pth")


def test_layers_may_share_their_weights(tmp_path: Path) -> None:
    torch.save({"a": EYE, "b": EYE.t(), "c": EYE[:2], "d": torch.ones(0)}, tmp_path / "a.pth")
    assert load_checkpoint(tmp_path / "a.pth").keys() == {"a", "b", "c", "d"}


def test_sizes_that_torch_refuses_are_a_checkpoint_error(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1 << 63, 0], "data_offsets": [0, 0]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointFileError, match="Overflow"):
        load_checkpoint(tmp_path / "a.safetensors")


def test_names_of_shards_that_no_file_has_are_a_checkpoint_error(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "\ud800.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointFileError, match="surrogates"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["a.safetensors", "a.pth", "a.bin"])
def test_a_fifo_in_a_checkpoint_is_refused_without_waiting(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(CheckpointFileError, match="expected a regular file"):
        load_checkpoint(tmp_path)
    with pytest.raises(CheckpointFileError, match="expected a regular file"):
        load_checkpoint(tmp_path / name)


def test_a_fifo_as_the_index_of_a_checkpoint_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors.index.json")
    with pytest.raises(OSError, match="not a regular file"):
        load_checkpoint(tmp_path)


def test_a_shard_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": ".."}}))
    with pytest.raises(CheckpointFileError, match="expected a regular file"):
        load_checkpoint(tmp_path)
