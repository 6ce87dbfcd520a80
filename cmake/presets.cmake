# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# EXECUTORCH_BUILD_PRESET_FILE names a CMake file that chooses options (tools/cmake/preset). An option given with -D wins over
# the preset, and the preset wins over tools/cmake/preset/default.cmake.

include(${PROJECT_SOURCE_DIR}/tools/cmake/common/preset.cmake)

# executorch_preset_leaves_out(text): reports the parts of the documented preset that this project lacks.
function(executorch_preset_leaves_out text)
  get_filename_component(preset ${CMAKE_CURRENT_LIST_FILE} NAME_WE)
  message(STATUS "preset ${preset}: ignored, because this project lacks it: ${text}")
endfunction()

# forget_options_of(preset): removes the options that an earlier configuration of this folder chose or left at their
# defaults, so that the present preset chooses again. Options of the present command line stay.
function(forget_options_of preset)
  message(STATUS "Options of the earlier configuration (preset: ${preset}) are forgotten")
  get_cmake_property(entries CACHE_VARIABLES)
  list(FILTER entries INCLUDE REGEX "^EXECUTORCH_")
  foreach(name ${entries})
    get_property(help CACHE ${name} PROPERTY HELPSTRING)
    if(NOT help STREQUAL "No help, variable specified on the command line." AND NOT name STREQUAL "EXECUTORCH_BUILD_PRESET_FILE")
      unset(${name} CACHE)
    endif()
  endforeach()
endfunction()

set(preset "${EXECUTORCH_BUILD_PRESET_FILE}")
if(NOT preset)
  set(preset none)
endif()
if(DEFINED CACHE{executorch_last_preset} AND NOT executorch_last_preset STREQUAL preset)
  forget_options_of("${executorch_last_preset}")
endif()
set(executorch_last_preset "${preset}" CACHE INTERNAL "The preset of the last configuration")

if(EXECUTORCH_BUILD_PRESET_FILE)
  get_filename_component(preset_file ${EXECUTORCH_BUILD_PRESET_FILE} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS ${preset_file})
    message(FATAL_ERROR "EXECUTORCH_BUILD_PRESET_FILE: expected a CMake file, found nothing at ${preset_file}")
  endif()
  message(STATUS "Options are chosen by ${preset_file}")
  include(${preset_file})
endif()
include(${PROJECT_SOURCE_DIR}/tools/cmake/preset/default.cmake)
