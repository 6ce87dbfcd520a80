# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# The documented helper for C++ tests, in the source tree and in an installed package.
include_guard(GLOBAL)

# et_cxx_test(name SOURCES files... EXTRA_LIBS libraries...): a googletest program that ctest runs. It links the runtime's core
# and googlemock, where the machine has it; kernels and extensions are extra libraries. The testing utilities
# (runtime/core/exec_aten/testing_util) are headers alone.
function(et_cxx_test target_name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;EXTRA_LIBS")
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "et_cxx_test(${target_name}): SOURCES is missing")
  elseif(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "et_cxx_test(${target_name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET GTest::gtest)
    find_package(GTest REQUIRED)
  endif()
  add_executable(${target_name} ${ARG_SOURCES})
  target_link_libraries(${target_name} PRIVATE GTest::gtest_main $<TARGET_NAME_IF_EXISTS:GTest::gmock>
                                               GTest::gtest executorch_core ${ARG_EXTRA_LIBS})
  add_test(NAME ${target_name} COMMAND ${target_name})
endfunction()
