# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# executorch_aten_torch(NAME): an interface target with the headers and libraries of the Python interpreter's torch, for
# programs of ATen mode.
function(executorch_aten_torch name)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND
      ${Python3_EXECUTABLE} -c
      "import torch; from torch.utils import cpp_extension as c; \
print(';'.join(c.include_paths())); print(c.library_paths()[0]); print(int(torch.compiled_with_cxx11_abi()))"
    OUTPUT_VARIABLE torch_paths OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE torch_missing)
  if(torch_missing)
    message(FATAL_ERROR "ATen mode requires torch, which ${Python3_EXECUTABLE} cannot import")
  endif()
  string(REGEX MATCH "^([^\n]*)\n([^\n]*)\n([01])$" torch_paths "${torch_paths}")
  set(includes ${CMAKE_MATCH_1})
  set(libraries ${CMAKE_MATCH_2}/libtorch_cpu.so ${CMAKE_MATCH_2}/libc10.so)
  add_library(${name} INTERFACE ${ARGN})
  target_compile_definitions(${name} INTERFACE USE_ATEN_LIB _GLIBCXX_USE_CXX11_ABI=${CMAKE_MATCH_3})
  target_include_directories(${name} SYSTEM INTERFACE ${includes})
  target_link_libraries(${name} INTERFACE ${libraries})
endfunction()

# executorch_link_before_torch(NAME archives...): puts XNNPACK's pthreadpool and cpuinfo first on the linker's line and hides
# them from torch, which exports other versions of both.
function(executorch_link_before_torch name)
  foreach(archive ${ARGN})
    if(NOT archive MATCHES "\\.a$|^\\$<")
      message(FATAL_ERROR "XNNPACK in ATen mode: expected a static library, because torch exports the same symbols; found ${archive}")
    endif()
    get_filename_component(file ${archive} NAME)
    if(archive MATCHES "^\\$<TARGET_FILE:(.*)>$")
      set(file $<TARGET_FILE_NAME:${CMAKE_MATCH_1}>)
    endif()
    target_link_options(${name} INTERFACE ${archive} LINKER:--exclude-libs,${file})
  endforeach()
  target_link_options(${name} INTERFACE LINKER:-u,pthreadpool_create LINKER:-u,pthreadpool_parallelize_1d
                      LINKER:-u,cpuinfo_initialize)
endfunction()
