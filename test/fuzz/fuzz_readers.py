# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reads damaged files with the Python readers: each gives a value or the error that it documents.

    python test/fuzz/fuzz_readers.py [--seconds=N] [--runs=N] [--seed=N] [--findings=FOLDER] [--formats NAME...]

Any other exception, a read of more than SECONDS_PER_READ, or more than MAX_MEMORY is a finding: its input is written
to FOLDER. Programs (.pte), data files (.ptd), bundles (.bpte), traces (.etdp), records (ETRecord), XNNPACK payloads,
GGUF files and checkpoints of language models."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import resource
import signal
import sys
import time
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import model_files

from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from executorch.devtools.etdump import schema_flatcc as dump
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc
from executorch.devtools.etdump.trace import read_trace
from executorch.devtools.etrecord.file import read_record
from executorch.exir.serialize import deserialize_flat_tensor, deserialize_pte
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.extension.llm.export.gguf import GGUFError
from executorch.extension.llm.export.load import CheckpointFileError

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "test" / "data"
SECONDS_PER_READ = 20
MAX_MEMORY = 6 << 30
NUMBERS = (0, 1, 2, 0x7F, 0xFF, 0x100, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@dataclass(frozen=True)
class Format:
    """A fuzzed reader. allowed: exceptions that the reader documents for invalid bytes."""

    name: str
    read: Callable[[bytes], Any]
    allowed: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]


def files(suffix: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(DATA.rglob(f"*{suffix}")))


def payloads() -> tuple[bytes, ...]:
    """The payloads of delegates in test/data/xnnpack."""
    delegates = []
    for program in sorted((DATA / "xnnpack").glob("*.pte")):
        opened = deserialize_pte(program.read_bytes()).program
        delegates += [bytes(entry.data) for entry in opened.backend_delegate_data]
    return tuple(payload for payload in delegates if payload[4:8] == b"XH00")


def traces() -> tuple[bytes, ...]:
    events = [
        dump.Event(
            profile_event=dump.ProfileEvent(
                name=name,
                chain_index=0,
                instruction_id=i,
                delegate_debug_id_int=-1,
                delegate_debug_id_str="",
                delegate_debug_metadata=b"",
                start_time=i * 10,
                end_time=i * 10 + 5,
            ),
            allocation_event=None,
            debug_event=None,
        )
        for i, name in enumerate(("Method::execute", "OPERATOR_CALL", "DELEGATE_CALL"))
    ]
    run = dump.RunData(name="run", bundled_input_index=-1, allocators=[dump.Allocator(name="arena")], events=events)
    return (bytes(serialize_to_etdump_flatcc(dump.ETDumpFlatCC(version=0, run_data=[run]))),)


def records() -> tuple[bytes, ...]:
    """A record without programs: the archive, and the tables in it."""
    record = io.BytesIO()
    with zipfile.ZipFile(record, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("debug_handle_map", json.dumps({"forward": {"0": [1, 2]}}))
        archive.writestr("delegate_map", json.dumps({"forward": {"0": {"name": "X", "delegate_map": {"1": [1]}}}}))
        archive.writestr("instruction_id_to_num_outs_map", json.dumps({"forward": {"0": 1}}))
        archive.writestr("export_graph_id", "7")
    return (record.getvalue(),)


def formats() -> list[Format]:
    malformed, checkpoint = (MalformedProgramError,), (CheckpointFileError,)
    return [
        Format("pte", deserialize_pte, malformed, files(".pte")),
        Format("ptd", deserialize_flat_tensor, malformed, files(".ptd")),
        Format("bpte", deserialize_from_flatbuffer_to_bundled_program, malformed, files(".bpte")),
        Format("etdp", read_trace, malformed, traces()),
        Format("etdp-values", deserialize_from_etdump_flatcc, malformed, traces()),
        Format("etrecord", lambda data: read_record(io.BytesIO(data)), (RuntimeError,), records()),
        Format("payload", deserialize_payload, malformed, payloads()),
        Format("gguf", model_files.gguf_values, (GGUFError,), (model_files.gguf_file(),)),
        Format("safetensors", model_files.safetensors_checkpoint, checkpoint, (model_files.safetensors_file(),)),
        Format("pth", model_files.torch_checkpoint, checkpoint, tuple(map(model_files.torch_file, (True, False)))),
        Format("index", model_files.checkpoint_index, (*checkpoint, OSError), (model_files.index_file(),)),
    ]


def changed(seed: bytes, choice: random.Random) -> bytes:
    """Mutations: bytes, aligned numbers, pieces, length; a few at once."""
    data = bytearray(seed)
    for _ in range(choice.randint(1, 4)):
        how = choice.random()
        if how < 0.1 or not data:
            del data[choice.randint(0, len(data)) :]
        elif how < 0.4:
            data[choice.randrange(len(data))] = choice.randrange(256)
        elif how < 0.85:
            width = choice.choice((1, 2, 4, 8))
            at = choice.randrange(len(data)) // width * width
            number = choice.choice(NUMBERS) if choice.random() < 0.6 else choice.randrange(len(data))
            data[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        else:
            start, end = sorted(choice.randrange(len(data)) for _ in range(2))
            at = choice.randrange(len(data))
            data[at:at] = data[start : min(end, start + 64)]
    return bytes(data)


class TookTooLong(BaseException):
    """A read that goes on and on; no reader catches it."""


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise TookTooLong


def fault_of(form: Format, data: bytes) -> str:
    """Run the reader; empty if it returns or raises a documented error, else a description."""
    signal.alarm(SECONDS_PER_READ)
    try:
        form.read(data)
    except form.allowed:
        return ""
    except TookTooLong:
        return f"takes more than {SECONDS_PER_READ} s"
    except Exception as error:  # noqa: BLE001 (any other one is a finding)
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
    finally:
        signal.alarm(0)
    return ""


def main() -> int:
    every = formats()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--runs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    parser.add_argument("--formats", nargs="+", choices=[form.name for form in every], default=None)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGALRM, interrupt)
    choice = random.Random(options.seed)
    known = [form for form in every if options.formats is None or form.name in options.formats]
    for form in known:
        assert form.seeds, f"no seeds of {form.name}"
        for seed in form.seeds:
            assert not fault_of(form, seed)
    start, runs = time.monotonic(), 0
    seen: set[str] = set()
    while runs < options.runs and time.monotonic() - start < options.seconds:
        form = known[runs % len(known)]
        seed = choice.choice(form.seeds)
        data = changed(seed, choice)
        runs += 1
        fault = fault_of(form, data)
        if fault and f"{form.name}: {fault}" not in seen:
            seen.add(f"{form.name}: {fault}")
            options.findings.mkdir(parents=True, exist_ok=True)
            path = options.findings / f"{hashlib.sha256(data).hexdigest()[:16]}.{form.name}"
            path.write_bytes(data)
            print(f"readers: FINDING after {runs} executions: {form.name}: {fault}\n  input: {path}", flush=True)
    elapsed = time.monotonic() - start
    print(f"readers: {runs} executions in {elapsed:.1f} s, seed {options.seed}, {len(seen)} findings")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
