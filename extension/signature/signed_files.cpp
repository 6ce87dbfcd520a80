// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/signed_files.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/signature/ecdsa.h>

namespace executorch::extension::signature {

using runtime::Error;
using runtime::Result;

namespace {

/// More than the signature of a million files, or any key, takes.
constexpr size_t kMaxBytes = size_t{256} << 20;

Result<std::string> read_text(const char* path) {
  const FileDataLoader file = ET_UNWRAP(FileDataLoader::from(path));
  const size_t size = ET_UNWRAP(file.size());
  ET_CHECK_OR_RETURN_ERROR(size <= kMaxBytes, InvalidExternalData,
                           "%s: expected at most %zu bytes, found %zu", path, kMaxBytes, size);
  std::string text(size, '\0');
  ET_CHECK_OK_OR_RETURN_ERROR(
      file.load_into(0, size, runtime::DataLoader::SegmentInfo(), text.data()));
  return text;
}

}  // namespace

Result<SignedFiles> SignedFiles::open(const char* signature_path, const char* key_path) {
  return or_no_memory("a signature", [&]() -> Result<SignedFiles> {
    const std::string key = ET_UNWRAP(read_text(key_path));
    const std::string text = ET_UNWRAP(read_text(signature_path));
    const Envelope envelope = ET_UNWRAP(read_bundle(text), "%s", signature_path);
    ET_CHECK_OK_OR_RETURN_ERROR(verify_ecdsa(key, envelope.signed_bytes(), envelope.signature),
                                "%s does not match the key %s", signature_path, key_path);
    return SignedFiles(signature_path, ET_UNWRAP(read_signed_files(envelope)));
  });
}

Result<Sha256> SignedFiles::digest_of(const std::string& path) const {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const SignedFile& file : files_) {
    if (file.name == name) {
      return file.digest;
    }
  }
  ET_LOG(Error, "%s signs no file named '%s'", source_.c_str(), name.c_str());
  return Error::InvalidExternalData;
}

}  // namespace executorch::extension::signature
