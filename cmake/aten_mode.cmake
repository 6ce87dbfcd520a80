# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# ATen mode: the same sources with at::Tensor for the tensor types. Torch's headers and libraries are those of the
# Python interpreter. A program links either these libraries or the portable ones of the same kernels, not both.
execute_process(
  COMMAND
    ${Python3_EXECUTABLE} -c
    "import torch; from torch.utils import cpp_extension as c; \
print(';'.join(c.include_paths())); print(c.library_paths()[0]); print(int(torch.compiled_with_cxx11_abi()))"
  OUTPUT_VARIABLE torch_paths OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE torch_missing)
if(torch_missing)
  message(FATAL_ERROR "EXECUTORCH_BUILD_ATEN needs torch, which ${Python3_EXECUTABLE} cannot import")
endif()
string(REGEX MATCH "^([^\n]*)\n([^\n]*)\n([01])$" torch_paths "${torch_paths}")
set(torch_includes ${CMAKE_MATCH_1})
set(torch_libraries ${CMAKE_MATCH_2}/libtorch_cpu.so ${CMAKE_MATCH_2}/libc10.so)

add_library(executorch_aten_mode INTERFACE)
target_compile_definitions(executorch_aten_mode INTERFACE USE_ATEN_LIB _GLIBCXX_USE_CXX11_ABI=${CMAKE_MATCH_3})
target_include_directories(executorch_aten_mode SYSTEM INTERFACE ${torch_includes})
target_link_libraries(executorch_aten_mode INTERFACE ${torch_libraries})

# et_aten_library(NAME SOURCES... [DEPENDS targets...] [OWN_OPTIONS]): a static library. Torch's headers want exceptions
# and RTTI, and are most of what there is to compile: those of the core serve all libraries that have no OWN_OPTIONS.
function(et_aten_library name)
  cmake_parse_arguments(ARG "OWN_OPTIONS" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC executorch_headers executorch_aten_mode ${ARG_DEPENDS} PRIVATE executorch_strict)
  if(ARG_OWN_OPTIONS OR NOT TARGET executorch_core_aten OR name STREQUAL "executorch_core_aten")
    target_precompile_headers(${name} PRIVATE <ATen/core/Tensor.h>)
  else()
    target_precompile_headers(${name} REUSE_FROM executorch_core_aten)
  endif()
endfunction()

# et_aten_sources(OUT SOURCES...): those whose code depends on the tensor type. The rest is the same in both modes.
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
