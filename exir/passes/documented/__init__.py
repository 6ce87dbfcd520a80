# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented module paths: `executorch.exir.passes.NAME` of ExecuTorch is the module `NAME` of one of the folders.

`executorch.exir.passes` calls `register_modules`. Scripts of users import these paths; nothing inside the project does.
The modules of this folder rename, and add names that other packages import.
"""

import sys
from types import ModuleType

from executorch.exir.passes.documented import (
    _quant_patterns_and_replacements,
    executorch_prim_ops_registry,
    replace_aten_with_edge_pass,
    replace_sym_size_op_pass,
    replace_view_copy_with_view_pass,
    spec_prop_pass,
    sym_shape_eval_pass,
)
from executorch.exir.passes.edge import (
    debug_handle_generator_pass,
    memory_format_ops_pass,
    remove_graph_asserts_pass,
    scalar_to_tensor_pass,
)
from executorch.exir.passes.memory import (
    memory_planning_pass,
)
from executorch.exir.passes.quantized import (
    quant_fusion_pass,
)
from executorch.exir.passes.simplify import (
    cse_pass,
    remove_noop_pass,
)
from executorch.exir.passes.standalone import (
    const_prop_pass,
    constant_prop_pass,
    convert_constant_dim_order_pass,
    init_mutable_pass,
    legalize_portable_dim_order_pass,
    prune_empty_tensors_pass,
    quantize_io_pass,
    remove_unused_parameters_pass,
    to_device_pass,
)
from executorch.exir.passes.state import (
    external_constants_pass,
    insert_write_back_for_buffers_pass,
    reinplace,
)

DOCUMENTED_MODULES = (
    _quant_patterns_and_replacements,
    const_prop_pass,
    constant_prop_pass,
    convert_constant_dim_order_pass,
    cse_pass,
    debug_handle_generator_pass,
    executorch_prim_ops_registry,
    external_constants_pass,
    init_mutable_pass,
    insert_write_back_for_buffers_pass,
    legalize_portable_dim_order_pass,
    memory_format_ops_pass,
    memory_planning_pass,
    prune_empty_tensors_pass,
    quant_fusion_pass,
    quantize_io_pass,
    reinplace,
    remove_graph_asserts_pass,
    remove_noop_pass,
    remove_unused_parameters_pass,
    replace_aten_with_edge_pass,
    replace_sym_size_op_pass,
    replace_view_copy_with_view_pass,
    scalar_to_tensor_pass,
    spec_prop_pass,
    sym_shape_eval_pass,
    to_device_pass,
)


def register_modules(package: ModuleType) -> None:
    """Make every documented module importable below `package`.

    Two modules have the name of a function that the package exports. There the attribute stays the function: an import
    of a module that `sys.modules` holds rebinds nothing.
    """
    for module in DOCUMENTED_MODULES:
        name = module.__name__.rpartition(".")[2]
        sys.modules[f"{package.__name__}.{name}"] = module
        if not hasattr(package, name):
            setattr(package, name, module)
