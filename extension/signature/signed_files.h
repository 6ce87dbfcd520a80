// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/signature/bundle.h>
#include <executorch/extension/signature/sha256.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::signature {

/// The files that a signature is for, as a trusted key has signed them. VerifiedDataLoader compares
/// a file with its digest.
class SignedFiles final {
 public:
  /// Reads a signature that `python -m executorch.devtools sign`, or model-signing 1.x with a
  /// private key, has written, and verifies it with the public key, a PEM file.
  /// @retval Error::InvalidExternalData It is invalid, or not made with this key.
  /// @retval Error::NotFound, Error::AccessFailed A file cannot be read.
  /// @retval Error::InvalidArgument, Error::NotSupported As verify_ecdsa().
  static runtime::Result<SignedFiles> open(const char* signature_path, const char* key_path);

  /// The digest of the file with the name that `path` ends with: files are signed by name, without
  /// folders. InvalidExternalData if no such file was signed.
  runtime::Result<Sha256> digest_of(const std::string& path) const;

 private:
  SignedFiles(std::string source, std::vector<SignedFile> files)
      : source_(std::move(source)), files_(std::move(files)) {}

  std::string source_;
  std::vector<SignedFile> files_;
};

}  // namespace executorch::extension::signature
