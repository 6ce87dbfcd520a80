# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# The target `xnnpack` with everything it needs. EXECUTORCH_XNNPACK_LIBRARY chooses where it comes from:
#   SYSTEM  the system, or the prefix XNNPACK_ROOT, with the functions of 2024-11
#   PINNED  the pinned sources, which build_xnnpack.py builds once per machine
#   AUTO    the first of these that is available
#   NONE    no target: the backend runs on the CPU engine alone
set(XNNPACK_ROOT "" CACHE PATH "A prefix with XNNPACK's headers and libraries")

function(executorch_find_xnnpack prefix)
  set(search ${ARGN})
  find_path(XNNPACK_INCLUDE_DIR xnnpack.h ${search} PATHS ${prefix} PATH_SUFFIXES include NO_CACHE)
  if(NOT XNNPACK_INCLUDE_DIR)
    return()
  endif()
  # The newest required function.
  file(STRINGS ${XNNPACK_INCLUDE_DIR}/xnnpack.h recent REGEX "xnn_define_static_reduce_v2")
  # Later versions changed the arguments of these functions.
  file(READ ${XNNPACK_INCLUDE_DIR}/xnnpack.h functions)
  if(recent AND (NOT "${functions}" MATCHES "xnn_code_cache_t code_cache"
                 OR NOT "${functions}" MATCHES "xnn_reshape_argmax_pooling2d_nhwc_f32\\([^)]*workspace_alignment"))
    message(STATUS "XNNPACK: not used: the functions of ${XNNPACK_INCLUDE_DIR}/xnnpack.h take other arguments than those of 2024-11")
    return()
  endif()
  foreach(name XNNPACK pthreadpool cpuinfo)
    find_library(library_${name} ${name} ${search} PATHS ${prefix} PATH_SUFFIXES lib NO_CACHE)
  endforeach()
  if(NOT recent OR NOT library_XNNPACK OR NOT library_pthreadpool OR NOT library_cpuinfo)
    return()
  endif()
  # Debian and the upstream build have the kernels in a separate library.
  find_library(library_kernels NAMES xnnpack-microkernels-prod microkernels-prod ${search} PATHS ${prefix} PATH_SUFFIXES lib NO_CACHE)
  add_library(xnnpack INTERFACE)
  target_include_directories(xnnpack SYSTEM INTERFACE $<BUILD_INTERFACE:${XNNPACK_INCLUDE_DIR}>)
  # A static XNNPACK runs its operators on our threads (extension/threadpool/pthreadpool.cpp).
  set(is_static OFF)
  if(library_XNNPACK MATCHES "\\.a$")
    set(is_static ON)
  endif()
  set(EXECUTORCH_XNNPACK_IS_STATIC ${is_static} PARENT_SCOPE)
  set(libraries ${library_XNNPACK})
  if(library_kernels)
    list(APPEND libraries ${library_kernels})
  endif()
  if(NOT is_static)
    list(APPEND libraries ${library_pthreadpool})
  endif()
  list(APPEND libraries ${library_cpuinfo})
  # The installed package brings its own copies.
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME)
    target_link_libraries(xnnpack INTERFACE $<BUILD_INTERFACE:${library}> $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/lib/${name}>)
  endforeach()
  if(is_static)
    target_link_libraries(xnnpack INTERFACE extension_threadpool_workers)
  endif()
  target_link_libraries(xnnpack INTERFACE Threads::Threads m)
  if(EXECUTORCH_BUILD_ATEN)
    target_link_libraries(executorch_aten_mode INTERFACE extension_threadpool_workers)
    executorch_link_before_torch(executorch_aten_mode $<TARGET_FILE:extension_threadpool_workers> ${library_cpuinfo})
  endif()
  # Version of the format of cached packed weights.
  file(SHA256 ${library_XNNPACK} digest)
  target_compile_definitions(xnnpack INTERFACE $<BUILD_INTERFACE:EXECUTORCH_XNNPACK_DIGEST="${digest}">)
  install(FILES ${libraries} DESTINATION lib COMPONENT sdk)
  set_property(GLOBAL APPEND PROPERTY EXECUTORCH_LIBRARIES xnnpack)
endfunction()

# executorch_build_xnnpack(prefix): builds XNNPACK; `prefix` stays empty if the sources are unavailable.
function(executorch_build_xnnpack prefix)
  message(STATUS "XNNPACK: building it, once (minutes)")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER} ${Python3_EXECUTABLE}
            ${PROJECT_SOURCE_DIR}/cmake/xnnpack/build_xnnpack.py --cmake ${CMAKE_COMMAND} --generator ${CMAKE_GENERATOR} --make-program
            ${CMAKE_MAKE_PROGRAM} "--launcher=${CMAKE_CXX_COMPILER_LAUNCHER}" "--sanitize=${EXECUTORCH_SANITIZE}"
    OUTPUT_VARIABLE built OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    set(built "")
  endif()
  set(${prefix} "${built}" PARENT_SCOPE)
endfunction()

if(NOT EXECUTORCH_XNNPACK_LIBRARY MATCHES "^(AUTO|SYSTEM|PINNED|NONE)$")
  message(FATAL_ERROR "EXECUTORCH_XNNPACK_LIBRARY: expected AUTO, SYSTEM, PINNED or NONE, found '${EXECUTORCH_XNNPACK_LIBRARY}'")
endif()
if(EXECUTORCH_XNNPACK_LIBRARY STREQUAL "NONE")
  message(STATUS "XNNPACK: none; XnnpackBackend runs on the CPU engine alone and refuses nodes that only XNNPACK can compute")
  return()
endif()
find_package(Threads REQUIRED)
if(EXECUTORCH_XNNPACK_LIBRARY MATCHES "AUTO|SYSTEM")
  if(XNNPACK_ROOT)
    executorch_find_xnnpack(${XNNPACK_ROOT} NO_DEFAULT_PATH)
  else()
    executorch_find_xnnpack("")
  endif()
endif()
if(NOT TARGET xnnpack AND NOT XNNPACK_ROOT AND EXECUTORCH_XNNPACK_LIBRARY MATCHES "AUTO|PINNED")
  executorch_build_xnnpack(built)
  if(built)
    executorch_find_xnnpack(${built} NO_DEFAULT_PATH)
  endif()
endif()
if(NOT TARGET xnnpack AND EXECUTORCH_BUILD_XNNPACK STREQUAL "AUTO" AND EXECUTORCH_XNNPACK_LIBRARY STREQUAL "AUTO")
  message(WARNING "XNNPACK with the functions of 2024-11 is unavailable (see above): XnnpackBackend runs on the CPU engine alone and refuses "
                  "what only XNNPACK computes")
elseif(NOT TARGET xnnpack)
  message(FATAL_ERROR "XNNPACK with the functions of 2024-11 is unavailable (see above, XNNPACK_ROOT is '${XNNPACK_ROOT}', "
                      "EXECUTORCH_XNNPACK_LIBRARY is ${EXECUTORCH_XNNPACK_LIBRARY}); EXECUTORCH_XNNPACK_LIBRARY=NONE builds without it")
endif()
