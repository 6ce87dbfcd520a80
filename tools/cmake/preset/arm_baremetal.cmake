# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Cortex-M without an operating system: the runtime and its kernels, with log messages.
set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
set_overridable_option(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON)
set_overridable_option(EXECUTORCH_ENABLE_LOGGING ON)
set_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER OFF)
executorch_preset_leaves_out("the Cortex-M and Ethos-U backends")
