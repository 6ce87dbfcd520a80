// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::backends::xnnpack {

/// Maximum number of bytes for the graphs of all delegates of the process, so that a file
/// with thousands of delegates of one payload cannot take all memory. A delegate takes up to 16
/// times the bytes of its graph. A sixteenth of SIZE_MAX if the memory is unknown.
size_t max_graph_bytes();

/// Copies a payload's graph, because a mapped file may change after verification.
/// @retval Error::MemoryAllocationFailed The graphs that exist have max_graph_bytes() with it.
runtime::Result<std::shared_ptr<const std::vector<uint64_t>>> copy_graph(
    runtime::Span<const uint8_t> bytes);

}  // namespace executorch::backends::xnnpack
