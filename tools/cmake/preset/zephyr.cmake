# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Libraries that a Zephyr application links: the runtime and the portable kernels.
foreach(part DEVTOOLS EXECUTOR_RUNNER EXTENSION_DATA_LOADER EXTENSION_FLAT_TENSOR EXTENSION_MODULE KERNELS_OPTIMIZED
             KERNELS_QUANTIZED PYBIND TESTS XNNPACK PTHREADPOOL CPUINFO)
  set_overridable_option(EXECUTORCH_BUILD_${part} OFF)
endforeach()
set_overridable_option(EXECUTORCH_BUILD_PORTABLE_OPS ON)
set_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER OFF)
