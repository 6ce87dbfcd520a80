# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Add intermediate values, also of delegates, as outputs of a program, to compare them with the model's values.

```python
program = torch.export.export(model, inputs)
program, specs = tap_intermediate_outputs_(program, [(select_by_module_class("Linear"), STATS)])
expected = torch.utils._pytree.tree_leaves(program.module()(*inputs))
edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
strip_taps_(edge)
found = run(edge.to_executorch(), inputs)
compare_aot_runtime_dataframe(specs, expected, found)
```

`tap_compare` runs these steps in one call.
"""

from executorch.devtools.intermediate_output_tap._convenience import compare_aot_runtime_dataframe, tap_compare
from executorch.devtools.intermediate_output_tap._reducers import FULL_TENSOR, STATS, StatReducer, get_reducer
from executorch.devtools.intermediate_output_tap._selectors import (
    NodeSelector,
    select_all,
    select_all_call_function,
    select_any,
    select_by_module_class,
    select_by_module_path,
    select_by_op_type,
    select_not,
)
from executorch.devtools.intermediate_output_tap._spec import TapSpec
from executorch.devtools.intermediate_output_tap._strip_pass import strip_taps_
from executorch.devtools.intermediate_output_tap._tap_pass import (
    TapRule,
    find_tap_nodes,
    is_tap_node,
    tap_intermediate_outputs_,
)

__all__ = [
    "FULL_TENSOR",
    "STATS",
    "NodeSelector",
    "StatReducer",
    "TapRule",
    "TapSpec",
    "compare_aot_runtime_dataframe",
    "find_tap_nodes",
    "get_reducer",
    "is_tap_node",
    "select_all",
    "select_all_call_function",
    "select_any",
    "select_by_module_class",
    "select_by_module_path",
    "select_by_op_type",
    "select_not",
    "strip_taps_",
    "tap_compare",
    "tap_intermediate_outputs_",
]
