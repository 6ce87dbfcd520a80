# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Compiles through ccache where it works. ccache fails for every file if its folder, by default below $HOME, cannot be
# written to, so a small file is compiled first.

# executorch_use_ccache(): sets CMAKE_CXX_COMPILER_LAUNCHER, unless the caller chose one or ccache cannot compile.
function(executorch_use_ccache)
  find_program(CCACHE ccache)
  if(NOT CCACHE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/ccache_probe)
  file(WRITE ${probe}.cpp "int executorch_ccache_probe;\n")
  execute_process(COMMAND ${CCACHE} ${CMAKE_CXX_COMPILER} -c ${probe}.cpp -o ${probe}.o
                  RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    string(STRIP "${text}" text)
    message(STATUS "ccache: not used, because ${CCACHE} cannot compile: ${text}")
    return()
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE} PARENT_SCOPE)
endfunction()
