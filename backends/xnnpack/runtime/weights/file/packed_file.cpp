// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/file/packed_file.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include <executorch/backends/xnnpack/runtime/weights/digest/fingerprint.h>
#include <executorch/backends/xnnpack/runtime/weights/file/file_time.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr char kMagic[8] = {'E', 'T', 'P', 'A', 'C', 'K', 'E', 'D'};
constexpr uint32_t kVersion = 4;
constexpr size_t kFileAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t count;
  Digest library;
  uint64_t file_size;
  int64_t written;
  Digest tables;
  uint64_t contents;
};
static_assert(sizeof(Header) == 72);

struct FileEntry {
  Digest key;
  uint64_t offset;
  uint64_t size;
  Digest data;
};
static_assert(sizeof(FileEntry) == 48);

struct FileContent {
  Digest place;
  Digest content;
};
static_assert(sizeof(FileContent) == 32);

/// The digest of the header, whose own field `tables` counts as zero, and of the bytes after it.
Digest digest_of_tables(Header header, const void* tables, size_t size) {
  header.tables = {};
  Digester digester(key_of_user());
  digester.add(&header, sizeof(header));
  digester.add(tables, size);
  return digester.finish();
}

size_t aligned(size_t size) {
  return (size + kFileAlignment - 1) / kFileAlignment * kFileAlignment;
}

/// When a file was last written to.
int64_t time_of(const struct stat& info) {
#ifdef __APPLE__
  return nanoseconds(info.st_mtimespec);
#else
  return nanoseconds(info.st_mtim);
#endif
}

bool write_all(int file, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

struct Files {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<PackedFile>> by_path;
};

Files& files() {
  static auto* all = new Files();
  return *all;
}

}  // namespace

struct PackedFile::Mapping {
  const char* data;
  size_t size;
  ~Mapping() { munmap(const_cast<char*>(data), size); }
};

std::shared_ptr<PackedFile> PackedFile::at(const std::string& path) {
  Files& all = files();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::weak_ptr<PackedFile>& known = all.by_path[path];
  std::shared_ptr<PackedFile> file = known.lock();
  if (file == nullptr) {
    file.reset(new PackedFile(path));
    known = file;
  }
  return file;
}

PackedFile::PackedFile(std::string path) : path_(std::move(path)) {
  const char* const why = read();
  if (why != nullptr) {
    ET_LOG(Info, "xnnpack: the cache of packed weights %s is ignored and will be replaced: %s",
           path_.c_str(), why);
    forget();
  }
}

PackedFile::~PackedFile() { save(); }

void PackedFile::forget() {
  mapping_.reset();
  entries_.clear();
  contents_.clear();
}

const char* PackedFile::read() {
  // O_NONBLOCK: do not wait for a FIFO.
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return errno == ENOENT ? nullptr : strerror(errno);
  }
  struct stat info = {};
  const bool is_file = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (is_file && (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
    close(file);
    return "it belongs to another user, or others may write to it";
  }
  const size_t size = is_file ? static_cast<size_t>(info.st_size) : 0;
  void* pages = size < sizeof(Header)
                    ? MAP_FAILED
                    : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, /*offset=*/0);
  close(file);
  if (pages == MAP_FAILED) {
    return is_file ? "it is too short, or cannot be mapped" : "it is not a regular file";
  }
  mapping_.reset(new Mapping{static_cast<const char*>(pages), size});
  Header header;
  memcpy(&header, pages, sizeof(header));
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return "it is something else";
  }
  if (header.version != kVersion) {
    return "its format is of another version";
  }
  if (header.library != packing_fingerprint()) {
    return "it was written by another version of XNNPACK or for another processor";
  }
  if (header.file_size != size) {
    return "it is truncated";
  }
  is_as_written_ = header.written == time_of(info);
  return read_tables();
}

const char* PackedFile::read_tables() {
  Header header;
  memcpy(&header, mapping_->data, sizeof(header));
  const size_t size = mapping_->size, room = size - sizeof(Header);
  const uint64_t entry_bytes = uint64_t{header.count} * sizeof(FileEntry);
  const uint64_t contents = header.contents;
  if (entry_bytes > room || contents > (room - entry_bytes) / sizeof(FileContent)) {
    return "it is truncated";
  }
  const char* table = mapping_->data + sizeof(Header);
  const auto table_bytes = static_cast<size_t>(entry_bytes + contents * sizeof(FileContent));
  if (header.tables != digest_of_tables(header, table, table_bytes)) {
    return "its table is damaged, or another user wrote it";
  }
  // Blocks must be in the layout of write().
  size_t end = aligned(sizeof(Header) + table_bytes);
  for (uint32_t i = 0; i < header.count; ++i, table += sizeof(FileEntry)) {
    FileEntry entry;
    memcpy(&entry, table, sizeof(entry));
    if (entry.offset != end || end > size || entry.size == 0 || entry.size > size - end ||
        size - end - entry.size < kReadBeyondWeights) {
      return "its table is wrong";
    }
    end += aligned(static_cast<size_t>(entry.size));
    entries_[entry.key] = {static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size),
                           entry.data};
  }
  for (uint64_t i = 0; i < contents; ++i, table += sizeof(FileContent)) {
    FileContent content;
    memcpy(&content, table, sizeof(content));
    contents_[content.place] = content.content;
  }
  return nullptr;
}

std::shared_ptr<PackedBlock> PackedFile::find(const Digest& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = blocks_by_key_.find(key);
  if (known != blocks_by_key_.end()) {
    return known->second;
  }
  const auto listed = entries_.find(key);
  if (listed == entries_.end()) {
    return nullptr;
  }
  const Entry entry = listed->second;
  const char* const data = mapping_->data + entry.offset;
  if (!is_as_written_ && digest_of(data, entry.size, key_of_user()) != entry.digest) {
    ET_LOG(Info, "xnnpack: cache of packed weights %s is damaged in %zu bytes at %zu: packed anew",
           path_.c_str(), entry.size, entry.offset);
    entries_.erase(listed);
    return nullptr;
  }
  return blocks_by_key_[key] = std::make_shared<PackedBlock>(data, entry.size, mapping_);
}

void PackedFile::add(const Digest& key, const std::shared_ptr<PackedBlock>& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (entries_.count(key) == 0) {
    added_.emplace(key, block);
  }
}

std::optional<Digest> PackedFile::content_at(const Digest& place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = contents_.find(place);
  if (known == contents_.end()) {
    return std::nullopt;
  }
  used_contents_[place] = known->second;
  return known->second;
}

void PackedFile::add_content(const Digest& place, const Digest& content) {
  const std::lock_guard<std::mutex> lock(mutex_);
  contents_[place] = used_contents_[place] = content;
  has_new_contents_ = true;
}

std::map<Digest, Digest> PackedFile::kept_contents() const {
  return contents_.size() <= 2 * used_contents_.size() ? contents_ : used_contents_;
}

void PackedFile::save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (added_.empty() && !has_new_contents_) {
    return;
  }
  std::map<Digest, std::shared_ptr<PackedBlock>> blocks = added_;
  blocks.insert(blocks_by_key_.begin(), blocks_by_key_.end());
  size_t used = 0;
  for (const auto& block : blocks) {
    used += block.second->size();
  }
  // Unused blocks may belong to another method. They stay as long as they are the smaller part.
  size_t unused = 0;
  for (const auto& entry : entries_) {
    unused += blocks.count(entry.first) == 0 ? entry.second.size : 0;
  }
  for (const auto& entry : entries_) {
    if (unused <= used && blocks.count(entry.first) == 0) {
      blocks[entry.first] = std::make_shared<PackedBlock>(mapping_->data + entry.second.offset,
                                                          entry.second.size, mapping_);
    }
  }
  static std::atomic<unsigned> attempts{0};
  const std::string written =
      path_ + "." + std::to_string(getpid()) + "." + std::to_string(++attempts);
  const int file = open(written.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  bool is_written = file >= 0 && write(file, blocks);
  if (file >= 0) {
    is_written = close(file) == 0 && is_written;
  }
  if (!is_written || rename(written.c_str(), path_.c_str()) != 0) {
    ET_LOG(Info, "xnnpack: cache of packed weights %s cannot be written: %s", path_.c_str(),
           strerror(errno));
    if (file >= 0) {
      unlink(written.c_str());
    }
  }
  // Users keep their references to blocks. Methods loaded later find these blocks in the file.
  added_.clear();
  has_new_contents_ = false;
  if (is_written) {
    blocks_by_key_.clear();
    forget();
    if (const char* const why = read()) {
      ET_LOG(Info, "xnnpack: cache of packed weights %s has changed: %s", path_.c_str(), why);
      forget();
    }
  }
}

bool PackedFile::write(int file,
                       const std::map<Digest, std::shared_ptr<PackedBlock>>& blocks) const {
  std::string tables;
  const auto append = [&tables](const auto& row) {
    tables.append(reinterpret_cast<const char*>(&row), sizeof(row));
  };
  const std::map<Digest, Digest> contents = kept_contents();
  size_t end = aligned(sizeof(Header) + blocks.size() * sizeof(FileEntry) +
                       contents.size() * sizeof(FileContent));
  for (const auto& [key, block] : blocks) {
    append(
        FileEntry{key, end, block->size(), digest_of(block->data(), block->size(), key_of_user())});
    end += aligned(block->size());
  }
  for (const auto& [place, content] : contents) {
    append(FileContent{place, content});
  }
  Header header = {};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.count = static_cast<uint32_t>(blocks.size());
  header.library = packing_fingerprint();
  header.file_size = end + kReadBeyondWeights;
  timespec now[2] = {};
  clock_gettime(CLOCK_REALTIME, &now[1]);
  header.written = nanoseconds(now[1]);
  header.contents = contents.size();
  header.tables = digest_of_tables(header, tables.data(), tables.size());
  const size_t begin = sizeof(header) + tables.size();
  const char zeros[kReadBeyondWeights] = {};
  bool is_written = write_all(file, &header, sizeof(header)) &&
                    write_all(file, tables.data(), tables.size()) &&
                    write_all(file, zeros, aligned(begin) - begin);
  for (const auto& block : blocks) {
    const size_t size = block.second->size();
    is_written = is_written && write_all(file, block.second->data(), size) &&
                 write_all(file, zeros, aligned(size) - size);
  }
  is_written = is_written && write_all(file, zeros, sizeof(zeros));
  // On file systems with coarser times, or where times cannot be set, find() verifies the digest of
  // the data.
  now[0].tv_nsec = UTIME_OMIT;
  (void)futimens(file, now);
  return is_written;
}

}  // namespace executorch::backends::xnnpack
