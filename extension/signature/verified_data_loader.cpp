// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/verified_data_loader.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/no_memory.h>

namespace executorch::extension::signature {

using runtime::Error;
using runtime::Result;

Result<VerifiedDataLoader> VerifiedDataLoader::from(const char* path, const Sha256& digest) {
  const FileDataLoader file = ET_UNWRAP(FileDataLoader::from(path));
  runtime::FreeableBuffer bytes =
      ET_UNWRAP(file.load(0, ET_UNWRAP(file.size()), SegmentInfo(SegmentInfo::Type::Program)));
  Sha256Hasher hasher;
  hasher.add(bytes.data(), bytes.size());
  const Sha256 found = hasher.finish();
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("the text of a digest", [&] {
    ET_CHECK_OR_RETURN_ERROR(found == digest, InvalidExternalData,
                             "%s: expected SHA-256 %s, found %s", path, to_hex(digest).c_str(),
                             to_hex(found).c_str());
    return Error::Ok;
  }));
  return VerifiedDataLoader(std::move(bytes));
}

}  // namespace executorch::extension::signature
