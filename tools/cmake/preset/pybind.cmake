# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# The contents of the wheel: the Python extension with all kernels and XNNPACK, with log messages and events.
foreach(part PYBIND EXTENSION_DATA_LOADER EXTENSION_FLAT_TENSOR EXTENSION_MODULE EXTENSION_NAMED_DATA_MAP EXTENSION_RUNNER_UTIL
             EXTENSION_TENSOR KERNELS_LLM KERNELS_OPTIMIZED KERNELS_QUANTIZED XNNPACK)
  set_overridable_option(EXECUTORCH_BUILD_${part} ON)
endforeach()
set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
set_overridable_option(EXECUTORCH_ENABLE_LOGGING ON)
set_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER ON)
set_overridable_option(EXECUTORCH_ENABLE_PROGRAM_VERIFICATION ON)
set_overridable_option(EXECUTORCH_LOG_LEVEL Info)
executorch_preset_leaves_out("the training extension, backends other than XNNPACK, a shared runtime")
