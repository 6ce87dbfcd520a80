# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Libraries for programs that run language models: tokenizers, runners, all kernels, XNNPACK.
foreach(part EXTENSION_DATA_LOADER EXTENSION_FLAT_TENSOR EXTENSION_LLM EXTENSION_LLM_RUNNER EXTENSION_MODULE
             EXTENSION_NAMED_DATA_MAP EXTENSION_TENSOR KERNELS_LLM KERNELS_OPTIMIZED KERNELS_QUANTIZED XNNPACK)
  set_overridable_option(EXECUTORCH_BUILD_${part} ON)
endforeach()
set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
