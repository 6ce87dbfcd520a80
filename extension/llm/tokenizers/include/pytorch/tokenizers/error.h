// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>

namespace tokenizers {

enum class Error : uint32_t {
  Ok = 0x00,
  Internal = 0x01,
  /// Used before load().
  Uninitialized = 0x02,
  /// A token that the vocabulary does not have.
  OutOfRange = 0x03,
  /// A file that cannot be read, or is of another kind.
  LoadFailure = 0x04,
  EncodeFailure = 0x05,
  Base64DecodeFailure = 0x06,
  /// A file of the right kind with invalid or unsupported contents.
  ParseFailure = 0x07,
  DecodeFailure = 0x08,
  /// A pattern that cannot be compiled, or text that it cannot be matched against.
  RegexFailure = 0x09,
};

}  // namespace tokenizers
