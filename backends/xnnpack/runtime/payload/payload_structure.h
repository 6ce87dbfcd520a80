// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/executor/verify/flatbuffer_structure.h>

namespace executorch::backends::xnnpack {

/// xnnpack_graph.fbs as rows for verify_flatbuffer_structure().
extern const runtime::internal::StructureRules kPayloadStructure;

}  // namespace executorch::backends::xnnpack
