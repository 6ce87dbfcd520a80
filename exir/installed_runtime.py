# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The runtime beside the compiler, if there is one. The compiler depends on none: it asks for its witness by name."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["RuntimeWitness", "installed_runtime"]

_WITNESS = "executorch.export.runtime_witness"


class RuntimeWitness(Protocol):
    """Functions of the witness's module. Each raises RuntimeError where the runtime refuses."""

    def backend_names(self) -> Collection[str]: ...

    def load_delegate(self, module: LoweredBackendModule) -> None: ...

    def method_allocator_bytes(self, program: bytes) -> dict[str, int]: ...

    def temp_memory_peak(self, program: bytes, method: str, inputs: Sequence[Any]) -> int: ...


@cache
def installed_runtime() -> RuntimeWitness | None:
    """The witness, or None where the Python runtime is not installed."""
    try:
        return cast(RuntimeWitness, importlib.import_module(_WITNESS))
    except ImportError:
        return None
