# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# ATen mode: the same sources with at::Tensor as tensor type. Headers and libraries of torch come from the Python
# interpreter. A program links either these libraries or the portable ones of the same kernels, not both.
include(${CMAKE_CURRENT_LIST_DIR}/aten_torch.cmake)
executorch_aten_torch(executorch_aten_mode)

# et_aten_library(NAME SOURCES... [DEPENDS targets...] [OWN_OPTIONS]): a static library. Torch's headers require exceptions
# and RTTI and dominate the compile time: libraries without OWN_OPTIONS share the core's precompiled header.
function(et_aten_library name)
  cmake_parse_arguments(ARG "OWN_OPTIONS" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(
    ${name}
    PUBLIC executorch_headers $<BUILD_INTERFACE:executorch_aten_mode> $<INSTALL_INTERFACE:executorch::executorch_aten_mode>
           ${ARG_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:executorch_strict>)
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_ATEN_LIBRARIES ${name})
  if(ARG_OWN_OPTIONS OR NOT TARGET executorch_core_aten OR name STREQUAL "executorch_core_aten")
    target_precompile_headers(${name} PRIVATE <ATen/core/Tensor.h>)
  else()
    target_precompile_headers(${name} REUSE_FROM executorch_core_aten)
  endif()
endfunction()

# et_aten_sources(OUT SOURCES...): selects the sources that depend on the tensor type. Both modes share the others.
function(et_aten_sources out)
  set(found)
  foreach(source ${ARGN})
    file(STRINGS ${source} mark REGEX "ET_RUNTIME_NAMESPACE|USE_ATEN_LIB" LIMIT_COUNT 1)
    if(mark)
      list(APPEND found ${source})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
