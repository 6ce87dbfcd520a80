# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Documented functions that generate kernel libraries: gen_selected_ops, generate_bindings_for_kernels, gen_operators_lib
# (kernel_libraries.cmake) and merge_yaml.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/Utils.cmake)
# A project may include this file before find_package(executorch) or add_subdirectory(executorch).
if(NOT COMMAND gen_operators_lib)
  get_filename_component(EXECUTORCH_PACKAGE_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  set(EXECUTORCH_PACKAGE_ROOT ${EXECUTORCH_PACKAGE_ROOT} CACHE INTERNAL "")
  set(EXECUTORCH_PYTHON_ROOT ${CMAKE_BINARY_DIR}/executorch-python CACHE INTERNAL "")
  file(MAKE_DIRECTORY ${EXECUTORCH_PYTHON_ROOT})
  file(CREATE_LINK ${EXECUTORCH_PACKAGE_ROOT} ${EXECUTORCH_PYTHON_ROOT}/executorch SYMBOLIC)
  include(${EXECUTORCH_PACKAGE_ROOT}/cmake/kernel_libraries.cmake OPTIONAL RESULT_VARIABLE found)
  if(NOT found)  # an installed package
    include(${EXECUTORCH_PACKAGE_ROOT}/lib/cmake/ExecuTorch/kernel_libraries.cmake)
  endif()
endif()

# merge_yaml(FUNCTIONS_YAML file FALLBACK_YAML file OUTPUT_DIR folder): at build time, writes <folder>/merged.yaml with the
# operators of FUNCTIONS_YAML, and those of FALLBACK_YAML that FUNCTIONS_YAML does not have.
function(merge_yaml)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "FUNCTIONS_YAML;FALLBACK_YAML;OUTPUT_DIR" "")
  foreach(argument FUNCTIONS_YAML FALLBACK_YAML OUTPUT_DIR)
    if(NOT ARG_${argument})
      message(FATAL_ERROR "merge_yaml: ${argument} is missing")
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "merge_yaml: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(functions ${ARG_FUNCTIONS_YAML} ABSOLUTE)
  get_filename_component(fallback ${ARG_FALLBACK_YAML} ABSOLUTE)
  get_filename_component(merged ${ARG_OUTPUT_DIR}/merged.yaml ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  executorch_codegen(OUTPUT ${merged} ARGS merge --functions-yaml ${functions} --fallback-yaml ${fallback} --output ${merged}
                     DEPENDS ${functions} ${fallback})
endfunction()

# Refused: the generator cannot register operators in eager PyTorch.
function(gen_custom_ops_aot_lib)
  message(FATAL_ERROR "gen_custom_ops_aot_lib: not available. Register the operators in PyTorch with TORCH_LIBRARY and WRAP_TO_ATEN "
                      "(extension/aten_util/make_aten_functor_from_et_functor.h), as examples/custom_operator does")
endfunction()
