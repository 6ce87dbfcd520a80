// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A file of packed weights, from one start to the next. Little-endian, as the machine that wrote
// it:
//
//   0  8   "ETPACKED"
//   8  u32 version of the format: 4
//  12  u32 how many entries
//  16  16  the library and processor (packing_fingerprint())
//  32  u64 bytes of the file
//  40  i64 when it was written, nanoseconds since 1970; the file bears the same time
//  48  16  digest of the header, this field as zeros, the entries and the contents; all digests
//          are keyed (key_of_user())
//  64  u64 how many contents
//  72      entries of 48 bytes: key (16), offset (u64), bytes (u64), digest of the data (16);
//          contents of 32 bytes: where constants were found (MappedFiles; 16), their digest (16);
//          the data, each at a multiple of 64; 128 zero bytes that kernels may read beyond them
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>

namespace executorch::backends::xnnpack {

/// The file at a path, and what it is to have. A file that is damaged, of another version, library
/// or processor, that belongs to another user or that others may write to counts as empty, after an
/// Info message. Nothing fails because of it: what cannot be
/// written is logged.
class PackedFile final {
 public:
  /// The same object for all who ask for this path at the same time.
  static std::shared_ptr<PackedFile> at(const std::string& path);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  /// A block of the file; null if it has none under this key, or a damaged one.
  std::shared_ptr<PackedBlock> find(const Digest& key);
  /// A block that the file is to have, if it has none under this key.
  void add(const Digest& key, const std::shared_ptr<PackedBlock>& block);

  /// The digest of constants that were found at this place (MappedFiles::place_of()) before.
  std::optional<Digest> content_at(const Digest& place);
  /// What the file is to say from now on of the constants at this place.
  void add_content(const Digest& place, const Digest& content);

  /// Replaces the file by one that has what was added, if anything was. Others see either.
  void save();

 private:
  struct Mapping;
  struct Entry {
    size_t offset;
    size_t size;
    Digest digest;
  };

  explicit PackedFile(std::string path);
  /// Maps the file and reads its entries; says why it counts as empty, or returns null.
  const char* read();
  /// As if there were no file.
  void forget();
  /// Reads the tables after the header; as read().
  const char* read_tables();
  bool write(int file, const std::map<Digest, std::shared_ptr<PackedBlock>>& blocks) const;
  /// The contents that are worth keeping: those asked for and added, and no more of the others.
  std::map<Digest, Digest> kept_contents() const;

  const std::string path_;
  std::mutex mutex_;
  std::shared_ptr<const Mapping> mapping_;
  /// Whether nothing has been written to the file since it was made: it bears the time that it
  /// says. Data are then what their digests say.
  bool is_as_made_ = false;
  std::map<Digest, Entry> entries_;
  /// Blocks of the file that somebody has asked for.
  std::map<Digest, std::shared_ptr<PackedBlock>> found_;
  std::map<Digest, std::shared_ptr<PackedBlock>> added_;
  /// What the file says of constants, what of it was asked for or added, and whether any was added.
  std::map<Digest, Digest> contents_;
  std::map<Digest, Digest> used_contents_;
  bool has_new_contents_ = false;
};

}  // namespace executorch::backends::xnnpack
