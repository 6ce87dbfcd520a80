# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# The options of the build and their defaults. cmake/selected_kernels.cmake declares those of selective builds.
define_overridable_option(EXECUTORCH_BUILD_PYBIND "Build the Python extension" BOOL OFF)
define_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER "Build executor_runner" BOOL ON)
define_overridable_option(EXECUTORCH_BUILD_ATEN "Build the libraries for at::Tensor too (needs torch in the Python interpreter)"
                          BOOL OFF)
define_overridable_option(EXECUTORCH_BUILD_TESTS "Build the C++ tests (needs googletest)" BOOL OFF)
define_overridable_option(
  EXECUTORCH_TEST_PROGRAMS
  "The C++ tests of the default target and of ctest: ALL, or OPTIMIZED (tests of kernels, backends, threads, memory and public headers, which depend on compile options)"
  STRING ALL)
define_overridable_option(EXECUTORCH_BUILD_REPLAY "Build the program that replays recorded kernel calls" BOOL OFF)
define_overridable_option(EXECUTORCH_BUILD_SIZE_TEST "Build the program whose size is watched" BOOL OFF)
define_overridable_option(EXECUTORCH_BUILD_FUZZER "Build the libFuzzer target (needs clang)" BOOL OFF)
define_overridable_option(EXECUTORCH_BUILD_KERNELS_LINALG "Build linalg_ops_lib, kernels of linear algebra: ON, OFF, or AUTO where Eigen is found" STRING OFF)
define_overridable_option(
  EXECUTORCH_BUILD_XNNPACK "Build the XNNPACK backend: ON, OFF, or AUTO (ON, without XNNPACK's own operators where it is unavailable)"
  STRING OFF)
define_overridable_option(
  EXECUTORCH_XNNPACK_LIBRARY
  "The XNNPACK that the backend uses in addition to the CPU engine: SYSTEM, PINNED (built from sources), AUTO (either), or NONE" STRING AUTO)
define_overridable_option(EXECUTORCH_ENABLE_LOGGING "Compile log messages in" BOOL ON)
define_overridable_option(EXECUTORCH_ENABLE_EVENT_TRACER "Let the executor report events to an EventTracer" BOOL ON)
define_overridable_option(EXECUTORCH_LOG_LEVEL "Exclude messages below this level: Debug, Info, Error or Fatal"
                          STRING Info)
define_overridable_option(
  EXECUTORCH_PAL_DEFAULT "Default platform layer: posix, or minimal (the default where there is no operating system)" STRING "")
define_overridable_option(EXECUTORCH_PAL_DEFAULT_FILE_PATH "A C++ source that replaces the default platform layer" FILEPATH "")
define_overridable_option(EXECUTORCH_OPTIMIZE_SIZE "Optimize Release builds for size (-Os) instead of speed" BOOL OFF)
define_overridable_option(EXECUTORCH_USE_DL "Link libdl, which et_pal_get_shared_library_name needs" BOOL OFF)
define_overridable_option(EXECUTORCH_STATIC_REGISTRATION
                          "Linked kernel libraries register themselves, by global constructors" BOOL ON)
define_overridable_option(EXECUTORCH_SANITIZE "Sanitizers to build everything with, e.g. address,undefined" STRING "")
define_overridable_option(EXECUTORCH_USE_SANITIZER "The same as EXECUTORCH_SANITIZE=address,undefined" BOOL OFF)
define_overridable_option(EXECUTORCH_THREADPOOL_USE_ALL_LOGICAL_CORES
                          "The default thread pool has a thread for each logical core, not for each fast physical core" BOOL OFF)
define_overridable_option(EXECUTORCH_XNNPACK_SHARED_WORKSPACE "XNNPACK delegates share workspaces by default" BOOL ON)
define_overridable_option(EXECUTORCH_XNNPACK_ENABLE_WEIGHT_CACHE "XNNPACK delegates share packed weights by default" BOOL ON)
