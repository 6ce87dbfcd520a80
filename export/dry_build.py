# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Delegates are tried before a program is finished, wherever this process's runtime has their backend."""

from __future__ import annotations

from executorch.exir.backend.dry_build import can_dry_build, register_dry_build
from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["load_in_runtime", "use_runtime_backends"]


def use_runtime_backends() -> None:
    """Registers `load_in_runtime` for the backends of the runtime, but for those whose package registered its own.

    Does nothing where the runtime is not installed: the verdict then says that no backend was there.
    """
    try:
        from executorch.runtime import Runtime
    except ImportError:
        return
    for name in Runtime.get().backend_registry.registered_backend_names:
        if not can_dry_build(name):
            register_dry_build(name, load_in_runtime)


def load_in_runtime(module: LoweredBackendModule) -> None:
    """Loads a program that calls just this delegate, as a device would. RuntimeError: the backend does not take it."""
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(module.buffer())
    program.load_method("forward")
