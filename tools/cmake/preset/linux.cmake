# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Everything that can be built on Linux.
set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER ON)
include(${CMAKE_CURRENT_LIST_DIR}/pybind.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/llm.cmake)
