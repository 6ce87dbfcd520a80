# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tables of allowed imports and includes (docs/architecture.md); `test_layering.py` reads them."""

PACKAGES = ("backends", "codegen", "devtools", "exir", "export", "extension", "runtime", "util")

# A folder (or file) → the parts of our own tree that it may import; the longest matching key counts.
PYTHON_MAY_IMPORT: dict[str, set[str]] = {
    "exir/dialects": {"exir/dialects", "exir/operator", "exir/graph_module", "exir/error", "exir/schema"},
    "exir/operator": {"exir/error"},
    "exir/graph_module": set(),
    "exir/schema": set(),
    "exir/debug_handle_utils": set(),
    "exir/dim_order_utils": set(),
    "exir/sym_util": set(),
    "exir/error": set(),
    "exir/plugins": {"exir/plugins", "exir/lowered_backend_module"},  # finds parts of every layer in plugins.ini
    "exir/format": {"exir/format", "exir/schema", "exir/scalar_type", "exir/tensor", "exir/tensor_layout"},
    "exir/serialize": {"exir/schema", "exir/error", "exir/scalar_type", "exir/tensor_layout"},
    "exir/rewrite": {"exir/rewrite", "exir/dialects", "exir/operator", "exir/graph_module", "exir/error"}
    | {"exir/pass_base", "exir/tensor"},
    "exir/memory": {"exir/memory", "exir/operator", "exir/graph_module", "exir/error", "exir/tensor"},
    "exir/passes": {"exir/passes", "exir/rewrite", "exir/memory", "exir/dialects", "exir/operator", "exir/error"}
    | {"exir/graph_module", "exir/pass_base", "exir/tensor", "exir/schema", "exir/scalar_type", "exir/delegate"}
    | {"exir/debug_handle_utils", "exir/dim_order_utils", "exir/sym_util"},
    "exir/decompose": {"exir/decompose", "exir/rewrite", "exir/dialects", "exir/operator", "exir/error"}
    | {"exir/graph_module", "exir/pass_base", "exir/debug_handle_utils", "exir/sym_util"},
    "exir/emit": {"exir/emit", "exir/memory", "exir/operator", "exir/graph_module", "exir/error", "exir/schema"}
    | {"exir/tensor", "exir/format", "exir/scalar_type", "exir/delegate"},
    "exir/backend": {"exir/backend", "exir/rewrite", "exir/dialects", "exir/graph_module", "exir/error", "exir/schema"}
    | {"exir/pass_base", "exir/delegate", "exir/format"}
    | {"exir/lowered_backend_module", "exir/plugins", "exir/scalar_type"},
    "exir/backend/test": {"exir"},  # backends that export programs of their own
    "exir": {"exir"},
    "runtime": {"runtime", "extension/pybindings"},
    "codegen": {"codegen", "util/exit_code"},
    "kernels": set(),
    "extension": {"extension", "runtime"},
    "extension/flat_tensor": {"exir"},  # the documented place of what exir/serialize does
    "extension/audio": {"exir", "backends", "util/exit_code"},  # front ends that export themselves
    # Documented names of others.
    "extension/llm/export": {"extension", "exir", "backends", "examples", "util/exit_code"},
    "extension/export_util": {"extension/export_util", "exir"},  # the documented place of one-call exports
    "backends": {"backends", "exir"},
    "backends/xnnpack/recipes": {"backends", "export"},  # a backend's own recipes, for exports that name them
    "devtools": {"devtools", "exir", "runtime", "util/exit_code"},
    "devtools/command": {
        "devtools",
        "exir",
        "runtime",
        "export/user_model",  # a model is named as export's command does
        "export/record_file",  # the record is where export's command writes it
    },
    "export": {"export", "exir", "runtime"},
    "export/command": {"export", "exir", "runtime", "util/exit_code", "devtools/view"},  # pages that its options write
    "util": {"exir", "version"},  # the documented place of a view of what exir/memory has
    "util/exit_code": set(),  # every command ends by it
    "examples": {"examples", *PACKAGES},
    "docs": {"examples", *PACKAGES},
    "test": {"test", "examples", "version", *PACKAGES},
    # ExecuTorch 1.4.1, which a worker measures, registers its quantized operators there.
    "test/benchmark/llm": {"test", "examples", "version", "kernels/quantized", *PACKAGES},
    "cmake": set(),
    "tools": set(),
    "setup": {"cmake"},
    "version": set(),
    "install_executorch": set(),
}

# (importing file, imported module) → why it stands against the rules above, and what removes it. Entries only leave.
DEBTS: dict[tuple[str, str], str] = {}

# (module, module that it imports inside a function although that one imports it) → reason.
MUTUAL_IMPORTS: dict[tuple[str, str], str] = {
    ("exir/dialects/edge/_ops", "exir/dialects/_ops"): "torch's operator packages end in objects of both modules",
    ("exir/dialects/backend/_ops", "exir/dialects/_ops"): "torch's operator packages end in objects of both modules",
    ("exir/pass_manager", "exir/program/transform"): "the documented manager is called like a function",
    ("exir/program/edge_manager", "exir/program/lowering"): "to_backend lowers again, which returns a manager",
    ("export/recipe", "export/recipe_registry"): "ExportRecipe.get_recipe is documented as a class method",
    ("devtools/etrecord/record", "devtools/etrecord/file"): "ETRecord.save is a documented method",
    ("backends/xnnpack/xnnpack_preprocess", "backends/xnnpack/partition/xnnpack_partitioner"): (
        "a backend's debug tools name its partitioner, and the partitioner names its backend"
    ),
}

# A folder → the parts of our own tree that it may include.
CPP_MAY_INCLUDE: dict[str, set[str]] = {
    "runtime/platform": {"runtime/platform"},
    "runtime/core/testing_util": {"runtime/core", "runtime/platform"},
    "runtime/kernel/test": {"runtime/kernel", "runtime/core", "runtime/platform"},
    "kernels/test": {"runtime/kernel", "runtime/core", "runtime/platform"}
    | {"extension/memory_allocator", "kernels/portable/Functions", "test/utils"},
    "runtime/core": {"runtime/core", "runtime/platform"},
    "runtime/kernel": {"runtime/kernel", "runtime/core", "runtime/platform"},
    "runtime/backend": {"runtime/backend", "runtime/core", "runtime/platform"},
    "runtime/executor": {"runtime", "schema"},
    "runtime/executor/plan": {"runtime/executor/plan", "schema"}
    | {"runtime/core", "runtime/kernel", "runtime/backend", "runtime/platform"},
    "runtime/executor/verify": {"runtime/executor/verify", "runtime/executor/plan", "schema"}
    | {"runtime/core", "runtime/platform"},
    "kernels": {"kernels", "runtime/core", "runtime/kernel", "runtime/platform"},
    # Has only plain types: no tensors, no registry. The loops use its formulas of single numbers, too.
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
    | {"runtime/executor/verify/flatbuffer_structure", "runtime/executor/plan/optional_vector"}
    | {"extension/threadpool"}
    | {f"extension/memory_allocator/{name}" for name in ("byte_budget", "large_pages", "no_memory", "physical_memory")},
    "extension/threadpool": {"extension/threadpool", "runtime/core", "runtime/kernel/parallel"}
    | {"extension/memory_allocator/no_memory"},
    "extension": {"extension", "runtime"},
    "extension/executor_runner": {"extension", "runtime", "devtools"},
    # Kernels use the parts that all kernels share.
    "extension/llm/custom_ops": {"extension/llm/custom_ops", "kernels/engine", "kernels/loops"}
    | {"runtime/core", "runtime/kernel", "runtime/platform"},
    "extension/module/bundled_module": {"extension", "runtime", "devtools/bundled_program"},
    "extension/pybindings": {"extension", "runtime", "devtools"},
    "devtools": {"devtools", "runtime/core", "runtime/platform"},
    # It sets a method's inputs and reads its outputs, and the file is a flatbuffer.
    "devtools/bundled_program": {"devtools/bundled_program", "runtime", "extension/tensor/element_conversion"},
    "examples": {"examples", "runtime", "extension", "devtools", "kernels", "backends"},
    "test": {"test", "runtime", "extension", "devtools", "kernels", "backends", "codegen", "schema", "version"},
    "cmake": {"runtime", "extension", "kernels"},
}

# Headers for code outside of the project: macros, and documented include paths.
FOR_USERS = {
    "runtime/core/exec_aten/compatibility",
    "runtime/core/exec_aten/util/scalar_type_util",
    "runtime/core/exec_aten/util/tensor_util",
    "runtime/kernel/kernel_includes",
    "runtime/kernel/thread_parallel_interface",
}
MAY_INCLUDE_THEM = FOR_USERS | {
    # Only users' sources get these includes, as in ExecuTorch 1.4: EXECUTORCH_OWN_SOURCES is undefined there.
    "extension/tensor/tensor_ptr",
    "runtime/core/tensor_layout",
    "runtime/core/exec_aten/testing_util",
    "extension/parallel",
    "kernels/test",
}
