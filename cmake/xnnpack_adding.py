# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where XNNPACK's convolutions and linear layers do the addition behind them: what is changed in its sources."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "additions become parts of products: backends/xnnpack/xnnpack_additions/added_to_product.h says why"
_LINEAR = "xnnpack/src/subgraph/fully-connected.c"

ADDING = (
    Change(
        "xnnpack/src/subgraph.c",
        '#include "xnnpack/subgraph.h"\n',
        '#include "executorch/added_to_product.h"\n#include "xnnpack/subgraph.h"\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        "      // Try to fuse Clamp Node upstream into producer Node\n",
        "#if XNN_ARCH_X86_64\n"
        "      if (executorch_fuse_addition(subgraph, value, producer_id, consumer_id)) {\n"
        "        continue;\n"
        "      }\n"
        "#endif\n"
        "      // Try to fuse Clamp Node upstream into producer Node\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        "      assert(input_id < subgraph->num_values);\n\n"
        "      if (subgraph->values[input_id].num_consumers++ == 0) {\n",
        "      if (input_id == XNN_INVALID_VALUE_ID) {\n"
        "        continue;\n"
        "      }\n"
        "      assert(input_id < subgraph->num_values);\n\n"
        "      if (subgraph->values[input_id].num_consumers++ == 0) {\n",
        "a graph of which a runtime was made once may be made one again: layers that add may have no bias",
    ),
    Change(
        "xnnpack/src/subgraph/convolution-2d.c",
        '#include "xnnpack/subgraph.h"\n',
        '#include "executorch/added_to_product.h"\n#include "xnnpack/subgraph.h"\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph/convolution-2d.c",
        "  output_value->shape.num_dims = 4;\n",
        "  output_value->shape.num_dims = 4;\n"
        "#if XNN_ARCH_X86_64\n"
        "  status = executorch_reshape_addition(opdata, values);\n"
        "  if (status != xnn_status_success) {\n"
        "    return status;\n"
        "  }\n"
        "#endif\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph/convolution-2d.c",
        "    case xnn_operator_type_convolution_nhwc_f32:\n      return xnn_setup_convolution2d_nhwc_f32(\n",
        "    case xnn_operator_type_convolution_nhwc_f32:\n"
        "#if XNN_ARCH_X86_64\n"
        "      executorch_setup_addition(opdata, values);\n"
        "#endif\n"
        "      return xnn_setup_convolution2d_nhwc_f32(\n",
        _WHY,
    ),
    Change(
        _LINEAR,
        '#include "xnnpack/log.h"\n',
        '#include "executorch/added_to_product.h"\n#include "xnnpack/log.h"\n',
        _WHY,
    ),
    Change(
        _LINEAR,
        "  assert(node->num_inputs <= 3);\n  const uint32_t input_id = node->inputs[0];\n",
        "  const uint32_t input_id = node->inputs[0];\n",
        _WHY,
    ),
    *(
        Change(
            _LINEAR,
            f"  if ({of}->num_inputs > 2) {{\n",
            f"  if (executorch_has_bias({of}->num_inputs, {of}->inputs)) {{\n",
            _WHY,
        )
        for of in ("node", "opdata")
    ),
    Change(
        _LINEAR,
        "  return resize_fully_connected_output_tensor(opdata, values, num_values,\n"
        "                                              old_workspace_size, threadpool);\n",
        "  status = resize_fully_connected_output_tensor(opdata, values, num_values, old_workspace_size, threadpool);\n"
        "#if XNN_ARCH_X86_64\n"
        "  const enum xnn_status adding = executorch_reshape_addition(opdata, values);\n"
        "  if (adding != xnn_status_success) {\n"
        "    return adding;\n"
        "  }\n"
        "#endif\n"
        "  return status;\n",
        _WHY,
    ),
    Change(
        _LINEAR,
        "    case xnn_operator_type_fully_connected_nc_f32:\n      assert(kernel_data == NULL);\n",
        "    case xnn_operator_type_fully_connected_nc_f32:\n"
        "#if XNN_ARCH_X86_64\n"
        "      executorch_setup_addition(opdata, values);\n"
        "#endif\n"
        "      assert(kernel_data == NULL);\n",
        _WHY,
    ),
)
