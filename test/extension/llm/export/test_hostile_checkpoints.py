# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Checkpoints of torch.save that would take far more memory than their bytes, or whose contents are missing."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from executorch.examples.models.llama.convert_weights import CheckpointError, from_hugging_face
from executorch.examples.models.llama.lora import read_adapter
from executorch.examples.models.llama.model_args import ModelArgs, ModelArgsError
from executorch.exir.serde.program_bytes import tensors_of
from executorch.extension.llm.export.config.llm_config import LlmConfigError, LoraConfig
from executorch.extension.llm.export.load import CheckpointFileError, load_checkpoint

GB = 1 << 30
ONES = torch.ones(2, 2)


def name(module: str, function: str) -> bytes:
    return f"c{module}\n{function}\n".encode()


def number(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def call(function: bytes, *arguments: bytes) -> bytes:
    return function + b"(" + b"".join(arguments) + b"tR"


def tensor(count: int, key: str = "0", view: bytes = b"N") -> bytes:
    """A tensor of that many floats in a storage. view: what follows in the storage's description."""
    described = text("storage") + name("torch", "FloatStorage") + text(key) + text("cpu") + number(count) + view
    storage = b"(" + described + b"tQ"
    sizes = (number(count) + b"\x85", number(1) + b"\x85")
    hooks = call(name("collections", "OrderedDict"))
    return call(name("torch._utils", "_rebuild_tensor_v2"), storage, number(0), *sizes, b"\x89", hooks)


def older_format(value: bytes, keys: list[str], contents: bytes = b"") -> bytes:
    """A file of the older format with the dictionary {"a": value}."""
    file = io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(part, file, 2)
    file.write(b"\x80\x02}" + text("a") + value + b"s.")
    pickle.dump(keys, file, 2)
    return file.getvalue() + contents


def encoded(times: int) -> bytes:
    """A text of 1000 bytes that is doubled again and again."""
    value = call(name("_codecs", "encode"), text("a" * 1000), text("latin1"))
    for _ in range(times):
        value = call(name("_codecs", "encode"), value, text("hex"))
    return value


def repacked(change: Callable[[zipfile.ZipInfo, bytes], list[tuple[str, bytes]]], compression: int) -> bytes:
    """A file of torch.save whose entries are written anew."""
    original, file = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(1000)}, original)
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(file, "w", compression) as target:
        for entry in source.infolist():
            for path, data in change(entry, source.read(entry)):
                target.writestr(path, data)
    return file.getvalue()


def archive(folder: str, *entries: tuple[str, bytes]) -> bytes:
    """An archive that torch reads as the entries of the folder."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for path, data in ((f"{folder}/version", b"3"), *entries):
            target.writestr(path, data)
    return file.getvalue()


def saved(value: bytes) -> bytes:
    """The entry data.pkl of the dictionary {"a": value}."""
    return b"\x80\x02}" + text("a") + value + b"s."


def two_directories(read_by_torch: bytes, read_by_python: bytes) -> bytes:
    """An archive whose end refers to the first directory, with the second one directly before it.

    Python computes from the end that offsets count from later in the file. Both directories have the same size.
    """
    end = struct.Struct("<4s4H2LH")
    parts = []
    for data in (read_by_torch, read_by_python):
        *_, size, first, _ = end.unpack(data[-end.size :])
        parts += [data[:first], data[first : first + size]]
    contents, directory, later_contents, later_directory = parts
    moved, at = bytearray(later_directory), 0
    while at < len(moved):
        (offset,) = struct.unpack_from("<L", moved, at + 42)
        struct.pack_into("<L", moved, at + 42, offset + len(contents) - len(later_contents))
        at += 46 + sum(struct.unpack_from("<3H", moved, at + 28))
    return contents + directory + later_contents + moved + read_by_torch[-end.size :]


GREEDY, SMALL = saved(call(name("builtins", "bytearray"), number(4 * GB))), saved(tensor(2, view=b""))
FILES = {
    "a pickle under a name in capitals": (
        archive("x", ("x/DATA.PKL", GREEDY), ("x/y/data.pkl", SMALL), ("x/y/data/0", bytes(8))),
        "builtins.bytearray",
    ),
    "two directories": (
        two_directories(
            archive("x", ("x/data.pkl", GREEDY.ljust(len(SMALL))), ("x/data/0", bytes(8))),
            archive("x", ("x/data.pkl", SMALL), ("x/data/0", bytes(8))),
        ),
        "expected the archive's directory directly before its end",
    ),
    "a storage whose name has two encodings": (
        archive(
            "x", ("x/data.pkl", saved(tensor(2, "é", view=b""))), ("x/data/@@", b""), ("x/data/é", bytes(8))
        ).replace(b"@@", "é".encode()),
        "expected entries with different names",
    ),
    "a folder whose name has a null byte": (
        archive("x@y", ("x@y/data.pkl", SMALL), ("x@y/data/0", bytes(8)), ("x", GREEDY)).replace(b"x@y", b"x\0y"),
        "expected entries with plain names and properties",
    ),
    "a storage without contents": (older_format(tensor(2 * GB), []), "expected contents of each storage"),
    "a storage with few contents": (
        older_format(tensor(2 * GB), ["0"], bytes(64)),
        "bytes of storages at the end, found",
    ),
    "a call of bytearray": (
        older_format(call(name("builtins", "bytearray"), number(4 * GB)), []),
        "builtins.bytearray",
    ),
    "a text encoded 30 times": (older_format(encoded(30), []), "found _codecs.encode"),
    "a copied dictionary": (
        older_format(call(name("collections", "OrderedDict"), call(name("collections", "OrderedDict"))), []),
        "expected OrderedDict without arguments",
    ),
    "a call of a type": (older_format(call(name("torch", "FloatStorage"), number(4 * GB)), []), "expected a call"),
    "compressed entries": (
        repacked(lambda entry, data: [(entry.filename, data)], zipfile.ZIP_DEFLATED),
        "expected stored entries, found the compressed",
    ),
    "entries of one name but for case": (
        repacked(lambda entry, data: [(entry.filename, data), (entry.filename.upper(), data)], zipfile.ZIP_STORED),
        "expected entries with different names",
    ),
    "a storage without an entry": (
        repacked(lambda entry, data: [] if entry.filename.endswith("/0") else [(entry.filename, data)], 0),
        "expected an entry with the 4000 bytes of storage '0'",
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_a_checkpoint_takes_memory_in_proportion_to_its_bytes(what: str, tmp_path: Path) -> None:
    data, says = FILES[what]
    (tmp_path / "a.pth").write_bytes(data)
    with pytest.raises(CheckpointFileError, match=says):
        load_checkpoint(tmp_path / "a.pth")
    with pytest.raises(ValueError, match=says):
        tensors_of(data)


def test_the_older_format_is_read(tmp_path: Path) -> None:
    data = older_format(tensor(2), ["0"], struct.pack("<qff", 2, 1.5, -2))
    (tmp_path / "a.pth").write_bytes(data)
    assert load_checkpoint(tmp_path / "a.pth")["a"].tolist() == [1.5, -2]


def test_tensors_without_memory_are_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.empty(1 << 40, device="meta")}, tmp_path / "a.pth")
    with pytest.raises(CheckpointFileError, match="_rebuild_meta_tensor_no_storage"):
        load_checkpoint(tmp_path / "a.pth")


def test_a_tensor_of_several_files_is_refused(tmp_path: Path) -> None:
    for part in ("a.pth", "b.pth"):
        torch.save({"x": torch.ones(2)}, tmp_path / part)
    with pytest.raises(CheckpointFileError, match="expected each tensor in one file, found 'x' in several"):
        load_checkpoint(tmp_path)


def test_names_are_texts(tmp_path: Path) -> None:
    torch.save({5: torch.ones(2)}, tmp_path / "a.pth")
    with pytest.raises(CheckpointFileError, match="expected texts as names of tensors, found 5"):
        load_checkpoint(tmp_path / "a.pth")


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.uint16, torch.bool, torch.complex64, torch.bfloat16])
def test_state_dicts_of_every_dtype_are_read(dtype: torch.dtype, tmp_path: Path) -> None:
    module = torch.nn.Module()
    module.register_buffer("a", torch.ones(3, 4).to(dtype))
    module.weight = torch.nn.Parameter(torch.ones(2))
    # torch cannot read its newer dtypes in the older format.
    for zipped in {True, dtype in (torch.float8_e4m3fn, torch.uint16)}:
        torch.save(module.state_dict(keep_vars=True), tmp_path / "a.pth", _use_new_zipfile_serialization=zipped)
        read = load_checkpoint(tmp_path / "a.pth")
        assert read["a"].dtype == dtype and read["a"].shape == (3, 4) and read["weight"].shape == (2,)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_records_hold_containers_of_every_kind_of_tensor() -> None:
    kinds = {
        "quantized": torch.quantize_per_tensor(torch.ones(4), 0.5, 0, torch.qint8),
        "by channel": torch.quantize_per_channel(
            torch.ones(2, 2), torch.ones(2), torch.zeros(2).int(), 0, torch.quint8
        ),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "sparse": ONES.to_sparse(),
        "others": [(torch.Size([1, 2]), torch.float16, 1 + 2j, None, True), {"a": 2**80, 3: -1.5}],
    }
    for zipped in (True, False):
        file = io.BytesIO()
        torch.save(kinds, file, _use_new_zipfile_serialization=zipped)
        read = tensors_of(file.getvalue())
        assert read.keys() == kinds.keys() and read["others"] == kinds["others"]
        assert torch.equal(read["by channel"].dequantize(), ONES)


EXPERT = "model.layers.0.mlp.experts.{}.{}.weight"


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"model.norm.weight": (2,), "model.embedding_norm.weight": (2,)}, "another weight becomes norm.weight too"),
        ({"model.layers.0.self_attn.qkv_proj.weight": ()}, "expected rows, found a number"),
        (
            {"model.layers.0.self_attn.qkv_proj.weight": (6, 2), "model.layers.0.self_attn.o_proj.weight": ()},
            "6 rows cannot be divided",
        ),
        (
            {EXPERT.format(i, w): (2 + i, 2) for i in range(2) for w in ("w1", "w2", "w3")},
            "expected matrices of one shape for all experts",
        ),
        ({EXPERT.format(0, w): (2,) for w in ("w1", "w2", "w3")}, "expected matrices of one shape for all experts"),
    ],
)
def test_weights_that_contradict_each_other_are_a_checkpoint_error(
    shapes: dict[str, tuple[int, ...]], says: str
) -> None:
    with pytest.raises(CheckpointError, match=says):
        from_hugging_face({name: torch.ones(shape) for name, shape in shapes.items()})


def test_an_adapter_has_a_finite_alpha(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"r": 2, "lora_alpha": NaN, "target_modules": ["q_proj"]}')
    with pytest.raises(LlmConfigError, match="expected a positive rank and alpha, found 2 and nan"):
        read_adapter(LoraConfig(adapter_checkpoint=str(tmp_path)))


@pytest.mark.parametrize("read", [ModelArgs.from_hugging_face, ModelArgs.from_params, ModelArgs.from_file])
def test_a_deeply_nested_configuration_is_refused(read: Callable[[Path], ModelArgs], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ModelArgsError, match="expected JSON"):
        read(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[" * 100_000, "expected JSON"),
        (f'{{"r": 2, "lora_alpha": 1{"0" * 400}, "target_modules": ["q_proj"]}}', "expected numbers r and lora_alpha"),
        (f'{{"r": 1{"0" * 400}, "lora_alpha": 2, "target_modules": ["q_proj"]}}', "expected numbers r and lora_alpha"),
    ],
    ids=["nested", "alpha", "rank"],
)
def test_a_hostile_configuration_of_an_adapter_is_refused(config: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(config)
    with pytest.raises(LlmConfigError, match=says):
        read_adapter(LoraConfig(adapter_checkpoint=str(tmp_path)))


def test_no_configuration_waits_for_the_writer_of_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "adapter_config.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_adapter(LoraConfig(adapter_checkpoint=str(tmp_path)))
    with pytest.raises(OSError, match="not a regular file"):
        ModelArgs.from_file(tmp_path / "adapter_config.json")
