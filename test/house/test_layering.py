# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Who may import whom (docs/architecture.md), read from the sources' own imports and includes."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A folder (or file) → the parts of our own tree that it may import; the longest matching key counts.
PYTHON_MAY_IMPORT: dict[str, set[str]] = {
    "exir/dialects": {"exir/dialects", "exir/operator", "exir/graph_module", "exir/error", "exir/schema"},
    "exir/operator": {"exir/error"},
    "exir/graph_module": set(),
    "exir/schema": set(),
    "exir/error": set(),
    "exir/serialize": {"exir/schema", "exir/error", "exir/scalar_type", "exir/tensor_layout"},
    "exir": {"exir"},
    "runtime": {"runtime", "extension/pybindings"},
    "codegen": {"codegen"},
    "kernels": set(),
    "extension": {"extension", "runtime"},
    "extension/flat_tensor": {"exir"},  # the documented place of what exir/serialize does
    "extension/audio": {"exir", "backends"},  # front ends that export themselves
    "extension/llm/export": {"extension", "exir", "examples"},  # documented names for what examples/models/llama builds
    "extension/export_util": {"extension/export_util", "exir"},  # the documented place of one-call exports
    "backends": {"backends", "exir"},
    "backends/xnnpack/recipes": {"backends", "export"},  # a backend's own recipes, for exports that name them
    "devtools": {"devtools", "exir", "runtime"},
    "devtools/command": {
        "devtools",
        "exir",
        "runtime",
        "export/user_model",  # a model is named as export's command does
        "export/record_file",  # the record is where export's command writes it
    },
    "export": {"export", "exir", "runtime"},
    "util": {"exir", "version"},  # the documented place of a view of what exir/memory has
}

# A folder → the parts of our own tree that it may include.
CPP_MAY_INCLUDE: dict[str, set[str]] = {
    "runtime/platform": {"runtime/platform"},
    "runtime/core/testing_util": {"runtime/core", "runtime/platform"},
    "runtime/kernel/test": {"runtime/kernel", "runtime/core", "runtime/platform"},
    "kernels/test": {"runtime/kernel", "runtime/core", "runtime/platform"}
    | {"extension/memory_allocator", "kernels/portable/Functions"},
    "runtime/core": {"runtime/core", "runtime/platform"},
    "runtime/kernel": {"runtime/kernel", "runtime/core", "runtime/platform"},
    "runtime/backend": {"runtime/backend", "runtime/core", "runtime/platform"},
    "runtime/executor": {"runtime", "schema"},
    "kernels": {"kernels", "runtime/core", "runtime/kernel", "runtime/platform"},
    # Plain types alone: no tensors, no registry. Its formulas of single numbers are the loops' as well.
    "kernels/engine": {"kernels/engine", "runtime/core/function_ref", "runtime/platform"}
    | {"runtime/core/portable_type/half", "runtime/core/portable_type/bfloat16"},
    "kernels/loops": {
        "kernels/loops",
        "kernels/engine/simd/float_math",
        "runtime/core",
        "runtime/kernel",
        "runtime/platform",
    },
    # The loops of convolution and pooling are the portable library's.
    "kernels/quantized": {"kernels/quantized", "kernels/portable", "kernels/loops"}
    | {"runtime/core", "runtime/kernel", "runtime/platform"},
    # Payloads are flatbuffers, verified as programs are.
    "backends": {"backends", "kernels/engine", "runtime/core", "runtime/backend", "runtime/platform", "schema"}
    | {"runtime/executor/flatbuffer_structure", "runtime/executor/optional_vector"}
    | {"extension/threadpool", "extension/memory_allocator/no_memory", "extension/memory_allocator/physical_memory"},
    "extension/threadpool": {"extension/threadpool", "runtime/core", "runtime/kernel/parallel"}
    | {"extension/memory_allocator/no_memory"},
    "extension": {"extension", "runtime"},
    "extension/executor_runner": {"extension", "runtime", "devtools"},
    # Kernels, on the parts that all kernels are made of.
    "extension/llm/custom_ops": {"extension/llm/custom_ops", "kernels/engine", "kernels/loops"}
    | {"runtime/core", "runtime/kernel", "runtime/platform"},
    "extension/module/bundled_module": {"extension", "runtime", "devtools/bundled_program"},
    "extension/pybindings": {"extension", "runtime", "devtools"},
    "devtools": {"devtools", "runtime/core", "runtime/platform"},
    # It sets a method's inputs and looks at its outputs, and the file is a flatbuffer.
    "devtools/bundled_program": {"devtools/bundled_program", "runtime", "extension/tensor/element_conversion"},
}


def _sources(*suffixes: str) -> list[Path]:
    tops = {"exir", "runtime", "codegen", "kernels", "extension", "backends", "devtools", "export", "util"}
    return [p for top in sorted(tops) for s in suffixes for p in (ROOT / top).rglob(f"*{s}")]


def _rule(table: dict[str, set[str]], path: str) -> set[str] | None:
    keys = [key for key in table if path == key or path.startswith((key + "/", key + "."))]
    return table[max(keys, key=len)] if keys else None


def _within(path: str, allowed: set[str]) -> bool:
    return any(path == part or path.startswith((part + "/", part + ".")) for part in allowed)


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [n.removeprefix("executorch.").replace(".", "/") for n in names if n.startswith("executorch.")]


@pytest.mark.parametrize("path", _sources(".py"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_python_file_imports_only_what_its_layer_may(path: Path) -> None:
    own = str(path.relative_to(ROOT))
    allowed = _rule(PYTHON_MAY_IMPORT, own)
    assert allowed is not None, f"{own} belongs to no layer"
    own_folder = str(path.parent.relative_to(ROOT))
    wrong = [name for name in _imports(path) if not _within(name, allowed | {own_folder})]
    assert not wrong, f"{own} imports {wrong}; its layer may import {sorted(allowed)}"


@pytest.mark.parametrize("path", _sources(".h", ".cpp", ".inc"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_cpp_file_includes_only_what_its_layer_may(path: Path) -> None:
    own = str(path.relative_to(ROOT))
    allowed = _rule(CPP_MAY_INCLUDE, own)
    assert allowed is not None, f"{own} belongs to no layer"
    included = re.findall(r'#include [<"]executorch/([^>"]+)[>"]', path.read_text())
    wrong = [name for name in included if not _within(name, allowed)]
    assert not wrong, f"{own} includes {wrong}; its layer may include {sorted(allowed)}"


def test_only_the_executor_knows_flatbuffers() -> None:
    knowing = [p for p in _sources(".h", ".cpp") if "flatbuffers/" in p.read_text()]
    wrong = [str(p.relative_to(ROOT)) for p in knowing if "runtime/executor" not in str(p)]
    assert not wrong


# Headers for code outside of the project: macros, and documented include paths.
FOR_USERS = {
    "runtime/core/exec_aten/compatibility",
    "runtime/core/exec_aten/util/scalar_type_util",
    "runtime/core/exec_aten/util/tensor_util",
    "runtime/kernel/kernel_includes",
    "runtime/kernel/thread_parallel_interface",
}
MAY_INCLUDE_THEM = FOR_USERS | {
    "runtime/core/exec_aten/testing_util",
    "extension/parallel",
    "kernels/test",
}


@pytest.mark.parametrize("path", _sources(".h", ".cpp"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_project_uses_no_header_that_exists_for_users_alone(path: Path) -> None:
    own = str(path.relative_to(ROOT))
    included = re.findall(r'#include [<"]executorch/([^>"]+)[>"]', path.read_text())
    wrong = [name for name in included if _within(name, FOR_USERS) and not _within(own, MAY_INCLUDE_THEM)]
    assert not wrong, f"{own} includes {wrong}, which is for users' code"


@pytest.mark.parametrize("path", _sources(".h", ".cpp"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_project_names_nothing_by_the_names_of_older_code(path: Path) -> None:
    lines = [line for line in re.sub(r"//.*", "", path.read_text()).splitlines() if "torch::executor" in line]
    wrong = [line for line in lines if not re.match(r"(namespace torch::\w+|using ::torch::executor::)", line)]
    assert not wrong, f"{path.relative_to(ROOT)}: {wrong}"
