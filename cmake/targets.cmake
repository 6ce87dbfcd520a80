# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Functions with which every folder declares its targets.

# Include roots and language options that users of the libraries need too.
add_library(executorch_headers INTERFACE)
target_include_directories(
  executorch_headers
  INTERFACE $<BUILD_INTERFACE:${EXECUTORCH_INCLUDE_ROOT}> $<BUILD_INTERFACE:${EXECUTORCH_GENERATED_ROOT}>
            $<INSTALL_INTERFACE:include>)
target_compile_features(executorch_headers INTERFACE cxx_std_17)
if(NOT EXECUTORCH_ENABLE_LOGGING)
  target_compile_definitions(executorch_headers INTERFACE ET_LOG_ENABLED=0)
endif()
set(log_level)
foreach(level Debug Info Error Fatal)
  string(TOLOWER ${level} lower)
  string(TOLOWER "${EXECUTORCH_LOG_LEVEL}" wanted)
  if(wanted STREQUAL lower)
    set(log_level ${level})
  endif()
endforeach()
if(NOT log_level)
  message(FATAL_ERROR "EXECUTORCH_LOG_LEVEL: expected Debug, Info, Error or Fatal, found '${EXECUTORCH_LOG_LEVEL}'")
endif()
if(NOT log_level STREQUAL "Info")
  target_compile_definitions(executorch_headers INTERFACE ET_MIN_LOG_LEVEL=${log_level})
endif()
if(NOT EXECUTORCH_STATIC_REGISTRATION)
  target_compile_definitions(executorch_headers INTERFACE EXECUTORCH_NO_STATIC_REGISTRATION)
endif()
if(NOT EXECUTORCH_ENABLE_EVENT_TRACER)
  target_compile_definitions(executorch_headers INTERFACE ET_EVENT_TRACER_DISABLED)
endif()

# Options for compiling our own sources.
add_library(executorch_strict INTERFACE)
# Warnings are errors with the compiler of continuous integration. With another compiler, a warning that only it gives
# must not fail a user's build.
set(warnings -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Werror)
endif()
target_compile_options(executorch_strict INTERFACE ${warnings} -ffunction-sections -fdata-sections)
# Public headers bring no headers that only users' sources rely on (runtime/platform/standard_headers.h).
target_compile_definitions(executorch_strict INTERFACE EXECUTORCH_OWN_SOURCES)
if(NOT EXECUTORCH_HOSTED)
  # In newlib int32_t is long, which %d prints correctly. Builds for hosts check the formats.
  target_compile_options(executorch_strict INTERFACE -Wno-format)
endif()
if(EXECUTORCH_SANITIZE)
  # The vptr check needs type information, which kernels lack.
  target_compile_options(executorch_strict INTERFACE -fsanitize=${EXECUTORCH_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
                                                     -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${EXECUTORCH_SANITIZE})
endif()

# et_library(NAME SOURCES... [DEPENDS targets...]): a static library without exceptions and RTTI; see executorch_exceptions() and
# executorch_type_information().
function(et_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(
    ${name}
    PUBLIC executorch_headers ${ARG_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:executorch_strict>)
  executorch_embedded_options(${name})
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES ${name})
endfunction()

# et_header_library(NAME [DEPENDS targets...])
function(et_header_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE executorch_headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES ${name})
endfunction()

# et_generate_schema(FBS HEADER): the C++ header of a flatbuffer schema.
function(et_generate_schema schema header)
  get_filename_component(folder ${header} DIRECTORY)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${FLATC} --cpp --cpp-std c++11 --scoped-enums -o ${folder} ${schema}
    DEPENDS ${schema}
    VERBATIM)
endfunction()

# et_generate_kernels(LIBRARY YAML INCLUDE [OVERRIDES]): runs the code generation; sets ${LIBRARY}_registration to the
# generated registration source.
function(et_generate_kernels library)
  cmake_parse_arguments(ARG "OVERRIDES" "YAML;INCLUDE" "" ${ARGN})
  set(folder ${EXECUTORCH_GENERATED_ROOT}/${ARG_INCLUDE})
  set(outputs ${folder}/NativeFunctions.h ${folder}/Functions.h ${folder}/RegisterKernels.cpp)
  set(arguments bind --functions-yaml ${ARG_YAML} --library ${library} --out ${EXECUTORCH_GENERATED_ROOT} --include
                ${ARG_INCLUDE})
  if(ARG_OVERRIDES)
    list(APPEND arguments --overrides)
  endif()
  executorch_codegen(OUTPUT ${folder}/generated.stamp BYPRODUCTS ${outputs} ARGS ${arguments} DEPENDS ${ARG_YAML})
  add_custom_target(generate_${library} DEPENDS ${folder}/generated.stamp)
  set_source_files_properties(${folder}/RegisterKernels.cpp PROPERTIES GENERATED TRUE)
  set(${library}_registration ${folder}/RegisterKernels.cpp PARENT_SCOPE)
endfunction()

# et_ops_library(NAME KERNELS target REGISTRATION source LIBRARY name): a library that registers kernels when linked.
function(et_ops_library name)
  cmake_parse_arguments(ARG "" "KERNELS;REGISTRATION;LIBRARY" "" ${ARGN})
  et_library(${name} SOURCES ${ARG_REGISTRATION} DEPENDS ${ARG_KERNELS} executorch_core)
  add_dependencies(${name} generate_${ARG_LIBRARY})
  executorch_linking_registers(${name} ${ARG_LIBRARY})
endfunction()

# et_other_name(NAME targets...): an alias for targets.
function(et_other_name name)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${ARGN})
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES ${name})
endfunction()
