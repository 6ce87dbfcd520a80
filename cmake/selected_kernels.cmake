# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# executorch_selected_kernels: the portable and quantized kernels named by EXECUTORCH_SELECT_OPS_{YAML,LIST,MODEL}, as a union.
# executorch_kernels (executorch::kernels) is then this library alone.
set(EXECUTORCH_SELECT_OPS_YAML "" CACHE FILEPATH "Build the kernels of the operators in this yaml")
set(EXECUTORCH_SELECT_OPS_LIST "" CACHE STRING "Build the kernels of these operators: aten::add.out,aten::mm.out")
set(EXECUTORCH_SELECT_OPS_MODEL "" CACHE FILEPATH "Build the kernels of the operators of this program (.pte; several: ;)")
option(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD "Compile kernels only for the selected dtypes" OFF)
# Names of the same options in other documented pages.
set(EXECUTORCH_SELECT_OPS_FROM_MODEL "" CACHE FILEPATH "Another name of EXECUTORCH_SELECT_OPS_MODEL")
option(EXECUTORCH_DTYPE_SELECTIVE_BUILD "Another name of EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD" OFF)
if(EXECUTORCH_DTYPE_SELECTIVE_BUILD)
  set(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD ON)
endif()
if(EXECUTORCH_SELECT_OPS_FROM_MODEL AND NOT EXECUTORCH_SELECT_OPS_MODEL)
  get_filename_component(EXECUTORCH_SELECT_OPS_MODEL "${EXECUTORCH_SELECT_OPS_FROM_MODEL}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
endif()
if(NOT EXECUTORCH_SELECT_OPS_YAML AND NOT EXECUTORCH_SELECT_OPS_LIST AND NOT EXECUTORCH_SELECT_OPS_MODEL)
  if(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD)
    message(FATAL_ERROR "EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD requires programs (EXECUTORCH_SELECT_OPS_MODEL) or a "
                        "selection with dtypes (EXECUTORCH_SELECT_OPS_YAML), found neither")
  endif()
  return()
endif()
set(dtypes DTYPE_SELECTIVE_BUILD ${EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD})
set(kernels ${PROJECT_SOURCE_DIR}/kernels)
gen_selected_ops(LIB_NAME executorch_selected_kernels OPS_SCHEMA_YAML "${EXECUTORCH_SELECT_OPS_YAML}" ROOT_OPS
                 "${EXECUTORCH_SELECT_OPS_LIST}" OPS_FROM_MODEL ${EXECUTORCH_SELECT_OPS_MODEL} ${dtypes})
generate_bindings_for_kernels(LIB_NAME executorch_selected_kernels FUNCTIONS_YAML ${kernels}/portable/functions.yaml
                              CUSTOM_OPS_YAML ${kernels}/quantized/functions.yaml ${dtypes})
gen_operators_lib(LIB_NAME executorch_selected_kernels KERNEL_LIBS portable_kernels quantized_kernels DEPS executorch_core
                  ${dtypes})
set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES executorch_selected_kernels)
if(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD)
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES executorch_selected_kernels_portable_kernels
                                      executorch_selected_kernels_quantized_kernels)
endif()
