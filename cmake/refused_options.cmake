# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Options of ExecuTorch that this project cannot honour are refused by name, and so are unknown ones: an option that has no
# effect would leave out what its user relies on.
set(refused_backends
    ARM_BAREMETAL ARM_ETHOSU_LINUX CADENCE COREAI COREML CORTEX_M CUDA ENN METAL MLX MPS NEURON NXP_NEUTRON OPENVINO QNN ROCM VGF
    VULKAN WEBGPU)
foreach(backend ${refused_backends})
  if(EXECUTORCH_BUILD_${backend})
    message(FATAL_ERROR "EXECUTORCH_BUILD_${backend}: this project has no such backend. Leave the option out; the backend for "
                        "CPUs is XNNPACK (EXECUTORCH_BUILD_XNNPACK=ON), and a backend of one's own registers itself by "
                        "register_backend (runtime/backend/interface.h)")
  endif()
endforeach()

# The option's former name, which caches of earlier builds hold.
if(DEFINED CACHE{EXECUTORCH_BUILD_RUNNER})
  set(EXECUTORCH_BUILD_EXECUTOR_RUNNER ${EXECUTORCH_BUILD_RUNNER} CACHE BOOL "Build executor_runner" FORCE)
  unset(EXECUTORCH_BUILD_RUNNER CACHE)
endif()

set(known_options
    BUILD_ATEN BUILD_EXECUTOR_RUNNER BUILD_FUZZER BUILD_PYBIND BUILD_REPLAY BUILD_SIZE_TEST BUILD_TESTS BUILD_XNNPACK CPU
    ENABLE_DTYPE_SELECTIVE_BUILD ENABLE_EVENT_TRACER ENABLE_LOGGING LOG_LEVEL PAL_DEFAULT SANITIZE SELECT_OPS_LIST
    SELECT_OPS_MODEL SELECT_OPS_YAML SIZE_PROGRAM STATIC_REGISTRATION)
# Parts that every build for an operating system has.
set(always_built
    BUILD_DEVTOOLS BUILD_EXTENSION_DATA_LOADER BUILD_EXTENSION_EVALUE_UTIL BUILD_EXTENSION_FLAT_TENSOR BUILD_EXTENSION_MODULE
    BUILD_EXTENSION_NAMED_DATA_MAP BUILD_EXTENSION_RUNNER_UTIL BUILD_EXTENSION_TENSOR BUILD_KERNELS_OPTIMIZED
    BUILD_KERNELS_QUANTIZED BUILD_PORTABLE_OPS ENABLE_BUNDLE_IO)
get_cmake_property(entries CACHE_VARIABLES)
list(FILTER entries INCLUDE REGEX "^EXECUTORCH_(BUILD|ENABLE|SELECT|LOG|OPTIMIZE|PAL|USE|XNNPACK|THREADPOOL|FLATBUFFERS)_")
foreach(entry ${entries})
  string(REGEX REPLACE "^EXECUTORCH_" "" name ${entry})
  string(REGEX REPLACE "^BUILD_" "" backend ${name})
  get_property(type CACHE ${entry} PROPERTY TYPE)
  if(type STREQUAL "INTERNAL" OR name IN_LIST known_options OR backend IN_LIST refused_backends)
    continue()
  elseif(name IN_LIST always_built)
    if(NOT ${entry})
      message(STATUS "${entry} is OFF: the library is declared all the same, and a program that does not link it has none of it")
    endif()
    continue()
  elseif(NOT ${entry})
    continue()  # left out, as wanted
  endif()
  # Near names share a word of the option's name.
  string(REGEX MATCHALL "[A-Z]+" words ${name})
  list(REMOVE_ITEM words BUILD ENABLE EXTENSION SELECT USE)
  set(near)
  foreach(known ${known_options} ${always_built})
    foreach(word ${words})
      if(known MATCHES "(^|_)${word}(_|$)")
        list(APPEND near EXECUTORCH_${known})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES near)
  list(JOIN near ", " near)
  if(NOT near)
    list(JOIN known_options ", EXECUTORCH_" near)
    set(near EXECUTORCH_${near})
  endif()
  message(FATAL_ERROR "${entry}=${${entry}}: this project has no such option. Near names: ${near}")
endforeach()
