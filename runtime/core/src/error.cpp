// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/error.h>

namespace executorch::runtime {

const char* to_string(Error error) {
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
