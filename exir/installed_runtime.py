# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Optional access to the installed runtime. The compiler imports the runtime's probe by name, and works without it."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["RuntimeProbe", "installed_runtime"]

_PROBE = "executorch.export.runtime_probe"


class RuntimeProbe(Protocol):
    """Functions of the probe's module. Each raises RuntimeError if the runtime returns an error."""

    def backend_names(self) -> Collection[str]: ...

    def load_delegate(self, module: LoweredBackendModule) -> None: ...

    def method_allocator_bytes(self, program: bytes) -> dict[str, int]: ...

    def temp_memory_peak(self, program: bytes, method: str, inputs: Sequence[Any]) -> int: ...


@cache
def installed_runtime() -> RuntimeProbe | None:
    """Return the probe, or None where the Python runtime is not installed."""
    try:
        return cast(RuntimeProbe, importlib.import_module(_PROBE))
    except ImportError:
        return None
