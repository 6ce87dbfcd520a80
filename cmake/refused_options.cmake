# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Refuses unknown options, and options of ExecuTorch that this project lacks. Ignoring an option would silently drop a part
# that its user relies on.
set(refused_backends
    ARM_ETHOSU_LINUX CADENCE COREAI COREML CORTEX_M CUDA ENN METAL MLX MPS NEURON NXP_NEUTRON OPENVINO QNN ROCM VGF VULKAN WEBGPU)
foreach(backend ${refused_backends})
  if(EXECUTORCH_BUILD_${backend})
    message(FATAL_ERROR "EXECUTORCH_BUILD_${backend}: this project has no such backend. Leave the option out; the backend for "
                        "CPUs is XNNPACK (EXECUTORCH_BUILD_XNNPACK=ON), and a custom backend registers itself with "
                        "register_backend (runtime/backend/interface.h)")
  endif()
endforeach()
set(refused_parts
    BUILD_CMSIS_NN_PYBINDS BUILD_EXTENSION_APPLE BUILD_EXTENSION_ETDUMP_APPLE BUILD_EXTENSION_LLM_APPLE BUILD_EXTENSION_TRAINING
    BUILD_KERNELS_TORCHAO BUILD_NXP_NEUTRON_RUNNER BUILD_SHARED BUILD_TOKENIZERS_WASM BUILD_WASM CADENCE_CPU_RUNNER
    COREML_BUILD_EXECUTOR_RUNNER METAL_COLLECT_STATS MLX_SWIFTPM_RESOURCES NNLIB_OPT)
foreach(part ${refused_parts})
  if(EXECUTORCH_${part})
    message(FATAL_ERROR "EXECUTORCH_${part}: this project does not have this part. Leave the option out")
  endif()
endforeach()

# executorch_refuse(name instead): an error if the option is on; `instead` names the replacement.
function(executorch_refuse name instead)
  if(EXECUTORCH_${name})
    message(FATAL_ERROR "EXECUTORCH_${name}: this project lacks the option. ${instead}")
  endif()
endfunction()
executorch_refuse(BUILD_ARM_BAREMETAL "The preset arm-baremetal builds for Cortex-M, without Ethos-U")
executorch_refuse(BUILD_KERNELS_CUSTOM_AOT "The project examples/portable/custom_ops builds its operators")
executorch_refuse(BUILD_WHEEL_DO_NOT_USE "`pip wheel .` builds the wheel")
executorch_refuse(USE_CPP_CODE_COVERAGE "test/coverage.sh measures coverage")

# Former name of the option, still present in caches of earlier builds.
if(DEFINED CACHE{EXECUTORCH_BUILD_RUNNER})
  set(EXECUTORCH_BUILD_EXECUTOR_RUNNER ${EXECUTORCH_BUILD_RUNNER} CACHE BOOL "Build executor_runner" FORCE)
  unset(EXECUTORCH_BUILD_RUNNER CACHE)
endif()

# Options that other files declare; define_overridable_option records its own.
set(known_options
    BUILD_CPUINFO BUILD_PRESET_FILE BUILD_PTHREADPOOL CPU DTYPE_SELECTIVE_BUILD ENABLE_DTYPE_SELECTIVE_BUILD SELECT_OPS_FROM_MODEL
    SELECT_OPS_LIST SELECT_OPS_MODEL SELECT_OPS_YAML SIZE_PROGRAM)
get_property(declared GLOBAL PROPERTY executorch_declared_options)
list(FILTER declared INCLUDE REGEX "^EXECUTORCH_")
list(TRANSFORM declared REPLACE "^EXECUTORCH_" "")
list(TRANSFORM optional_parts PREPEND BUILD_ OUTPUT_VARIABLE optional)
list(APPEND known_options ${declared} ${optional} ${always_so})
list(SORT known_options)
get_cmake_property(entries CACHE_VARIABLES)
list(FILTER entries INCLUDE REGEX
     "^EXECUTORCH_(BUILD|CADENCE|COREML|DISABLE|DTYPE|ENABLE|FLATBUFFERS|LOG|METAL|MLX|NNLIB|OPTIMIZE|PAL|SELECT|THREADPOOL|USE|VULKAN|XNNPACK)_")
foreach(entry ${entries})
  string(REGEX REPLACE "^EXECUTORCH_" "" name ${entry})
  get_property(type CACHE ${entry} PROPERTY TYPE)
  if(type STREQUAL "INTERNAL" OR name IN_LIST known_options OR NOT ${entry})
    continue()
  endif()
  # A near name has a word with the first letters of one of this name's words.
  string(REGEX MATCHALL "[A-Z]+" words ${name})
  list(REMOVE_ITEM words BUILD ENABLE EXTENSION SELECT USE)
  set(near)
  foreach(known ${known_options})
    foreach(word ${words})
      string(SUBSTRING ${word} 0 3 start)
      if(known MATCHES "(^|_)${start}")
        list(APPEND near EXECUTORCH_${known})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES near)
  list(SORT near)
  list(JOIN near ", " near)
  if(near)
    set(near "Near names: ${near}")
  else()
    list(JOIN known_options ", EXECUTORCH_" near)
    set(near "The options: EXECUTORCH_${near}")
  endif()
  message(FATAL_ERROR "${entry}=${${entry}}: this project has no such option. ${near}")
endforeach()
