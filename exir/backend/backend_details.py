# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BackendDetails, the ahead-of-time interface of a backend, and PreprocessResult, the result of its methods.

A backend is a direct subclass of `BackendDetails`. Its id is its class name; importing its module registers it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from torch.export.exported_program import ExportedProgram

from executorch.exir.backend.debug_tools import DebugTools
from executorch.exir.format.named_data import NamedDataStoreOutput
from executorch.exir.schema import CompileSpec

__all__ = ["BackendDetails", "CompileSpec", "ExportedProgram", "PreprocessResult", "enforcedmethod", "find_backend"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def enforcedmethod(func: _Function) -> _Function:
    """Mark a method that every subclass has to provide."""
    func.__enforcedmethod__ = True  # type: ignore[attr-defined]
    return func


@dataclass
class PreprocessResult:
    """The result of compiling one partition.

    processed_bytes: the payload that the backend's runtime gets at load.
    debug_handle_map: identifier inside the delegate (int or str) → debug handles of the nodes it stands for.
    data_store_output: named data of this delegate, kept in the program (or beside it) and shared by name.
    _delegate_info_meta: data of the backend's own for `LoweredBackendModule.meta`; not written to the file.
    """

    processed_bytes: bytes = b""
    debug_handle_map: (
        dict[int, tuple[int, ...]] | dict[str, tuple[int, ...]] | dict[int | str, tuple[int, ...]] | None
    ) = None
    data_store_output: NamedDataStoreOutput | None = None
    _delegate_info_meta: object | None = None


class BackendDetails(ABC):
    """The ahead-of-time half of a backend. Its class name is the backend's id, in the program and in the runtime."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__bases__:
            if base is not BackendDetails and issubclass(base, BackendDetails):
                raise TypeError(
                    f"{cls.__name__} derives from the backend {base.__name__}: a backend is final, its name is its "
                    "identity. Derive from BackendDetails and share code through functions."
                )

    @staticmethod
    @enforcedmethod
    @abstractmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compile one partition.

        The graph of `edge_program` is a copy and may change in place; its weights are the model's and must not.
        """

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        """Compile all partitions of all methods; override it to share data, such as weights.

        `edge_programs[method][i]` is compiled with `compile_specs[method][i]` to `result[method][i]`. Raises ValueError
        if the two differ in methods or lengths.
        """
        results: dict[str, list[PreprocessResult]] = {}
        for method, programs in edge_programs.items():
            if method not in compile_specs:
                raise ValueError(f"{cls.__name__}: method {method!r} has partitions and no compile specs")
            specs = compile_specs[method]
            if len(specs) != len(programs):
                raise ValueError(
                    f"{cls.__name__}: method {method!r} has {len(programs)} partitions, "
                    f"but {len(specs)} lists of compile specs"
                )
            results[method] = [cls.preprocess(program, spec) for program, spec in zip(programs, specs, strict=True)]
        return results

    @classmethod
    def debug_tools(cls) -> DebugTools:
        """Return functions with which the developer tools analyze delegates of this backend; by default none."""
        return DebugTools()


def find_backend(backend_id: str) -> type[BackendDetails]:
    """Return the backend called `backend_id`. Raises NotImplementedError if no imported module defines it."""
    # The latest definition wins, as it does for any other name in Python (notebooks define a class again).
    known = {backend.__name__: backend for backend in BackendDetails.__subclasses__()}
    if backend_id not in known:
        raise NotImplementedError(
            f"Backend {backend_id} was not found. Known backends: {', '.join(sorted(known)) or 'none'}. "
            "A backend is known once the module that defines its BackendDetails subclass is imported."
        )
    return known[backend_id]
