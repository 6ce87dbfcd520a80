# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Trying, ahead of time, whether a backend takes what was compiled for it: callables that backends' packages register.

A backend of the installed runtime is tried by loading its delegate there; a backend whose device code is elsewhere in
this process says here how to build a delegate without running it. `to_executorch` refuses what the backend refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from executorch.exir.installed_runtime import installed_runtime

if TYPE_CHECKING:
    from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["DryBuild", "can_dry_build", "dry_build_error", "register_dry_build", "unregister_dry_build"]

# Builds the delegate as the device would; raises a RuntimeError, ValueError or TypeError that says why it cannot.
DryBuild = Callable[["LoweredBackendModule"], object]

_registered: dict[str, DryBuild] = {}


def register_dry_build(backend_id: str, build: DryBuild) -> None:
    """From now on `build` tries delegates of `backend_id` before a program is finished; the latest one counts."""
    _registered[backend_id] = build


def unregister_dry_build(backend_id: str) -> None:
    """Delegates of `backend_id` are no longer tried."""
    _registered.pop(backend_id, None)


def can_dry_build(backend_id: str) -> bool:
    """Whether delegates of the backend can be tried in this process."""
    return _build_of(backend_id) is not None


def _build_of(backend_id: str) -> DryBuild | None:
    if backend_id in _registered:
        return _registered[backend_id]
    runtime = installed_runtime()
    return None if runtime is None or backend_id not in runtime.backend_names() else runtime.load_delegate


def dry_build_error(module: LoweredBackendModule) -> str:
    """Why the backend does not take the delegate; "" if it does, or is not in this process."""
    build = _build_of(module.backend_id)
    if build is None:
        return ""
    try:
        build(module)
    except (RuntimeError, ValueError, TypeError) as error:
        return str(error) or type(error).__name__
    return ""
