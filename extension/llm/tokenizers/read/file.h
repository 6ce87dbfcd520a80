// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstddef>
#include <string>

#include <pytorch/tokenizers/result.h>

namespace tokenizers::internal {

/// Larger files are refused before memory is allocated for them; the largest published tokenizers
/// have 35 MB.
constexpr size_t kMaxFileBytes = size_t{256} << 20;
/// Files with longer pieces are refused, because searching text compares whole pieces.
constexpr size_t kMaxPieceBytes = size_t{1} << 16;
/// Token numbers fit vocab_size(), which is int32.
constexpr uint64_t kMaxId = (1u << 31) - 2;

/// The contents of a regular file, at most the first `limit` bytes. LoadFailure, after a log
/// message, for a file that cannot be read or is larger than kMaxFileBytes.
Result<std::string> read_file(const std::string& path, size_t limit = kMaxFileBytes);

}  // namespace tokenizers::internal
