// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/status.h>

#include <stddef.h>

#include <iterator>

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

struct Meaning {
  xnn_status status;
  const char* text;
  Error error;
};

constexpr Meaning kMeanings[] = {
    {xnn_status_success, "success", Error::Ok},
    {xnn_status_uninitialized, "it is not initialized", Error::InvalidState},
    {xnn_status_invalid_parameter, "invalid parameter", Error::InvalidProgram},
    {xnn_status_invalid_state, "invalid state", Error::InvalidState},
    {xnn_status_unsupported_parameter, "unsupported parameter", Error::NotSupported},
    {xnn_status_unsupported_hardware, "unsupported hardware", Error::NotSupported},
    {xnn_status_out_of_memory, "out of memory", Error::MemoryAllocationFailed},
    {xnn_status_reallocation_required, "reallocation required", Error::InvalidState},
};

const Meaning* meaning(xnn_status status) {
  for (const Meaning& entry : kMeanings) {
    if (entry.status == status) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

const char* status_text(xnn_status status) {
  const Meaning* known = meaning(status);
  return known == nullptr ? "unknown status" : known->text;
}

Error status_error(xnn_status status) {
  const Meaning* known = meaning(status);
  return known == nullptr ? Error::Internal : known->error;
}

}  // namespace executorch::backends::xnnpack
