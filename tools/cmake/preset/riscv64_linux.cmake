# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Linux on 64-bit RISC-V: executor_runner with bundled programs. EXECUTORCH_BUILD_RISCV_ETDUMP=ON records events too.
define_overridable_option(EXECUTORCH_BUILD_RISCV_ETDUMP "Record events in builds for RISC-V" BOOL OFF)
foreach(part BUILD_EXECUTOR_RUNNER BUILD_EXTENSION_EVALUE_UTIL BUILD_EXTENSION_RUNNER_UTIL BUILD_DEVTOOLS ENABLE_BUNDLE_IO
             ENABLE_LOGGING)
  set_overridable_option(EXECUTORCH_${part} ON)
endforeach()
set_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER ${EXECUTORCH_BUILD_RISCV_ETDUMP})
