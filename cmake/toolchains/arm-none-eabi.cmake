# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Cortex-M without an operating system; EXECUTORCH_CPU: cortex-m3, cortex-m4, cortex-m55, ... as GCC calls it.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(EXECUTORCH_CPU cortex-m4 CACHE STRING "The processor, as -mcpu takes it")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EXECUTORCH_CPU)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # a program needs a board's linker script
set(flags "-mcpu=${EXECUTORCH_CPU} -mthumb")
if(EXECUTORCH_CPU MATCHES "cortex-m(4|7|33|55|85)$")
  string(APPEND flags " -mfloat-abi=hard")
  if(EXECUTORCH_CPU STREQUAL "cortex-m4")
    string(APPEND flags " -mfpu=fpv4-sp-d16")
  elseif(EXECUTORCH_CPU STREQUAL "cortex-m33")
    string(APPEND flags " -mfpu=fpv5-sp-d16")
  elseif(EXECUTORCH_CPU STREQUAL "cortex-m7")
    string(APPEND flags " -mfpu=fpv5-d16")
  endif()
endif()
# GCC's stdint.h lacks the macro by which newlib's inttypes.h defines PRId64.
string(APPEND flags " --specs=nano.specs -D__int64_t_defined=1")
# One thread: a static variable of a function needs no guard against others.
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags} -fno-threadsafe-statics -Wno-psabi")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
