# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The installed runtime, if any. The compiler works without it; the probe that queries it is a plugin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from executorch.exir.plugins import load_plugin

if TYPE_CHECKING:
    from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["RuntimeProbe", "installed_runtime"]


class RuntimeProbe(Protocol):
    """Functions of the probe's module. Each raises RuntimeError if the runtime returns an error."""

    def backend_names(self) -> Collection[str]: ...

    def load_delegate(self, module: LoweredBackendModule) -> None: ...

    def method_allocator_bytes(self, program: bytes) -> dict[str, int]: ...

    def temp_memory_peak(self, program: bytes, method: str, inputs: Sequence[object]) -> int: ...


@cache
def installed_runtime() -> RuntimeProbe | None:
    """Return the probe, or None where the Python runtime is not installed."""
    try:
        return cast(RuntimeProbe, load_plugin("runtime_probe", "installed"))
    except ImportError:
        return None
