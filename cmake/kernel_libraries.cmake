# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Kernel libraries that register what a program needs, and users' own kernels. In the source tree and from
# find_package(executorch) alike:
#
#   gen_selected_ops(LIB_NAME my_ops OPS_FROM_MODEL model.pte DTYPE_SELECTIVE_BUILD ON)
#   generate_bindings_for_kernels(LIB_NAME my_ops FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
#                                 DTYPE_SELECTIVE_BUILD ON)
#   gen_operators_lib(LIB_NAME my_ops KERNEL_LIBS portable_kernels DEPS executorch_core DTYPE_SELECTIVE_BUILD ON)
#   target_link_libraries(app PRIVATE executorch my_ops)  # registers
#
# EXECUTORCH_PACKAGE_ROOT is the folder with codegen/, kernels/ and runtime/schema; EXECUTORCH_PYTHON_ROOT one from which
# Python imports it as `executorch`. The generator needs Python 3.10 or newer with PyYAML.

include(CheckCXXSourceCompiles)

# executorch_use_python_executable(): PYTHON_EXECUTABLE, the documented name, sets Python3_EXECUTABLE unless that is set.
macro(executorch_use_python_executable)
  if(PYTHON_EXECUTABLE AND NOT Python3_EXECUTABLE)
    find_program(python_executable ${PYTHON_EXECUTABLE} NO_CACHE)
    if(NOT python_executable)
      message(FATAL_ERROR "PYTHON_EXECUTABLE: expected a Python interpreter, found nothing at '${PYTHON_EXECUTABLE}'")
    endif()
    set(Python3_EXECUTABLE ${python_executable})
  endif()
endmacro()

# executorch_generator(variable): the command that runs the generator, as a list.
function(executorch_generator variable)
  executorch_use_python_executable()
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  get_property(checked GLOBAL PROPERTY EXECUTORCH_HAS_PYYAML)
  if(NOT checked)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import yaml" RESULT_VARIABLE missing ERROR_QUIET)
    if(missing)
      message(FATAL_ERROR "code generation needs PyYAML, which ${Python3_EXECUTABLE} has not: `pip install PyYAML`")
    endif()
    set_property(GLOBAL PROPERTY EXECUTORCH_HAS_PYYAML TRUE)
  endif()
  # A script's own folder comes first on Python's path. The command does not hold PYTHONPATH, which in pip's temporary
  # environments differs each time and would run every generator again.
  set(launcher ${EXECUTORCH_PYTHON_ROOT}/run_codegen.py)
  if(NOT EXISTS ${launcher})
    file(WRITE ${launcher} "import runpy\n\nrunpy.run_module(\"executorch.codegen\", run_name=\"__main__\", alter_sys=True)\n")
  endif()
  set(${variable} ${Python3_EXECUTABLE} -B ${launcher} PARENT_SCOPE)
endfunction()

# executorch_codegen(OUTPUT file BYPRODUCTS files... ARGS arguments... DEPENDS files...): runs the generator at build
# time; OUTPUT, which it need not write, says when it last ran.
function(executorch_codegen)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "OUTPUT" "BYPRODUCTS;ARGS;DEPENDS")
  executorch_generator(generator_command)
  file(GLOB generator CONFIGURE_DEPENDS ${EXECUTORCH_PACKAGE_ROOT}/codegen/*.py)
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

# executorch_embedded_options(target): what is linked into devices has neither exceptions nor type information, and is
# cut to what is used.
function(executorch_embedded_options target)
  # Without exceptions, unwind tables are there for debuggers alone, which a build for size does not ask for.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -fno-exceptions -fno-rtti
                                           $<$<CONFIG:MinSizeRel>:-fno-asynchronous-unwind-tables -fno-unwind-tables>)
endfunction()

# executorch_exceptions(targets...): what hosts alone use may hold containers of the standard library, whose errors are
# exceptions; no_memory.h (extension/memory_allocator) makes them the runtime's. Programs may also query the type of its
# objects (typeid, dynamic_cast).
function(executorch_exceptions)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fexceptions -funwind-tables -frtti)
  endforeach()
endfunction()

# executorch_type_information(target): lets programs query the type of the target's objects, except in builds for size and
# for boards, where the tables would take memory. The target's own sources use none of it: builds for size would not compile.
function(executorch_type_information target)
  if(EXECUTORCH_HOSTED AND NOT EXECUTORCH_OPTIMIZE_SIZE)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:MinSizeRel>>:-frtti>)
  endif()
endfunction()

# executorch_kernel_options(target): loops over elements want the vectorizer's full cost model. Nobody reads errno or the
# floating-point exception flags: without them, roots and rounding become instructions. Numbers stay the same.
function(executorch_kernel_options target)
  if(NOT EXECUTORCH_OPTIMIZE_SIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math)
  # With fused multiplication, processors that have it would give other numbers than those that have not: for a seed; for a
  # difference of a product and the rounded mean of such products, of which nothing may be left; for quantized tensors,
  # whose reference rounds after every step. Where the compiler's target has none, loops that are compiled for AVX-512
  # besides (kernels/loops/elementwise/simd_dispatch.h) keep to that as well.
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

# executorch_linking_registers(target library): linking the target asks for the registration's object file by a symbol
# in it, so that no whole-archive flag is needed; what is not used of the kernels is left out.
function(executorch_linking_registers target library)
  target_link_options(${target} INTERFACE LINKER:-u,executorch_link_${library} LINKER:--gc-sections)
endfunction()

# gen_selected_ops(LIB_NAME name [OPS_SCHEMA_YAML files...] [ROOT_OPS "a::b.out,..."] [INCLUDE_ALL_OPS bool]
#                  [OPS_FROM_MODEL programs...] [DTYPE_SELECTIVE_BUILD bool])
# The operators that the library of that name is to register: the union of what is given, written to
# <binary dir>/<name>/selected_operators.yaml when building. Older pages give the first four values by position:
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
  if(ARG_DTYPE_SELECTIVE_BUILD AND NOT ARG_OPS_FROM_MODEL)
    message(FATAL_ERROR "gen_selected_ops: DTYPE_SELECTIVE_BUILD of ${ARG_LIB_NAME} needs programs to know the dtypes "
                        "from (OPS_FROM_MODEL), found none")
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

# executorch_selected_sources(name variable): the sources of kernels/ that the selection of that name needs; all if
# programs are not there yet when the build is configured, or kernels of one's own may call any.
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
# gen_selected_ops chose for the name, or for all. Kernels of CUSTOM_OPS_YAML take the place of those in FUNCTIONS_YAML.
# COMPLETE: the table holds all that its programs use, the primitive operators too; else that is an error.
# USE_ATEN_LIB, with EXECUTORCH_BUILD_ATEN or the package's component `aten`: the library is for at::Tensor, and the kernels
# of FUNCTIONS_YAML's operators, but for those that it names, are ATen's own.
function(generate_bindings_for_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "COMPLETE;USE_ATEN_LIB" "LIB_NAME;FUNCTIONS_YAML;DTYPE_SELECTIVE_BUILD" "CUSTOM_OPS_YAML")
  executorch_expect_arguments(generate_bindings_for_kernels)
  if("DTYPE_SELECTIVE_BUILD" IN_LIST ARG_KEYWORDS_MISSING_VALUES)
    set(ARG_DTYPE_SELECTIVE_BUILD ON)
  endif()
  if(NOT ARG_FUNCTIONS_YAML AND NOT ARG_CUSTOM_OPS_YAML)
    message(FATAL_ERROR "generate_bindings_for_kernels: ${ARG_LIB_NAME} has neither FUNCTIONS_YAML nor CUSTOM_OPS_YAML")
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
      message(FATAL_ERROR "generate_bindings_for_kernels: USE_ATEN_LIB of ${ARG_LIB_NAME} needs EXECUTORCH_BUILD_ATEN, "
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
# The static library `name`, by linking which a program registers the kernels that were bound for the name. With dtypes
# selected, the portable and quantized kernels among KERNEL_LIBS are compiled once more for it, with those dtypes alone; a
# program that links both builds of them does not configure.
function(gen_operators_lib)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "LIB_NAME;DTYPE_SELECTIVE_BUILD" "KERNEL_LIBS;DEPS")
  executorch_expect_arguments(gen_operators_lib)
  if(NOT TARGET generate_${ARG_LIB_NAME})
    message(FATAL_ERROR "gen_operators_lib: call generate_bindings_for_kernels(LIB_NAME ${ARG_LIB_NAME} ...) before it")
  endif()
  get_property(dtypes GLOBAL PROPERTY EXECUTORCH_SELECTED_DTYPES_${ARG_LIB_NAME})
  if(ARG_DTYPE_SELECTIVE_BUILD AND NOT dtypes)
    message(FATAL_ERROR "gen_operators_lib: the bindings of ${ARG_LIB_NAME} were made without DTYPE_SELECTIVE_BUILD")
  endif()
  list(TRANSFORM ARG_KERNEL_LIBS REPLACE "^executorch::(portable|quantized)_kernels$" "\\1_kernels")
  if(dtypes AND ARG_KERNEL_LIBS MATCHES "(portable|quantized)_kernels")
    executorch_kernels_for(${ARG_LIB_NAME} ${dtypes})
    list(TRANSFORM ARG_KERNEL_LIBS REPLACE "^(portable|quantized)_kernels$" "${ARG_LIB_NAME}_\\1_kernels")
  elseif(dtypes)
    message(FATAL_ERROR "gen_operators_lib: dtypes are selected for portable_kernels, found KERNEL_LIBS ${ARG_KERNEL_LIBS}")
  endif()
  set(registration ${CMAKE_CURRENT_BINARY_DIR}/${ARG_LIB_NAME}/RegisterKernels.cpp)
  get_property(uses_aten GLOBAL PROPERTY EXECUTORCH_USES_ATEN_${ARG_LIB_NAME})
  add_library(${ARG_LIB_NAME} STATIC ${registration})
  if(uses_aten)  # torch's headers want exceptions and type information
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

# The targets <name>_portable_kernels (with what kernels are made of) and <name>_quantized_kernels: these kernels for the
# dtypes that the header says, of the sources that the selection of the name needs.
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
