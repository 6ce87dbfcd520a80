# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dry builds: load a compiled delegate ahead of time, to find payloads that its backend rejects.

A backend of the installed runtime loads its delegate there. A backend with device code elsewhere in this process
registers a function that builds a delegate without running it. `to_executorch` rejects a program whose delegates fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from executorch.exir.error import Rejection
from executorch.exir.plugins.installed_runtime import installed_runtime

if TYPE_CHECKING:
    from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["DryBuild", "can_dry_build", "register_dry_build", "try_dry_build", "unregister_dry_build"]

# Builds the delegate as the device would. Raises RuntimeError, ValueError or TypeError with the reason if it cannot.
DryBuild = Callable[["LoweredBackendModule"], object]

_registered: dict[str, DryBuild] = {}


def register_dry_build(backend_id: str, build: DryBuild) -> None:
    """Try each delegate of `backend_id` with `build` before a program is finished. Replaces an earlier registration."""
    _registered[backend_id] = build


def unregister_dry_build(backend_id: str) -> None:
    """Remove the registration of `backend_id`, if there is one."""
    _registered.pop(backend_id, None)


def can_dry_build(backend_id: str) -> bool:
    """Return whether delegates of the backend can be tried in this process."""
    return _build_of(backend_id) is not None


def _build_of(backend_id: str) -> DryBuild | None:
    if backend_id in _registered:
        return _registered[backend_id]
    runtime = installed_runtime()
    return None if runtime is None or backend_id not in runtime.backend_names() else runtime.load_delegate


def try_dry_build(module: LoweredBackendModule) -> Rejection | None:
    """Build the delegate if its backend is in this process. Return the backend's error, if it raises one."""
    build = _build_of(module.backend_id)
    if build is None:
        return None
    try:
        build(module)
    except (RuntimeError, ValueError, TypeError) as error:
        return Rejection(str(error) or type(error).__name__)
    return None
