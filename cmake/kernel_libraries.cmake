# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Kernel libraries that register the kernels a program needs, and custom kernels. The functions work in the source tree and
# after find_package(executorch):
#
#   gen_selected_ops(LIB_NAME my_ops OPS_FROM_MODEL model.pte DTYPE_SELECTIVE_BUILD ON)
#   generate_bindings_for_kernels(LIB_NAME my_ops FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
#                                 DTYPE_SELECTIVE_BUILD ON)
#   gen_operators_lib(LIB_NAME my_ops KERNEL_LIBS portable_kernels DEPS executorch_core DTYPE_SELECTIVE_BUILD ON)
#   target_link_libraries(app PRIVATE executorch my_ops)  # registers
#
# EXECUTORCH_PACKAGE_ROOT is the folder with codegen/, kernels/ and runtime/schema. From EXECUTORCH_PYTHON_ROOT, Python imports
# that folder as `executorch`. The generator requires Python 3.10 or newer with PyYAML.

include(CheckCXXSourceCompiles)
if(POLICY CMP0174)  # an empty value, such as INCLUDE_ALL_OPS "${unset}", is one without a developer warning
  cmake_policy(SET CMP0174 NEW)
endif()

# executorch_use_python_executable(): sets Python3_EXECUTABLE, unless it is set, from the documented PYTHON_EXECUTABLE.
macro(executorch_use_python_executable)
  if(PYTHON_EXECUTABLE AND NOT Python3_EXECUTABLE)
    find_program(python_executable ${PYTHON_EXECUTABLE} NO_CACHE)
    if(NOT python_executable)
      message(FATAL_ERROR "PYTHON_EXECUTABLE: expected a Python interpreter, found nothing at '${PYTHON_EXECUTABLE}'")
    endif()
    set(Python3_EXECUTABLE ${python_executable})
  endif()
endmacro()

# executorch_generator(variable): returns the generator's command as a list.
function(executorch_generator variable)
  executorch_use_python_executable()
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  get_property(checked GLOBAL PROPERTY EXECUTORCH_HAS_PYYAML)
  if(NOT checked)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import yaml" RESULT_VARIABLE missing ERROR_QUIET)
    if(missing)
      message(FATAL_ERROR "code generation requires PyYAML, which ${Python3_EXECUTABLE} cannot import: `pip install PyYAML`")
    endif()
    set_property(GLOBAL PROPERTY EXECUTORCH_HAS_PYYAML TRUE)
  endif()
  # Run a script, whose folder comes first on Python's path. A PYTHONPATH in the command would differ in each of pip's
  # temporary environments and run every generator again.
  set(launcher ${EXECUTORCH_PYTHON_ROOT}/run_codegen.py)
  if(NOT EXISTS ${launcher})
    file(WRITE ${launcher} "import runpy\n\nrunpy.run_module(\"executorch.codegen\", run_name=\"__main__\", alter_sys=True)\n")
  endif()
  set(${variable} ${Python3_EXECUTABLE} -B ${launcher} PARENT_SCOPE)
endfunction()

# executorch_codegen(OUTPUT file BYPRODUCTS files... ARGS arguments... DEPENDS files...): runs the generator at build
# time. OUTPUT is the stamp of the last run; the generator need not write it.
function(executorch_codegen)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "OUTPUT" "BYPRODUCTS;ARGS;DEPENDS")
  executorch_generator(generator_command)
  file(GLOB generator CONFIGURE_DEPENDS ${EXECUTORCH_PACKAGE_ROOT}/codegen/*.py
       ${EXECUTORCH_PACKAGE_ROOT}/util/exit_code.py)
  add_custom_command(
    OUTPUT ${ARG_OUTPUT}
    BYPRODUCTS ${ARG_BYPRODUCTS}
    COMMAND ${generator_command} ${ARG_ARGS}
    COMMAND ${CMAKE_COMMAND} -E touch ${ARG_OUTPUT}
    DEPENDS ${ARG_DEPENDS} ${generator} ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
            ${EXECUTORCH_PACKAGE_ROOT}/kernels/in_place.json
    COMMENT "Generating ${ARG_OUTPUT}"
    VERBATIM)
endfunction()

# executorch_embedded_options(target): options of libraries for devices: no exceptions, no RTTI, unused sections removed.
function(executorch_embedded_options target)
  # Without exceptions, only debuggers use unwind tables. Builds for size omit them.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -fno-exceptions -fno-rtti
                                           $<$<CONFIG:MinSizeRel>:-fno-asynchronous-unwind-tables -fno-unwind-tables>)
endfunction()

# executorch_exceptions(targets...): enables exceptions for host-only libraries, which may use standard containers.
# no_memory.h (extension/memory_allocator) turns allocation failures into the runtime's errors. Also enables RTTI, so that
# programs may use typeid and dynamic_cast on their objects.
function(executorch_exceptions)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fexceptions -funwind-tables -frtti)
  endforeach()
endfunction()

# executorch_type_information(target): enables RTTI for users of the target's objects, except in builds for size and boards,
# where the tables would take memory. The target's own sources must not use RTTI: builds for size would fail.
function(executorch_type_information target)
  if(EXECUTORCH_HOSTED AND NOT EXECUTORCH_OPTIMIZE_SIZE)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:MinSizeRel>>:-frtti>)
  endif()
endfunction()

# executorch_kernel_options(target): options of elementwise loops: the vectorizer's full cost model, and no errno or
# floating-point exception flags, so that roots and rounding compile to instructions. Results do not change.
function(executorch_kernel_options target)
  if(NOT EXECUTORCH_OPTIMIZE_SIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math)
  # Contraction to fused multiply-add would make results depend on the processor: for a random seed, for a product minus the
  # rounded mean of such products, which must cancel exactly, and for quantized tensors, whose reference rounds after every
  # step. Loops that are also compiled for AVX-512 (kernels/loops/elementwise/simd_dispatch.h) follow the same rule.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    check_cxx_source_compiles("#if defined(__x86_64__) && !defined(__FMA__)\nint main() {}\n#endif"
                              EXECUTORCH_FMA_IS_CHOSEN)
  endif()
  set(unfused_sources "portable/(random/random|normalize/backward)|quantized/.*")
  if(EXECUTORCH_FMA_IS_CHOSEN)
    set(unfused_sources "(portable|loops|quantized)/.*")
  endif()
  get_target_property(unfused ${target} SOURCES)
  list(FILTER unfused INCLUDE REGEX "[/]kernels/(${unfused_sources})\\.cpp$")
  list(FILTER unfused EXCLUDE REGEX "[/]kernels/portable/(gemm/gemm|recurrent/layers)\\.cpp$")  # sums whose last bits may differ
  foreach(source ${unfused})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(NOT options MATCHES "-ffp-contract=off")  # several libraries of a folder may have it
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
    endif()
  endforeach()
endfunction()

# executorch_linking_registers(target library): forces linking of the registration's object file by one of its symbols,
# without a whole-archive flag. The linker still drops unused kernels.
function(executorch_linking_registers target library)
  target_link_options(${target} INTERFACE LINKER:-u,executorch_link_${library} LINKER:--gc-sections)
endfunction()

# gen_selected_ops(LIB_NAME name [OPS_SCHEMA_YAML files...] [ROOT_OPS "a::b.out,..."] [INCLUDE_ALL_OPS bool]
#                  [OPS_FROM_MODEL programs...] [DTYPE_SELECTIVE_BUILD bool])
# Selects the operators of a library: the union of all arguments, written to <binary dir>/<name>/selected_operators.yaml at
# build time. Older documentation passes the first four values by position:
# gen_selected_ops(name schema_yaml root_ops include_all_ops).
function(gen_selected_ops)
  set(names LIB_NAME OPS_SCHEMA_YAML ROOT_OPS INCLUDE_ALL_OPS OPS_FROM_MODEL DTYPE_SELECTIVE_BUILD)
  if(ARGC EQUAL 4 AND NOT ARGV0 IN_LIST names)
    gen_selected_ops(LIB_NAME "${ARGV0}" OPS_SCHEMA_YAML "${ARGV1}" ROOT_OPS "${ARGV2}" INCLUDE_ALL_OPS "${ARGV3}")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "LIB_NAME;INCLUDE_ALL_OPS;DTYPE_SELECTIVE_BUILD"
                        "OPS_SCHEMA_YAML;ROOT_OPS;OPS_FROM_MODEL")
  executorch_expect_arguments(gen_selected_ops)
  list(REMOVE_ITEM ARG_OPS_SCHEMA_YAML "")
  list(REMOVE_ITEM ARG_OPS_FROM_MODEL "")
  if(ARG_DTYPE_SELECTIVE_BUILD AND NOT ARG_OPS_FROM_MODEL AND NOT ARG_OPS_SCHEMA_YAML)
    message(FATAL_ERROR "gen_selected_ops: DTYPE_SELECTIVE_BUILD of ${ARG_LIB_NAME} requires programs (OPS_FROM_MODEL) or a "
                        "selection with dtypes (OPS_SCHEMA_YAML), found neither")
  endif()
  set(selection ${CMAKE_CURRENT_BINARY_DIR}/${ARG_LIB_NAME}/selected_operators.yaml)
  set(inputs)
  set(arguments)
  foreach(file ${ARG_OPS_SCHEMA_YAML})
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND arguments --ops-yaml ${file})
    list(APPEND inputs ${file})
  endforeach()
  foreach(file ${ARG_OPS_FROM_MODEL})
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND arguments --model ${file})
    list(APPEND inputs ${file})
  endforeach()
  if(ARG_ROOT_OPS)
    list(JOIN ARG_ROOT_OPS "," operators)
    list(APPEND arguments --ops ${operators})
  endif()
  if(ARG_INCLUDE_ALL_OPS)
    list(APPEND arguments --all)
  endif()
  executorch_codegen(OUTPUT ${selection} ARGS select --output ${selection} ${arguments} DEPENDS ${inputs})
  set_property(GLOBAL PROPERTY EXECUTORCH_SELECTION_${ARG_LIB_NAME} ${selection})
  set_property(GLOBAL PROPERTY EXECUTORCH_SELECTING_${ARG_LIB_NAME} ${arguments})
  set_property(GLOBAL PROPERTY EXECUTORCH_SELECTED_OF_${ARG_LIB_NAME} ${inputs})
endfunction()

# executorch_selected_sources(name variable): returns the sources of kernels/ that a selection needs. All if a program does
# not exist yet at configure time, or if custom kernels may call any kernel.
function(executorch_selected_sources name variable)
  set(sources)
  foreach(library portable loops quantized)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${EXECUTORCH_PACKAGE_ROOT}/kernels/${library}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  get_property(arguments GLOBAL PROPERTY EXECUTORCH_SELECTING_${name})
  get_property(inputs GLOBAL PROPERTY EXECUTORCH_SELECTED_OF_${name})
  get_property(custom GLOBAL PROPERTY EXECUTORCH_CUSTOM_OPS_${name})
  set(are_custom OFF)
  set(kernels ${EXECUTORCH_PACKAGE_ROOT}/kernels)
  foreach(file ${custom})
    cmake_path(IS_PREFIX kernels ${file} NORMALIZE is_ours)
    if(NOT is_ours)
      set(are_custom ON)
    endif()
  endforeach()
  set(are_known ON)
  foreach(input ${inputs})
    if(NOT EXISTS ${input})
      set(are_known OFF)
    endif()
  endforeach()
  if(arguments AND are_known AND NOT are_custom)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs} ${EXECUTORCH_PACKAGE_ROOT}/kernels/sources.json)
    executorch_generator(generator_command)
    execute_process(COMMAND ${generator_command} sources ${arguments} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" needed "${needed}")
    list(TRANSFORM needed PREPEND ${EXECUTORCH_PACKAGE_ROOT}/kernels/)
    set(sources ${needed})
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# generate_bindings_for_kernels(LIB_NAME name [FUNCTIONS_YAML file] [CUSTOM_OPS_YAML files...] [DTYPE_SELECTIVE_BUILD bool]
#                               [COMPLETE] [USE_ATEN_LIB])
# Generates NativeFunctions.h, Functions.h and the registration table in <binary dir>/<name>, for the operators that
# gen_selected_ops selected for the name, or for all. Kernels of CUSTOM_OPS_YAML replace those of FUNCTIONS_YAML.
# COMPLETE: the table must contain all kernels of its programs, including primitive operators.
# USE_ATEN_LIB, with EXECUTORCH_BUILD_ATEN or the package's component `aten`: the library is for at::Tensor. Operators of
# FUNCTIONS_YAML use ATen's kernels unless the yaml names a kernel.
function(generate_bindings_for_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "COMPLETE;USE_ATEN_LIB" "LIB_NAME;FUNCTIONS_YAML;DTYPE_SELECTIVE_BUILD" "CUSTOM_OPS_YAML")
  executorch_expect_arguments(generate_bindings_for_kernels)
  if("DTYPE_SELECTIVE_BUILD" IN_LIST ARG_KEYWORDS_MISSING_VALUES)
    set(ARG_DTYPE_SELECTIVE_BUILD ON)
  endif()
  if(NOT ARG_FUNCTIONS_YAML AND NOT ARG_CUSTOM_OPS_YAML)
    message(FATAL_ERROR "generate_bindings_for_kernels: ${ARG_LIB_NAME} requires FUNCTIONS_YAML or CUSTOM_OPS_YAML")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${ARG_LIB_NAME})
  string(MAKE_C_IDENTIFIER ${ARG_LIB_NAME} identifier)
  set(outputs ${folder}/NativeFunctions.h ${folder}/Functions.h ${folder}/RegisterKernels.cpp)
  set(arguments bind --library ${identifier} --include ${ARG_LIB_NAME} --out ${CMAKE_CURRENT_BINARY_DIR})
  set(inputs)
  foreach(kind FUNCTIONS CUSTOM_OPS)
    foreach(file ${ARG_${kind}_YAML})
      get_filename_component(file ${file} ABSOLUTE)
      string(TOLOWER ${kind} option)
      string(REPLACE "_" "-" option ${option})
      list(APPEND arguments --${option}-yaml ${file})
      list(APPEND inputs ${file})
    endforeach()
  endforeach()
  if(ARG_COMPLETE)
    list(APPEND arguments --complete)
  endif()
  if(ARG_USE_ATEN_LIB)
    if(NOT TARGET aten_kernels)
      message(FATAL_ERROR "generate_bindings_for_kernels: USE_ATEN_LIB of ${ARG_LIB_NAME} requires EXECUTORCH_BUILD_ATEN, "
                          "or of a package that was built with it find_package(executorch COMPONENTS aten)")
    endif()
    list(APPEND arguments --use-aten-lib)
    set_property(GLOBAL PROPERTY EXECUTORCH_USES_ATEN_${ARG_LIB_NAME} ON)
  endif()
  get_property(selection GLOBAL PROPERTY EXECUTORCH_SELECTION_${ARG_LIB_NAME})
  if(selection)
    list(APPEND arguments --selection ${selection})
    list(APPEND inputs ${selection})
  endif()
  if(ARG_DTYPE_SELECTIVE_BUILD)
    list(APPEND arguments --dtypes)
    list(APPEND outputs ${folder}/selected_dtypes.h)
    set_property(GLOBAL PROPERTY EXECUTORCH_SELECTED_DTYPES_${ARG_LIB_NAME} ${folder}/selected_dtypes.h)
  endif()
  executorch_codegen(OUTPUT ${folder}/bindings.stamp BYPRODUCTS ${outputs} ARGS ${arguments} DEPENDS ${inputs})
  add_custom_target(generate_${ARG_LIB_NAME} DEPENDS ${folder}/bindings.stamp)
  set_source_files_properties(${folder}/RegisterKernels.cpp PROPERTIES GENERATED TRUE)
  set_property(GLOBAL PROPERTY EXECUTORCH_CUSTOM_OPS_${ARG_LIB_NAME} ${ARG_CUSTOM_OPS_YAML})
endfunction()

# gen_operators_lib(LIB_NAME name KERNEL_LIBS targets... [DEPS targets...] [DTYPE_SELECTIVE_BUILD bool])
# The static library `name`. A program that links it registers the kernels bound for the name. With selected dtypes, the
# portable and quantized kernels among KERNEL_LIBS are compiled again for only these dtypes. Configuring a program that links
# both builds fails.
function(gen_operators_lib)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "LIB_NAME;DTYPE_SELECTIVE_BUILD" "KERNEL_LIBS;DEPS")
  executorch_expect_arguments(gen_operators_lib)
  if(NOT TARGET generate_${ARG_LIB_NAME})
    message(FATAL_ERROR "gen_operators_lib: call generate_bindings_for_kernels(LIB_NAME ${ARG_LIB_NAME} ...) before it")
  endif()
  get_property(dtypes GLOBAL PROPERTY EXECUTORCH_SELECTED_DTYPES_${ARG_LIB_NAME})
  if(ARG_DTYPE_SELECTIVE_BUILD AND NOT dtypes)
    message(FATAL_ERROR "gen_operators_lib: the bindings of ${ARG_LIB_NAME} were generated without DTYPE_SELECTIVE_BUILD")
  endif()
  list(TRANSFORM ARG_KERNEL_LIBS REPLACE "^executorch::(portable|quantized)_kernels$" "\\1_kernels")
  if(dtypes AND ARG_KERNEL_LIBS MATCHES "(portable|quantized)_kernels")
    executorch_kernels_for(${ARG_LIB_NAME} ${dtypes})
    list(TRANSFORM ARG_KERNEL_LIBS REPLACE "^(portable|quantized)_kernels$" "${ARG_LIB_NAME}_\\1_kernels")
  elseif(dtypes)
    message(FATAL_ERROR "gen_operators_lib: DTYPE_SELECTIVE_BUILD expected portable_kernels in KERNEL_LIBS, found ${ARG_KERNEL_LIBS}")
  endif()
  set(registration ${CMAKE_CURRENT_BINARY_DIR}/${ARG_LIB_NAME}/RegisterKernels.cpp)
  get_property(uses_aten GLOBAL PROPERTY EXECUTORCH_USES_ATEN_${ARG_LIB_NAME})
  add_library(${ARG_LIB_NAME} STATIC ${registration})
  if(uses_aten)  # torch's headers need exceptions and type information
    target_link_libraries(${ARG_LIB_NAME} PUBLIC ${ARG_KERNEL_LIBS} ${ARG_DEPS} aten_kernels)
  else()
    target_link_libraries(${ARG_LIB_NAME} PUBLIC ${ARG_KERNEL_LIBS} ${ARG_DEPS} executorch_core)
    executorch_embedded_options(${ARG_LIB_NAME})
  endif()
  add_dependencies(${ARG_LIB_NAME} generate_${ARG_LIB_NAME})
  target_include_directories(${ARG_LIB_NAME} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}>)
  string(MAKE_C_IDENTIFIER ${ARG_LIB_NAME} identifier)
  executorch_linking_registers(${ARG_LIB_NAME} ${identifier})
endfunction()

# The targets <name>_portable_kernels (including their building blocks) and <name>_quantized_kernels: kernels for the header's
# dtypes, from the sources that the selection needs.
function(executorch_kernels_for name header)
  executorch_selected_sources(${name} sources_of_portable)
  set(sources_of_quantized ${sources_of_portable})
  list(FILTER sources_of_portable EXCLUDE REGEX "[/]kernels/quantized/")
  list(FILTER sources_of_quantized INCLUDE REGEX "[/]kernels/quantized/")
  foreach(kind portable quantized)
    set(target ${name}_${kind}_kernels)
    if(NOT sources_of_${kind})
      add_library(${target} INTERFACE)
      target_link_libraries(${target} INTERFACE executorch_core)
      continue()
    endif()
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources_of_${kind}})
    target_link_libraries(${target} PUBLIC executorch_core)
    target_compile_definitions(${target} PRIVATE "EXECUTORCH_SELECTED_DTYPES_HEADER=\"${header}\"")
    executorch_embedded_options(${target})
    executorch_kernel_options(${target})
    add_dependencies(${target} generate_${name})
    if(TARGET generate_${kind}_kernels_table)
      add_dependencies(${target} generate_${kind}_kernels_table)
    endif()
  endforeach()
  if(sources_of_quantized)
    target_link_libraries(${name}_quantized_kernels PUBLIC ${name}_portable_kernels)
  else()
    target_link_libraries(${name}_quantized_kernels INTERFACE ${name}_portable_kernels)
  endif()
  # Both builds define the same functions.
  set_target_properties(${name}_portable_kernels PROPERTIES INTERFACE_EXECUTORCH_KERNEL_DTYPES ${name}
                                                            COMPATIBLE_INTERFACE_STRING EXECUTORCH_KERNEL_DTYPES)
endfunction()

macro(executorch_expect_arguments function)
  if(NOT ARG_LIB_NAME)
    message(FATAL_ERROR "${function}: LIB_NAME is missing")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown arguments of ${ARG_LIB_NAME}: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endmacro()
