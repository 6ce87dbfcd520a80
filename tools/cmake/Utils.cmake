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
    if(APPLE)
      target_link_options(${target} INTERFACE "SHELL:LINKER:-force_load,$<TARGET_FILE:${target}>")
    elseif(MSVC)
      target_link_options(${target} INTERFACE "SHELL:LINKER:/WHOLEARCHIVE:$<TARGET_FILE:${target}>")
    else()
      target_link_options(${target} INTERFACE
                          "SHELL:LINKER:--whole-archive $<TARGET_FILE:${target}> LINKER:--no-whole-archive")
    endif()
  endif()
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
