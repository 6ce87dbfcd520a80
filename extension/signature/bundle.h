// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Signatures as `model-signing` 1.x writes them: a Sigstore bundle (a JSON document) with a DSSE
// envelope, whose payload lists files and their digests as an in-toto statement.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/signature/sha256.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::signature {

/// The contents of a bundle, not verified.
struct Envelope {
  std::string payload_type;
  std::string payload;
  /// ECDSA, in ASN.1 DER.
  std::string signature;

  /// The bytes that were signed.
  std::string signed_bytes() const;
};

/// Parses a bundle. InvalidExternalData unless the text is a bundle with one signature.
runtime::Result<Envelope> read_bundle(std::string_view text);

struct SignedFile {
  /// Relative to the folder that was signed.
  std::string name;
  Sha256 digest;
};

/// Reads the list of files in a verified payload. InvalidExternalData unless it is a statement of
/// model-signing; NotSupported unless its digests are SHA-256 of whole files.
runtime::Result<std::vector<SignedFile>> read_signed_files(const Envelope& envelope);

}  // namespace executorch::extension::signature
