# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Query the installed runtime about programs and delegates, for the compiler (exir/plugins/installed_runtime.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executorch.exir.format.named_data import NamedDataStoreOutput
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.runtime import Runtime

__all__ = ["backend_names", "load_delegate", "method_allocator_bytes", "temp_memory_peak"]


def backend_names() -> list[str]:
    """The runtime's backends."""
    return list(Runtime.get().backend_registry.registered_backend_names)


def load_delegate(module: LoweredBackendModule) -> None:
    """Load a program that calls only this delegate. Raises RuntimeError if the backend refuses it."""
    named = module.named_data_store_output
    if named is not None and named.external_data:
        # Data for external files is stored in the trial program.
        inside = {
            key: entry for entries in (named.pte_data, *named.external_data.values()) for key, entry in entries.items()
        }
        module = LoweredBackendModule(
            module.original_module,
            module.backend_id,
            module.processed_bytes,
            module.compile_specs,
            NamedDataStoreOutput(named.buffers, inside, {}),
        )
    program = Runtime.get().load_program(module.buffer())
    program.load_method("forward")


def method_allocator_bytes(program: bytes) -> dict[str, int]:
    """Method → bytes that loading takes from the method allocator, without delegates. Raises RuntimeError if it
    fails.
    """
    loaded = Runtime.get().load_program(program)
    return {name: int(loaded.metadata(name).method_allocator_size()) for name in loaded.method_names}


def temp_memory_peak(program: bytes, method: str, inputs: Sequence[Any]) -> int:
    """Peak temporary memory of a run of the method on one thread. Raises RuntimeError if loading or running fails."""
    loaded = Runtime.get().load_program(program).load_method(method, threads=1)
    if loaded is None:
        raise RuntimeError(f"the program has no method '{method}'")
    loaded.execute(inputs)
    return loaded.temp_memory_peak()
