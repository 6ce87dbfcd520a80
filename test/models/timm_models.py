# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Import timm's models without torchvision, which they do not need."""

import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder

from torch import nn


class _AnyMember(type):
    """A class all of whose members exist, as their own names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _EmptyModule(types.ModuleType):
    """Replaces a torchvision module. Any class imported from it is an unused base class."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnyMember(name, (nn.Module,), {})


class _TorchvisionFinder(MetaPathFinder, Loader):
    """Finds ``torchvision`` and whatever is below it as empty modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "torchvision":
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


@contextmanager
def without_torchvision() -> Iterator[None]:
    """Import ``torchvision`` and its submodules as empty modules within the context."""
    finder = _TorchvisionFinder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for module in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            if isinstance(sys.modules[module], _EmptyModule):
                del sys.modules[module]


def create_model(name: str) -> nn.Module:
    """``timm.create_model`` with random weights."""
    with without_torchvision():
        import timm

        return timm.create_model(name, pretrained=False)
