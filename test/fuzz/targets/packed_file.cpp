// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Cache files of packed weights, damaged but with correct digests: only the user can make such a
// file, but reading it must stay within its bytes all the same.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/digest_key.h>
#include <executorch/backends/xnnpack/runtime/weights/file/packed_file.h>

#include "fuzz/engine/features.h"
#include "fuzz/engine/random.h"

using namespace executorch::backends::xnnpack;
using namespace executorch::fuzz;

namespace {

// backends/xnnpack/runtime/weights/file/packed_file.h has the format.
constexpr size_t kHeader = 72;

/// Sets the digest of header and tables, where they lie in the file.
void sign(std::string& file) {
  if (file.size() < kHeader) {
    return;
  }
  uint32_t entries = 0;
  uint64_t contents = 0;
  memcpy(&entries, file.data() + 12, sizeof(entries));
  memcpy(&contents, file.data() + 64, sizeof(contents));
  const uint64_t tables = uint64_t{entries} * 48 + contents * 32;
  if (contents > file.size() || tables > file.size() - kHeader) {
    return;
  }
  memset(file.data() + 48, 0, sizeof(Digest));
  Digester digester(key_of_user());
  digester.add(file.data(), kHeader);
  digester.add(file.data() + kHeader, static_cast<size_t>(tables));
  const Digest digest = digester.finish();
  memcpy(file.data() + 48, &digest, sizeof(digest));
}

const std::string& path_of_file() {
  static const std::string path =
      std::string(getenv("TMPDIR") == nullptr ? "/tmp" : getenv("TMPDIR")) + "/packed-" +
      std::to_string(getpid());
  return path;
}

/// A file as the backend writes it, of this library and processor.
const std::string& good_file() {
  static const std::string text = [] {
    unlink(path_of_file().c_str());
    const auto packed = PackedFile::at(path_of_file());
    for (uint64_t i = 1; i <= 3; ++i) {
      packed->add({i, i}, PackedBlock::allocate(static_cast<size_t>(i) * 100));
      packed->add_content({i, 7}, {7, i});
    }
    packed->save();
    std::ifstream file(path_of_file(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return text;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t, size_t, unsigned seed) {
  start();
  std::string file = good_file();
  Random random(seed);
  const size_t tables = kHeader + 3 * 48 + 3 * 32;
  for (size_t changes = 1 + random.below(4); changes > 0; --changes) {
    // Counts, the file's size and the tables: the rest is compared as it is.
    const size_t at = random.one_in(3) ? random.pick({size_t{12}, size_t{32}, size_t{64}})
                                       : kHeader + random.below((tables - kHeader) / 8) * 8;
    const int64_t number = random.one_in(2)
                               ? static_cast<int64_t>(random.below(16)) * 64
                               : random.pick({int64_t{-1}, int64_t{-64}, int64_t{1} << 40,
                                              INT64_MAX, static_cast<int64_t>(file.size())});
    memcpy(file.data() + at, &number, at == 12 ? 4 : 8);
  }
  if (random.one_in(8)) {
    file.resize(random.below(file.size() + 1));
  }
  memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  std::string file(reinterpret_cast<const char*>(data), size);
  // Only files with a correct digest are of interest.
  sign(file);
  const std::string& path = path_of_file();
  unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << file;
  {
    const auto packed = PackedFile::at(path);
    for (size_t at = kHeader; at + sizeof(Digest) <= file.size() && at < kHeader + 48 * 64;
         at += 16) {
      Digest key;
      memcpy(&key, file.data() + at, sizeof(key));
      const auto block = packed->find(key);
      note_feature(block == nullptr ? 1 : 2);
      if (block != nullptr) {
        const auto* bytes = static_cast<const uint8_t*>(block->data());
        note_feature(hash_of({bytes, block->size()}) % 64);
      }
      (void)packed->content_at(key);
    }
  }
  unlink(path.c_str());
  return 0;
}
