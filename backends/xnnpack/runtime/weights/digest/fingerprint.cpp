// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/fingerprint.h>

#include <string.h>

#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/engine_digest.h>
#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::backends::xnnpack {

Digest packing_fingerprint() {
  static const Digest fingerprint = [] {
    Digester digester;
    digester.add(EXECUTORCH_ENGINE_DIGEST, strlen(EXECUTORCH_ENGINE_DIGEST));
    digester.add_value(static_cast<uint64_t>(kernels::engine::detected_instruction_set()));
    digester.add_digest(library_digest());
    return digester.finish();
  }();
  return fingerprint;
}

}  // namespace executorch::backends::xnnpack
