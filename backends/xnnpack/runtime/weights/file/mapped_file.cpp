// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/file/mapped_file.h>

#ifdef __linux__
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/weights/file/file_time.h>
#endif

namespace executorch::backends::xnnpack {

#ifdef __linux__

namespace {

/// Query of the mapping at one address, which takes a microsecond (Linux 6.11 and later): the ioctl
/// PROCMAP_QUERY of linux/fs.h, which headers of older systems lack.
struct MappingQuery {
  uint64_t size = sizeof(MappingQuery);
  uint64_t query_flags;
  uint64_t query_addr;
  uint64_t vma_start = 0;
  uint64_t vma_end = 0;
  uint64_t vma_flags = 0;
  uint64_t vma_page_size = 0;
  uint64_t vma_offset = 0;
  uint64_t inode = 0;
  uint32_t dev_major = 0;
  uint32_t dev_minor = 0;
  uint32_t vma_name_size;
  uint32_t build_id_size = 0;
  uint64_t vma_name_addr;
  uint64_t build_id_addr = 0;
};
static_assert(sizeof(MappingQuery) == 104, "as in linux/fs.h");

constexpr unsigned long kQuery = _IOWR('f', 17, MappingQuery);
constexpr uint64_t kReadable = 0x01;
constexpr uint64_t kFileBacked = 0x20;

}  // namespace

MappedFiles::MappedFiles(bool answers_singly) : maps_(fopen("/proc/self/maps", "re")) {
  if (maps_ == nullptr) {
    views_.emplace();
  } else if (!answers_singly) {
    read_all();
  }
}

std::optional<MappedFiles::View> MappedFiles::query_system(uintptr_t address) {
  char path[PATH_MAX];
  MappingQuery query;
  query.query_flags = kReadable | kFileBacked;
  query.query_addr = address;
  query.vma_name_addr = reinterpret_cast<uintptr_t>(path);
  query.vma_name_size = sizeof(path);
  if (ioctl(fileno(maps_.get()), kQuery, &query) != 0) {
    if (errno != ENOENT && errno != ENAMETOOLONG) {
      read_all();
    }
    return std::nullopt;
  }
  // Private and read-only, like the mappings of a program's loader.
  if (query.vma_flags != kReadable || query.vma_name_size == 0 || path[0] != '/') {
    return std::nullopt;
  }
  return View{static_cast<uintptr_t>(query.vma_start),
              static_cast<uintptr_t>(query.vma_end),
              query.vma_offset,
              makedev(query.dev_major, query.dev_minor),
              query.inode,
              path};
}

/// The format of /proc/self/maps: proc_pid_maps(5).
void MappedFiles::read_all() {
  views_.emplace();
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, maps_.get()) > 0) {
    // Skip mappings of other kinds early: a process can have a thousand.
    const char* const kind = strchr(line, ' ');
    if (kind == nullptr || strncmp(kind, " r--p ", 6) != 0) {
      continue;
    }
    uintptr_t begin = 0, end = 0;
    uint64_t offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    int path = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &begin, &end,
               &offset, &major, &minor, &inode, &path) != 6 ||
        line[path] != '/') {
      continue;
    }
    std::string name(line + path);
    name.erase(name.find_last_not_of('\n') + 1);
    views_->push_back({begin, end, offset, makedev(major, minor), inode, std::move(name)});
  }
  free(line);
}

std::optional<MappedFiles::View> MappedFiles::view_at(uintptr_t address) {
  if (!views_) {
    std::optional<View> view = query_system(address);
    if (!views_) {
      return view;
    }
  }
  const auto after =
      std::upper_bound(views_->begin(), views_->end(), address,
                       [](uintptr_t at, const View& view) { return at < view.begin; });
  return after == views_->begin() ? std::nullopt : std::optional<View>(*(after - 1));
}

namespace {

std::optional<Digest> state_now(const char* path, uint64_t inode) {
  struct stat info = {};
  // The name of a deleted file has a suffix; a file that replaced it has another inode.
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != inode) {
    return std::nullopt;
  }
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (!is_settled(info.st_ctim, now) || !is_settled(info.st_mtim, now)) {
    return std::nullopt;
  }
  Digester state;
  state.add_value(static_cast<uint64_t>(info.st_dev));
  state.add_value(static_cast<uint64_t>(info.st_ino));
  state.add_value(static_cast<int64_t>(info.st_size));
  state.add_value(nanoseconds(info.st_mtim));
  state.add_value(nanoseconds(info.st_ctim));
  return state.finish();
}

}  // namespace

const std::optional<Digest>& MappedFiles::state_of(const View& view) {
  for (const File& file : files_) {
    if (file.inode == view.inode && file.device == view.device) {
      return file.state;
    }
  }
  files_.push_back({view.device, view.inode, state_now(view.path.c_str(), view.inode)});
  return files_.back().state;
}

std::optional<Digest> MappedFiles::place_of(const void* data, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const std::optional<View> view = view_at(begin);
  if (!view || begin >= view->end || size > view->end - begin) {
    return std::nullopt;
  }
  const std::optional<Digest>& state = state_of(*view);
  if (!state) {
    return std::nullopt;
  }
  Digester place;
  place.add_value(state->low);
  place.add_value(state->high);
  place.add_value(view->offset + (begin - view->begin));
  place.add_value(static_cast<uint64_t>(size));
  return place.finish();
}

#else

MappedFiles::MappedFiles(bool) {}
std::optional<Digest> MappedFiles::place_of(const void*, size_t) { return std::nullopt; }

#endif

}  // namespace executorch::backends::xnnpack
