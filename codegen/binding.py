# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Generate the C++ of a registration library from yaml and a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from executorch.codegen import sources
from executorch.codegen.kernel_dtypes import kernel_dtypes
from executorch.codegen.library_yaml import KernelRow, aten_operators, read_library, refuse_duplicates, suggestion
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.selection import Selection
from executorch.codegen.source_table import KERNELS, LIBRARIES

PORTABLE_YAML = KERNELS / "portable" / "functions.yaml"
PORTABLE_NAMESPACE = "executorch::kernels::portable"

# Operators that the target `executorch` always registers itself.
_ALWAYS_REGISTERED = ("executorch_prim::", "aten::sym_", "aten::_local_scalar_dense")


@dataclass(frozen=True)
class Library:
    """A registration library to generate.

    name: of the library, its table and the symbol that forces its linking.
    include: the include path of its headers, e.g. ``executorch/kernels/portable``.
    functions_yaml: kernels of one of our libraries (``kernels/*/functions.yaml``), or a yaml in the same format.
    custom_yamls: kernels of custom operators, and kernels that replace or complement those of functions_yaml.
    namespace: of functions that the yaml does not name; known for our own libraries.
    overrides: take precedence over kernels of libraries without this flag.
    complete: the table is the only source of kernels (``load_method``'s ``kernel_registry``). It includes the
        selection's primitive operators, and an operator without a kernel is an error.
    use_aten_lib: for ATen mode: operators of functions_yaml use ATen's kernels, unless the yaml names kernels, which
        override them.
    """

    name: str
    include: str
    functions_yaml: Path | None = None
    custom_yamls: tuple[Path, ...] = ()
    namespace: str | None = None
    overrides: bool = False
    complete: bool = False
    use_aten_lib: bool = False


def bind_kernels(
    library: Library, out: Path, selection: Selection | None = None, *, dtype_selective: bool = False
) -> list[str]:
    """Write ``NativeFunctions.h``, ``Functions.h``, ``RegisterKernels.cpp`` and ``selected_dtypes.h`` below ``out``.

    Args:
        library: the library to generate.
        out: folder that becomes an include root; the files are in ``out / library.include``.
        selection: the operators to register; all if None.
        dtype_selective: each operator supports only its dtypes in the selection. The portable kernels must be compiled
            with ``selected_dtypes.h``; loading a program with other dtypes fails.

    Returns:
        The selected operators that this library lacks and that no one requested by name; another library must register
        them.

    Raises:
        CodegenError: for an error in a yaml, an unknown operator requested by name, ``dtype_selective`` with a
            selection without dtypes, or a complete library that lacks kernels.
    """
    rows = read_rows(library)
    from_aten = _aten_operators(library, rows)
    if dtype_selective and (selection is None or not selection.compiled_dtypes):
        raise CodegenError(f"{library.name}: selecting dtypes requires a selection with dtypes, found none")
    served = selection if dtype_selective else None
    chosen, missing = choose(rows, selection, from_aten, are_dtypes_selected=dtype_selective)
    if library.complete and missing:
        raise CodegenError(
            f"{library.name}: a complete library requires all selected kernels; it lacks {', '.join(missing)}"
        )
    primitives = _primitives(selection) if library.complete and selection is not None else []
    source = ", ".join(path.name for path in (library.functions_yaml, *library.custom_yamls) if path is not None)
    native = f"{library.include}/NativeFunctions.h"
    folder = out / library.include
    table = sources.registration(
        chosen,
        source,
        native,
        library.name,
        overrides=library.overrides or library.use_aten_lib,
        selection=served,
        primitives=primitives,
        aten_operators=[name for name in from_aten if _is_selected(name, selection)],
    )
    _write_if_changed(folder / "NativeFunctions.h", sources.native_functions(rows, source))
    _write_if_changed(folder / "Functions.h", sources.functions(rows, source, native, served))
    _write_if_changed(folder / "RegisterKernels.cpp", table)
    if served is not None:
        by_kernel = kernel_dtypes(_own_rows(), served) if _has_our_kernels_alone(library) else {}
        header = sources.selected_dtypes(served.compiled_dtypes, by_kernel, library.name)
        _write_if_changed(folder / "selected_dtypes.h", header)
    return missing


def read_rows(library: Library) -> list[KernelRow]:
    """All rows of the library; custom rows replace those with the same operator and key."""
    portable = portable_rows()
    functions: list[KernelRow] = []
    if library.functions_yaml is not None:
        namespace = library.namespace or own_namespace(library.functions_yaml)
        functions = read_library(library.functions_yaml, namespace, portable, use_aten_lib=library.use_aten_lib)
    custom: list[KernelRow] = []
    for path in library.custom_yamls:
        custom += read_library(path, library.namespace or own_namespace(path), portable)
    replaced = {(row.schema.qualified_name, row.key) for row in custom}
    rows = [row for row in functions if (row.schema.qualified_name, row.key) not in replaced] + custom
    refuse_duplicates(rows)
    return rows


def portable_rows() -> Mapping[str, KernelRow]:
    """Operator → row of the portable library."""
    return {row.schema.qualified_name: row for row in read_library(PORTABLE_YAML, PORTABLE_NAMESPACE, {})}


def choose(
    rows: Sequence[KernelRow],
    selection: Selection | None,
    from_aten: Sequence[str] = (),
    *,
    are_dtypes_selected: bool,
) -> tuple[list[KernelRow], list[str]]:
    """Selected rows, and selected operators without a row. With ``are_dtypes_selected``, a row for specific dtypes
    is selected only if the selection has its operator with these dtypes.

    Raises ``CodegenError`` for an operator without a row that was requested by name.
    """
    if selection is None:
        return list(rows), []
    known = {row.schema.qualified_name for row in rows}.union(from_aten)
    missing = [name for name in sorted(selection.operators) if name not in known]
    missing = [name for name in missing if not name.startswith(_ALWAYS_REGISTERED)]
    requested = [name for name in missing if selection.operators[name]]
    if requested:
        hints = ", ".join(name + suggestion(name, sorted(known)) for name in requested)
        raise CodegenError(f"unknown selected operators {hints}")
    chosen = [row for row in rows if _is_selected(row.schema.qualified_name, selection)]
    if are_dtypes_selected:
        chosen = [row for row in chosen if row.dtypes <= selection.dtypes_of(row.schema.qualified_name)]
    return chosen, missing


def _is_selected(name: str, selection: Selection | None) -> bool:
    return selection is None or selection.include_all or name in selection.operators


def _aten_operators(library: Library, rows: Sequence[KernelRow]) -> list[str]:
    """Operators that use ATen's kernels: those without a fallback row."""
    if not library.use_aten_lib:
        return []
    if library.functions_yaml is None:
        raise CodegenError(f"{library.name}: ATen's kernels require a functions yaml that lists operators")
    if library.complete:
        raise CodegenError(f"{library.name}: a complete table cannot include ATen's kernels, which register themselves")
    own = {row.schema.qualified_name for row in rows if not row.key}
    return [name for name in aten_operators(library.functions_yaml) if name not in own]


def _primitives(selection: Selection) -> list[str]:
    return [name for name in sorted(selection.operators) if name.startswith(_ALWAYS_REGISTERED)]


def _own_rows() -> list[KernelRow]:
    return [row for name in LIBRARIES for row in read_rows(Library(name, name, KERNELS / name / "functions.yaml"))]


def _has_our_kernels_alone(library: Library) -> bool:
    """Return whether every yaml is of our libraries: custom kernels may call any of ours, with any dtype."""
    return all(own_namespace(path) is not None for path in library.custom_yamls)


def own_namespace(path: Path) -> str | None:
    """Return the C++ namespace of the kernels of one of our libraries, given its yaml or a copy of it, else None.

    A project that builds against an installed package may pass the yaml of its own copy of the sources.
    """
    folder = path.resolve().parent
    if folder.parent == KERNELS:
        return f"executorch::kernels::{folder.name}"
    rows = path.read_bytes() if path.is_file() else None
    copied = (own.parent.name for own in sorted(KERNELS.glob("*/functions.yaml")) if own.read_bytes() == rows)
    return next((f"executorch::kernels::{name}" for name in copied), None)


def _write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it is unchanged, to avoid rebuilds."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
