// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Error codes, grouped by who can correct the error.
#pragma once

#include <stdint.h>

#include <executorch/runtime/platform/log.h>

namespace executorch::runtime {

using error_code_t = uint32_t;

/// The numbers are part of the public contract (logs, language bindings) and never change.
enum class [[nodiscard]] Error : error_code_t {
  /// Success.
  Ok = 0x00,

  // The runtime, or the order in which it was used.

  /// A fault of the runtime itself: please report it, with the log.
  Internal = 0x01,
  /// The object is in a state that does not allow the call: check the order of your calls.
  InvalidState = 0x02,
  /// No step is left to execute: reset the execution to start over.
  EndOfMethod = 0x03,
  /// Already loaded: use the loaded object.
  AlreadyLoaded = 0x04,

  // Errors of the request.

  /// Not possible in this build or for these values, by design: request something else.
  NotSupported = 0x10,
  /// Not written yet: choose another implementation.
  NotImplemented = 0x11,
  /// An argument is wrong: the log names it, expected and found.
  InvalidArgument = 0x12,
  /// A value has the wrong type: pass one of the type that the log names.
  InvalidType = 0x13,
  /// The program uses an operator that no registered kernel implements: link or register the
  /// kernel library that has it, or export the model for the kernels you have.
  OperatorMissing = 0x14,
  /// The kernel registry is full: build with a larger MAX_KERNEL_NUM.
  RegistrationExceedingMaxKernels = 0x15,
  /// A kernel or backend of that name is already registered: register it once.
  RegistrationAlreadyRegistered = 0x16,

  // Errors of resources: memory, files, data.

  /// A method, key, backend or file does not exist: check its name.
  NotFound = 0x20,
  /// An allocator is too small: enlarge it. The log names the allocator and the request.
  MemoryAllocationFailed = 0x21,
  /// Data could not be read: check the file and the rights on it.
  AccessFailed = 0x22,
  /// The program file is damaged, or was written by something else: export it again.
  InvalidProgram = 0x23,
  /// The external data (.ptd) is damaged or belongs to another program: export it again.
  InvalidExternalData = 0x24,
  /// The system has run out of something other than memory (handles, threads): free some.
  OutOfResources = 0x25,

  // Errors of backends.

  /// The backend cannot run its payload in the file: export for this version of the backend.
  DelegateInvalidCompatibility = 0x30,
  /// The backend had too little memory: give it, or the method's allocators, more.
  DelegateMemoryAllocationFailed = 0x31,
  /// The backend got a handle that it did not create: an error of the runtime or the backend.
  DelegateInvalidHandle = 0x32,
};

/// The name of the error, for example "Error::InvalidArgument".
constexpr const char* to_string(Error error) {
#define ET_INTERNAL_NAME(name) \
  case Error::name:            \
    return "Error::" #name
  switch (error) {
    ET_INTERNAL_NAME(Ok);
    ET_INTERNAL_NAME(Internal);
    ET_INTERNAL_NAME(InvalidState);
    ET_INTERNAL_NAME(EndOfMethod);
    ET_INTERNAL_NAME(AlreadyLoaded);
    ET_INTERNAL_NAME(NotSupported);
    ET_INTERNAL_NAME(NotImplemented);
    ET_INTERNAL_NAME(InvalidArgument);
    ET_INTERNAL_NAME(InvalidType);
    ET_INTERNAL_NAME(OperatorMissing);
    ET_INTERNAL_NAME(RegistrationExceedingMaxKernels);
    ET_INTERNAL_NAME(RegistrationAlreadyRegistered);
    ET_INTERNAL_NAME(NotFound);
    ET_INTERNAL_NAME(MemoryAllocationFailed);
    ET_INTERNAL_NAME(AccessFailed);
    ET_INTERNAL_NAME(InvalidProgram);
    ET_INTERNAL_NAME(InvalidExternalData);
    ET_INTERNAL_NAME(OutOfResources);
    ET_INTERNAL_NAME(DelegateInvalidCompatibility);
    ET_INTERNAL_NAME(DelegateMemoryAllocationFailed);
    ET_INTERNAL_NAME(DelegateInvalidHandle);
  }
#undef ET_INTERNAL_NAME
  return "Error::Unknown";
}

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Error;
using ::executorch::runtime::error_code_t;
}  // namespace torch::executor

/// Returns Error::<error> from the calling function, after a log message, if `cond` is false.
#define ET_CHECK_OR_RETURN_ERROR(cond, error, ...) \
  do {                                             \
    if (ET_UNLIKELY(!(cond))) {                    \
      ET_LOG(Error, __VA_ARGS__);                  \
      return ::executorch::runtime::Error::error;  \
    }                                              \
  } while (0)

/// Returns false from the calling function, after a log message, if `cond` is false: for functions
/// that check arguments.
#define ET_CHECK_OR_RETURN_FALSE(cond, message, ...)       \
  do {                                                     \
    if (ET_UNLIKELY(!(cond))) {                            \
      ET_LOG(Error, "%s: " message, #cond, ##__VA_ARGS__); \
      return false;                                        \
    }                                                      \
  } while (0)

/// Returns the error that `expr` evaluates to from the calling function, unless it is Error::Ok;
/// further arguments are a log message: ET_CHECK_OK_OR_RETURN_ERROR(expr[, format, ...]).
#define ET_CHECK_OK_OR_RETURN_ERROR(...)                                 \
  ET_INTERNAL_WITH_OR_WITHOUT_MESSAGE(ET_INTERNAL_CHECK_OK, __VA_ARGS__) \
  (__VA_ARGS__)

#define ET_INTERNAL_CHECK_OK_PLAIN(expr)                              \
  do {                                                                \
    const ::executorch::runtime::Error et_error_ = (expr);            \
    if (ET_UNLIKELY(et_error_ != ::executorch::runtime::Error::Ok)) { \
      return et_error_;                                               \
    }                                                                 \
  } while (0)

#define ET_INTERNAL_CHECK_OK_MESSAGE(expr, ...)                       \
  do {                                                                \
    const ::executorch::runtime::Error et_error_ = (expr);            \
    if (ET_UNLIKELY(et_error_ != ::executorch::runtime::Error::Ok)) { \
      ET_LOG(Error, __VA_ARGS__);                                     \
      return et_error_;                                               \
    }                                                                 \
  } while (0)

// Picks <prefix>_PLAIN for one argument and <prefix>_MESSAGE for 2 to 12.
#define ET_INTERNAL_WITH_OR_WITHOUT_MESSAGE(prefix, ...)                                         \
  ET_INTERNAL_THIRTEENTH(__VA_ARGS__, prefix##_MESSAGE, prefix##_MESSAGE, prefix##_MESSAGE,      \
                         prefix##_MESSAGE, prefix##_MESSAGE, prefix##_MESSAGE, prefix##_MESSAGE, \
                         prefix##_MESSAGE, prefix##_MESSAGE, prefix##_MESSAGE, prefix##_MESSAGE, \
                         prefix##_PLAIN, )
#define ET_INTERNAL_THIRTEENTH(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, name, ...) name
