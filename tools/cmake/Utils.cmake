# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Documented helpers for projects that link this one: in the source tree, and below the prefix of an installed package.
include_guard(GLOBAL)

# executorch_target_link_options_shared_lib(target): programs that link the target run the constructors of its objects, which
# register kernels or backends. This project's libraries, and those of gen_operators_lib, name a symbol of their registration
# (executorch_linking_registers), so they need no further option. Other static libraries are linked whole.
function(executorch_target_link_options_shared_lib target_name)
  if(NOT TARGET ${target_name})
    message(FATAL_ERROR "executorch_target_link_options_shared_lib: expected a target, found '${target_name}'")
  endif()
  get_target_property(target ${target_name} ALIASED_TARGET)
  if(NOT target)
    set(target ${target_name})
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
  get_property(own GLOBAL PROPERTY EXECUTORCH_LIBRARIES)
  if(target MATCHES "^executorch::" OR target IN_LIST own OR options MATCHES "executorch_link_|whole-archive|WHOLEARCHIVE|force_load")
    return()
  elseif(type STREQUAL "STATIC_LIBRARY")
    executorch_whole_archive_options(options ${target})
    target_link_options(${target} INTERFACE "${options}")
  endif()
endfunction()

# executorch_whole_archive_options(variable target): link options that link all objects of a static library.
function(executorch_whole_archive_options variable target)
  if(APPLE)
    set(options "SHELL:LINKER:-force_load,$<TARGET_FILE:${target}>")
  elseif(MSVC)
    set(options "SHELL:LINKER:/WHOLEARCHIVE:$<TARGET_FILE:${target}>")
  else()
    set(options "SHELL:LINKER:--whole-archive $<TARGET_FILE:${target}> LINKER:--no-whole-archive")
  endif()
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()

# executorch_target_whole_archive(target archive): the target links all objects of the static library `archive`.
function(executorch_target_whole_archive target_name archive_target)
  executorch_whole_archive_options(options ${archive_target})
  target_link_options(${target_name} PRIVATE "${options}")
  add_dependencies(${target_name} ${archive_target})
endfunction()

# The name of the same function in older releases.
function(target_link_options_shared_lib target_name)
  executorch_target_link_options_shared_lib(${target_name})
endfunction()

# target_link_options_gc_sections(target): the linker drops unused sections of the target.
function(target_link_options_gc_sections target_name)
  if(APPLE)
    target_link_options(${target_name} PRIVATE LINKER:-dead_strip)
  elseif(MSVC)
    target_link_options(${target_name} PRIVATE LINKER:/OPT:REF)
  else()
    target_link_options(${target_name} PRIVATE LINKER:--gc-sections)
  endif()
endfunction()

# resolve_python_executable(): sets PYTHON_EXECUTABLE to a Python interpreter unless it is set.
macro(resolve_python_executable)
  if(NOT PYTHON_EXECUTABLE)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(PYTHON_EXECUTABLE ${Python3_EXECUTABLE})
  endif()
endmacro()

# get_torch_base_path(variable): the folder of the interpreter's torch package.
function(get_torch_base_path variable)
  resolve_python_executable()
  execute_process(
    COMMAND ${PYTHON_EXECUTABLE} -c "import importlib.util as i; print(i.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_VARIABLE reason)
  if(failed)
    message(FATAL_ERROR "get_torch_base_path: expected torch in ${PYTHON_EXECUTABLE}, found none: ${reason}")
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

# add_torch_to_cmake_prefix_path(): find_package(Torch) then finds the interpreter's torch.
macro(add_torch_to_cmake_prefix_path)
  get_torch_base_path(executorch_torch_folder)
  list(APPEND CMAKE_PREFIX_PATH ${executorch_torch_folder})
endmacro()

# find_package_torch(): the interpreter's torch, once.
macro(find_package_torch)
  if(NOT TARGET torch)
    add_torch_to_cmake_prefix_path()
    find_package(Torch CONFIG REQUIRED)
  endif()
endmacro()

# find_package_torch_headers(): sets TORCH_INCLUDE_DIRS alone.
macro(find_package_torch_headers)
  get_torch_base_path(executorch_torch_folder)
  set(TORCH_INCLUDE_DIRS ${executorch_torch_folder}/include ${executorch_torch_folder}/include/torch/csrc/api/include)
endmacro()
