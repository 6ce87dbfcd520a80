# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# executor_runner with all kernels and XNNPACK, which records events (--etdump_path).
foreach(part DEVTOOLS EXECUTOR_RUNNER EXTENSION_DATA_LOADER EXTENSION_FLAT_TENSOR EXTENSION_MODULE EXTENSION_TENSOR
             KERNELS_LLM KERNELS_OPTIMIZED KERNELS_QUANTIZED XNNPACK)
  set_overridable_option(EXECUTORCH_BUILD_${part} ON)
endforeach()
set_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER ON)
