// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A file of packed weights, which speeds up the next start. Little-endian, as the machine that
// wrote it:
//
//   0  8   "ETPACKED"
//   8  u32 version of the format: 4
//  12  u32 number of entries
//  16  16  the library and processor (packing_fingerprint())
//  32  u64 bytes of the file
//  40  i64 time of writing, nanoseconds since 1970; the file's modification time is equal
//  48  16  digest of the header, this field as zeros, the entries and the contents; all digests
//          are keyed (key_of_user())
//  64  u64 number of contents
//  72      entries of 48 bytes: key (16), offset (u64), bytes (u64), digest of the data (16);
//          contents of 32 bytes: place of constants (MappedFiles; 16), their digest (16);
//          the data, each aligned to 64; 128 zero bytes that kernels may read after the data
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>

namespace executorch::backends::xnnpack {

/// The file at a path, and the blocks to add. A file that is damaged, of another version, library,
/// processor or user, or writable by others counts as empty, after an Info message. Failures to
/// write are logged; they are not errors.
class PackedFile final {
 public:
  /// Concurrent users of a path get the same object.
  static std::shared_ptr<PackedFile> at(const std::string& path);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  /// The block with this key; null if the file lacks it, or it is damaged.
  std::shared_ptr<PackedBlock> find(const Digest& key);
  /// Adds a block, unless the file has one with this key.
  void add(const Digest& key, const std::shared_ptr<PackedBlock>& block);

  /// The recorded digest of the constants at a place (MappedFiles::place_of()).
  std::optional<Digest> content_at(const Digest& place);
  /// Records the digest of the constants at a place.
  void add_content(const Digest& place, const Digest& content);

  /// If anything was added, replaces the file atomically by one that includes it.
  void save();

 private:
  struct Mapping;
  struct Entry {
    size_t offset;
    size_t size;
    Digest digest;
  };

  explicit PackedFile(std::string path);
  /// Maps the file and reads its entries. Returns why it counts as empty, or null.
  const char* read();
  /// Resets the state to that of a missing file.
  void forget();
  /// Reads the tables after the header; as read().
  const char* read_tables();
  bool write(int file, const std::map<Digest, std::shared_ptr<PackedBlock>>& blocks) const;
  /// The contents to keep: those used or added, and at most as many others.
  std::map<Digest, Digest> kept_contents() const;

  const std::string path_;
  std::mutex mutex_;
  std::shared_ptr<const Mapping> mapping_;
  /// True if the file's modification time equals the recorded one: it was not changed since it was
  /// written, so the data need no check of their digests.
  bool is_as_written_ = false;
  std::map<Digest, Entry> entries_;
  /// Blocks of the file that find() has returned.
  std::map<Digest, std::shared_ptr<PackedBlock>> blocks_by_key_;
  std::map<Digest, std::shared_ptr<PackedBlock>> added_;
  /// Recorded digests of constants; those used or added; and whether any was added.
  std::map<Digest, Digest> contents_;
  std::map<Digest, Digest> used_contents_;
  bool has_new_contents_ = false;
};

}  // namespace executorch::backends::xnnpack
