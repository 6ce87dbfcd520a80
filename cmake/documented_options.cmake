# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Documented options of ExecuTorch 1.4 that map to other options, are always on here, or exclude a part.

# Options without effect: always on, except KleidiAI, which is always off in XNNPACK.
# KERNELS_LLM_AOT, KERNELS_QUANTIZED_AOT: the Python package registers the operators in eager PyTorch without a library.
set(always_so BUILD_KERNELS_LLM_AOT BUILD_KERNELS_QUANTIZED_AOT BUILD_PORTABLE_OPS ENABLE_BUNDLE_IO ENABLE_PROGRAM_VERIFICATION
              FLATBUFFERS_MAX_ALIGNMENT THREADPOOL_USE_PERFORMANCE_CORES XNNPACK_ENABLE_KLEIDI)
# Options of older releases, which ExecuTorch 1.4 ignores. Projects still set them; every build contains these parts.
set(older_options BUILD_FLATC BUILD_GFLAGS BUILD_GTESTS BUILD_HOST_TARGETS BUILD_KERNELS_CUSTOM BUILD_KERNELS_PORTABLE BUILD_SDK)
list(APPEND always_so ${older_options})

# executorch_report_option(name value text): prints `text` if the option is set to `value` (ON or OFF).
function(executorch_report_option name value text)
  if(DEFINED ${name} AND ((${name} AND value) OR (NOT ${name} AND NOT value)))
    message(STATUS "${name}=${${name}}: ${text}")
  endif()
endfunction()
executorch_report_option(EXECUTORCH_BUILD_PORTABLE_OPS OFF "the library is built anyway; linking it is optional")
executorch_report_option(EXECUTORCH_ENABLE_BUNDLE_IO OFF "the library bundled_program is built anyway; linking it is optional")
executorch_report_option(EXECUTORCH_ENABLE_PROGRAM_VERIFICATION ON "every build verifies all programs")
executorch_report_option(EXECUTORCH_ENABLE_PROGRAM_VERIFICATION OFF "verification of programs cannot be turned off")
executorch_report_option(EXECUTORCH_THREADPOOL_USE_PERFORMANCE_CORES OFF "only EXECUTORCH_THREADPOOL_USE_ALL_LOGICAL_CORES=ON changes the pool")
executorch_report_option(EXECUTORCH_XNNPACK_ENABLE_KLEIDI ON "XNNPACK is built without KleidiAI, except one that XNNPACK_ROOT names")
executorch_report_option(EXECUTORCH_FLATBUFFERS_MAX_ALIGNMENT ON "the runtime sets no maximum for the alignment of tensor data")
executorch_report_option(SUPPORT_REGEX_LOOKAHEAD ON "tokenizers use PCRE2, which has lookahead, wherever PCRE2 is found")
executorch_report_option(EXECUTORCH_BUILD_PTHREADPOOL OFF "extension_threadpool, which has threads of its own, is built anyway")
foreach(option ${older_options})
  executorch_report_option(EXECUTORCH_${option} ON "an option of older releases, which changes nothing")
endforeach()
foreach(kernels LLM QUANTIZED)
  executorch_report_option(EXECUTORCH_BUILD_KERNELS_${kernels}_AOT ON "the Python package registers these operators in PyTorch, without a library")
endforeach()
executorch_report_option(ENABLE_XNNPACK_PROFILING ON "every build has the profiler, which runs when an event tracer is attached")

# XNNPACK uses both: it bundles cpuinfo, and extension_threadpool implements pthreadpool's functions.
foreach(library PTHREADPOOL CPUINFO)
  if(DEFINED EXECUTORCH_BUILD_${library})
    if(EXECUTORCH_BUILD_XNNPACK AND NOT EXECUTORCH_BUILD_${library} AND NOT EXECUTORCH_XNNPACK_LIBRARY STREQUAL "NONE")
      message(FATAL_ERROR "EXECUTORCH_BUILD_XNNPACK=${EXECUTORCH_BUILD_XNNPACK}: expected EXECUTORCH_BUILD_${library}=ON, which "
                          "XNNPACK needs, found OFF")
    elseif(EXECUTORCH_BUILD_${library} AND NOT EXECUTORCH_BUILD_XNNPACK)
      message(STATUS "EXECUTORCH_BUILD_${library}=ON: the library comes with XNNPACK (EXECUTORCH_BUILD_XNNPACK=ON); "
                     "extension_threadpool has threads without it")
    endif()
  endif()
endforeach()
check_conflicting_options_on(IF_ON EXECUTORCH_THREADPOOL_USE_PERFORMANCE_CORES CONFLICTS_WITH
                             EXECUTORCH_THREADPOOL_USE_ALL_LOGICAL_CORES)

# The option's name in older releases.
if(OPTIMIZE_SIZE)
  set(EXECUTORCH_OPTIMIZE_SIZE ON)
endif()
# The runners of speech and language models use modules: excluding modules excludes the runners, unless they are requested.
if(DEFINED EXECUTORCH_BUILD_EXTENSION_MODULE AND NOT EXECUTORCH_BUILD_EXTENSION_MODULE)
  foreach(runner ASR LLM)
    if(NOT DEFINED EXECUTORCH_BUILD_EXTENSION_${runner}_RUNNER)
      set(EXECUTORCH_BUILD_EXTENSION_${runner}_RUNNER OFF)
    endif()
  endforeach()
endif()
# The runner of speech models links that of language models: excluding the latter excludes both, unless speech is requested.
if(DEFINED EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER AND NOT EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER
   AND NOT DEFINED EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER)
  set(EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER OFF)
endif()
if(EXECUTORCH_USE_SANITIZER AND NOT EXECUTORCH_SANITIZE)
  set(EXECUTORCH_SANITIZE address,undefined)
endif()

# Parts that EXECUTORCH_BUILD_<part>=OFF excludes from `all` and from the install, with the libraries of each part.
set(optional_parts
    DEVTOOLS EXTENSION_ASR_RUNNER EXTENSION_DATA_LOADER EXTENSION_EVALUE_UTIL EXTENSION_FLAT_TENSOR EXTENSION_IMAGE
    EXTENSION_LLM EXTENSION_LLM_RUNNER EXTENSION_MODULE EXTENSION_NAMED_DATA_MAP EXTENSION_RUNNER_UTIL EXTENSION_TENSOR
    KERNELS_LLM KERNELS_OPTIMIZED KERNELS_QUANTIZED)
set(libraries_of_DEVTOOLS etdump etdump_flatcc bundled_program extension_bundled_module)
set(libraries_of_EXTENSION_MODULE extension_module extension_module_static extension_bundled_module extension_async)
foreach(name ASR_RUNNER DATA_LOADER EVALUE_UTIL FLAT_TENSOR IMAGE NAMED_DATA_MAP RUNNER_UTIL TENSOR)
  string(TOLOWER extension_${name} libraries_of_EXTENSION_${name})
endforeach()
set(libraries_of_EXTENSION_LLM tokenizers)
set(libraries_of_EXTENSION_LLM_RUNNER extension_llm_runner)
set(libraries_of_KERNELS_LLM custom_ops llm_custom_kernels)
set(libraries_of_KERNELS_OPTIMIZED optimized_kernels optimized_ops_lib optimized_native_cpu_ops_lib)
set(libraries_of_KERNELS_QUANTIZED quantized_kernels quantized_ops_lib)

# executorch_leave_out(kept): removes the libraries of parts that are OFF from the list variable `kept`, except libraries that
# a kept library links, and those in the variable `roots`.
function(executorch_leave_out kept)
  set(candidates)
  foreach(part ${optional_parts})
    if(DEFINED EXECUTORCH_BUILD_${part} AND NOT EXECUTORCH_BUILD_${part})
      list(APPEND candidates ${libraries_of_${part}})
    endif()
  endforeach()
  set(remaining ${${kept}})
  if(candidates)
    list(REMOVE_ITEM remaining ${candidates})
  endif()
  set(unvisited ${remaining} ${roots})
  while(unvisited)
    list(POP_FRONT unvisited library)
    get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      if(link IN_LIST candidates)
        message(STATUS "${link} stays in the build and the install, because ${library} links it")
        list(REMOVE_ITEM candidates ${link})
        list(APPEND remaining ${link})
        list(APPEND unvisited ${link})
      endif()
    endforeach()
  endwhile()
  foreach(library ${candidates})
    if(TARGET ${library})
      set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
  set(${kept} ${remaining} PARENT_SCOPE)
endfunction()
