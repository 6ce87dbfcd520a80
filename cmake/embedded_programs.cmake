# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Embeds programs in an image: their bytes in read-only memory, static memory of the exact size for their methods, and a table
# of their kernels instead of global constructors.
#
#   executorch_embed_program(LIB_NAME digits PROGRAM digits.pte)
#   target_link_libraries(firmware PRIVATE digits)
#
# and in C or C++
#
#   #include <digits.h>
#   et_program_load_embedded(&program, &digits);
#   et_method_load(&method, &program, "forward", &digits_forward_memory);

# executorch_embed_program(LIB_NAME name PROGRAM file.pte [NAME identifier] [KERNELS set]
#                          [TEMP_BYTES bytes | MEMORY_HEADER file.h] [CUSTOM_OPS_YAML file KERNEL_LIBS targets...])
# The static library `name`. NAME: C identifier of the program (default: the library's name). KERNELS: a set from
# executorch_kernels_for_programs; by default one for this program alone. TEMP_BYTES: temporary memory for kernels. The header
# that `python -m executorch.export --memory-header` writes states it. CUSTOM_OPS_YAML, KERNEL_LIBS: custom kernels.
function(executorch_embed_program)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "LIB_NAME;PROGRAM;NAME;KERNELS;TEMP_BYTES;MEMORY_HEADER;CUSTOM_OPS_YAML" "KERNEL_LIBS")
  executorch_expect_arguments(executorch_embed_program)
  if(NOT ARG_PROGRAM)
    message(FATAL_ERROR "executorch_embed_program: ${ARG_LIB_NAME} lacks PROGRAM")
  endif()
  if(NOT ARG_NAME)
    set(ARG_NAME ${ARG_LIB_NAME})
  endif()
  set(temp)
  if(ARG_TEMP_BYTES)
    set(temp --temp-bytes ${ARG_TEMP_BYTES})
  endif()
  if(ARG_MEMORY_HEADER)
    get_filename_component(ARG_MEMORY_HEADER ${ARG_MEMORY_HEADER} ABSOLUTE)
    list(APPEND temp --memory-header ${ARG_MEMORY_HEADER})
  endif()
  if(NOT ARG_KERNELS)
    executorch_kernels_for_programs(LIB_NAME ${ARG_LIB_NAME}_kernels PROGRAMS ${ARG_PROGRAM} KERNEL_LIBS ${ARG_KERNEL_LIBS})
    set(ARG_KERNELS ${ARG_LIB_NAME}_kernels)
  endif()
  get_filename_component(program ${ARG_PROGRAM} ABSOLUTE)
  set(table ${ARG_LIB_NAME}_table)
  gen_selected_ops(LIB_NAME ${table} OPS_FROM_MODEL ${program} DTYPE_SELECTIVE_BUILD ON)
  generate_bindings_for_kernels(LIB_NAME ${table} FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
                                CUSTOM_OPS_YAML ${ARG_CUSTOM_OPS_YAML} ${EXECUTORCH_PACKAGE_ROOT}/kernels/quantized/functions.yaml
                                DTYPE_SELECTIVE_BUILD ON COMPLETE)
  string(MAKE_C_IDENTIFIER ${table} table_identifier)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${ARG_LIB_NAME})
  executorch_codegen(OUTPUT ${folder}/embedded.stamp BYPRODUCTS ${folder}/${ARG_NAME}.h ${folder}/${ARG_NAME}.cpp
                     ARGS embed ${program} --name ${ARG_NAME} --library ${table_identifier} ${temp} --out ${folder}
                     DEPENDS ${program} ${ARG_MEMORY_HEADER})
  add_custom_target(generate_${ARG_LIB_NAME} DEPENDS ${folder}/embedded.stamp)
  set(sources ${folder}/${ARG_NAME}.cpp ${CMAKE_CURRENT_BINARY_DIR}/${table}/RegisterKernels.cpp)
  set_source_files_properties(${sources} PROPERTIES GENERATED TRUE)
  set_source_files_properties(${folder}/${ARG_NAME}.cpp PROPERTIES OBJECT_DEPENDS ${program})
  add_library(${ARG_LIB_NAME} STATIC ${sources})
  add_dependencies(${ARG_LIB_NAME} generate_${ARG_LIB_NAME} generate_${table})
  target_compile_definitions(${ARG_LIB_NAME} PRIVATE EXECUTORCH_NO_STATIC_REGISTRATION)
  target_include_directories(${ARG_LIB_NAME} PUBLIC ${folder} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${ARG_LIB_NAME} PUBLIC extension_c_api ${ARG_KERNELS}_quantized_kernels prim_kernels ${ARG_KERNEL_LIBS})
  target_link_options(${ARG_LIB_NAME} INTERFACE LINKER:--gc-sections)
  executorch_embedded_options(${ARG_LIB_NAME})
endfunction()

# executorch_kernels_for_programs(LIB_NAME name PROGRAMS files... [KERNEL_LIBS targets...]): a set of kernels shared by several
# embedded programs, compiled once for the dtypes of all. An image links only the kernels that its programs use. Only the
# sources that the programs need are compiled. With KERNEL_LIBS, all are: custom kernels may call any kernel.
function(executorch_kernels_for_programs)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "LIB_NAME" "PROGRAMS;KERNEL_LIBS")
  executorch_expect_arguments(executorch_kernels_for_programs)
  gen_selected_ops(LIB_NAME ${ARG_LIB_NAME} OPS_FROM_MODEL ${ARG_PROGRAMS} DTYPE_SELECTIVE_BUILD ON)
  generate_bindings_for_kernels(LIB_NAME ${ARG_LIB_NAME} FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
                                DTYPE_SELECTIVE_BUILD ON)
  set_property(GLOBAL PROPERTY EXECUTORCH_CUSTOM_OPS_${ARG_LIB_NAME} ${ARG_KERNEL_LIBS})
  get_property(dtypes GLOBAL PROPERTY EXECUTORCH_SELECTED_DTYPES_${ARG_LIB_NAME})
  executorch_kernels_for(${ARG_LIB_NAME} ${dtypes})
endfunction()
