# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Included by test/coverage.sh: what it measures is compiled for gcov and not optimized; the rest as in any build. An
# inline function is linked once: programs that have it in objects of their own are compiled for gcov, too.
function(executorch_measure_coverage)
  foreach(target executorch_core executorch extension_data_loader extension_flat_tensor bundled_program xnnpack_backend fuzz_support
         extension_data_loader_test)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE --coverage -O0 -fno-inline)
      target_link_options(${target} INTERFACE --coverage)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL executorch_measure_coverage)
