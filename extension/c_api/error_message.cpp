// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Messages of runtime/core/error.h, for programs without a log. Linked only if used.
#include <executorch/extension/c_api/executorch.h>
#include <executorch/runtime/core/error.h>

using executorch::runtime::Error;

const char* et_error_message(et_error error) {
  switch (static_cast<Error>(error)) {
    case Error::Ok:
      return "it worked";
    case Error::Internal:
      return "a fault of the runtime itself: please report it";
    case Error::InvalidState:
      return "not possible in this state: check the order of the calls, and that all inputs are "
             "set";
    case Error::EndOfMethod:
      return "there are no more steps to execute";
    case Error::AlreadyLoaded:
      return "already loaded: use the loaded object";
    case Error::NotSupported:
      return "not possible in this build or for these values: a dtype or feature was left out";
    case Error::NotImplemented:
      return "not written yet: choose another implementation";
    case Error::InvalidArgument:
      return "an argument is wrong: a name, an index, a size or an alignment";
    case Error::InvalidType:
      return "an argument has the wrong type";
    case Error::OperatorMissing:
      return "no kernel is registered for an operator of the program";
    case Error::RegistrationExceedingMaxKernels:
      return "the kernel registry is full";
    case Error::RegistrationAlreadyRegistered:
      return "a kernel or backend of that name is registered already";
    case Error::NotFound:
      return "not found: check the name of the method, backend or data";
    case Error::MemoryAllocationFailed:
      return "the method memory, a planned buffer or the temporary memory is too small";
    case Error::AccessFailed:
      return "data could not be read";
    case Error::InvalidProgram:
      return "the bytes are damaged, or not a program: export it again";
    case Error::InvalidExternalData:
      return "the external data is damaged, or belongs to another program";
    case Error::OutOfResources:
      return "the system has run out of something other than memory";
    case Error::DelegateInvalidCompatibility:
      return "the backend cannot run its payload in the program";
    case Error::DelegateMemoryAllocationFailed:
      return "the backend had too little memory";
    case Error::DelegateInvalidHandle:
      return "the backend did not create the handle that it was given";
  }
  return "unknown error";
}
