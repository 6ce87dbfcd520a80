# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Documented functions that declare and choose options. A project may include this file before add_subdirectory(executorch),
# to choose options in its own CMakeLists.txt.
include_guard(GLOBAL)

# define_overridable_option(NAME DESCRIPTION TYPE DEFAULT): declares a cache entry unless something has set it.
# cmake/refused_options.cmake accepts declared options.
function(define_overridable_option name description type default)
  if(NOT type MATCHES "^(BOOL|STRING|PATH|FILEPATH)$")
    message(FATAL_ERROR "define_overridable_option: ${name}: expected the type BOOL, STRING, PATH or FILEPATH, found '${type}'")
  endif()
  if(NOT DEFINED CACHE{${name}} AND DEFINED ${name})
    set(default ${${name}})
  endif()
  set(${name} "${default}" CACHE ${type} "${description}")
  set_property(CACHE ${name} PROPERTY TYPE ${type})
  set_property(CACHE ${name} PROPERTY HELPSTRING "${description}")
  set_property(GLOBAL APPEND PROPERTY executorch_declared_options ${name})
endfunction()

# set_overridable_option(NAME VALUE): sets an option unless the command line or a preset that was included before has set it.
# Configuring a folder again replaces the value that a preset chose there before.
function(set_overridable_option name value)
  get_property(is_chosen GLOBAL PROPERTY executorch_preset_chose_${name})
  if(DEFINED ${name} AND DEFINED CACHE{executorch_preset_chose_${name}} AND NOT is_chosen)
    get_property(help CACHE ${name} PROPERTY HELPSTRING)
    if("${help}" STREQUAL "No help, variable specified on the command line.")
      unset(executorch_preset_chose_${name} CACHE)
    elseif("$CACHE{${name}}" STREQUAL "${executorch_preset_chose_${name}}")
      unset(${name} CACHE)
    endif()
  endif()
  if(NOT DEFINED CACHE{${name}} AND NOT DEFINED ${name})
    set(${name} "${value}" CACHE STRING "Set by a preset")
    set(executorch_preset_chose_${name} "${value}" CACHE INTERNAL "")
    set_property(GLOBAL PROPERTY executorch_preset_chose_${name} TRUE)
  endif()
endfunction()

# check_required_options_on(IF_ON option REQUIRES options...): an error if the first is ON and a required one is OFF.
function(check_required_options_on)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "IF_ON" "REQUIRES")
  foreach(required ${ARG_REQUIRES})
    if(${ARG_IF_ON} AND NOT ${required})
      message(FATAL_ERROR "${ARG_IF_ON}=${${ARG_IF_ON}}: expected ${required}=ON, found '${${required}}'")
    endif()
  endforeach()
endfunction()

# check_conflicting_options_on(IF_ON option CONFLICTS_WITH options...): an error if the first is ON and a conflicting one too.
function(check_conflicting_options_on)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "IF_ON" "CONFLICTS_WITH")
  foreach(conflicting ${ARG_CONFLICTS_WITH})
    if(${ARG_IF_ON} AND ${conflicting})
      message(FATAL_ERROR "${ARG_IF_ON}=${${ARG_IF_ON}}: expected ${conflicting} unset, found '${${conflicting}}'")
    endif()
  endforeach()
endfunction()
