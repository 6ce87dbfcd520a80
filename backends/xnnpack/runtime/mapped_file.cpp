// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/mapped_file.h>

#ifdef __linux__
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/file_time.h>
#endif

namespace executorch::backends::xnnpack {

#ifdef __linux__

namespace {

// File systems take the time from a clock that ticks 100 times a second or more often.
constexpr int64_t kTick = 20'000'000;

}  // namespace

// The format of /proc/self/maps: proc_pid_maps(5).
MappedFiles::MappedFiles() {
  FILE* const maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) {
    return;
  }
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, maps) > 0) {
    add(line);
  }
  free(line);
  fclose(maps);
}

void MappedFiles::add(const char* line) {
  // Most are of other kinds, and a process may have a thousand.
  const char* const kind = strchr(line, ' ');
  if (kind == nullptr || strncmp(kind, " r--p ", 6) != 0) {
    return;
  }
  uintptr_t begin = 0, end = 0;
  uint64_t offset = 0, inode = 0;
  int path = 0;
  if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &begin, &end,
             &offset, &inode, &path) != 4 ||
      line[path] != '/') {
    return;
  }
  std::string name(line + path);
  name.erase(name.find_last_not_of('\n') + 1);
  views_.push_back({begin, end, offset, inode, std::move(name), false, std::nullopt});
}

std::optional<Digest> MappedFiles::state_of(const View& view) {
  struct stat info = {};
  // A file that was deleted has that behind its name; one that has taken its place, another inode.
  if (stat(view.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != view.inode) {
    return std::nullopt;
  }
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t changed = std::max(nanoseconds(info.st_ctim), nanoseconds(info.st_mtim));
  if (changed + kTick > nanoseconds(now)) {
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

std::optional<Digest> MappedFiles::place_of(const void* data, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto after =
      std::upper_bound(views_.begin(), views_.end(), begin,
                       [](uintptr_t at, const View& view) { return at < view.begin; });
  if (after == views_.begin()) {
    return std::nullopt;
  }
  View& view = *(after - 1);
  if (begin >= view.end || size > view.end - begin) {
    return std::nullopt;
  }
  if (!view.is_asked) {
    view.is_asked = true;
    view.state = state_of(view);
  }
  if (!view.state) {
    return std::nullopt;
  }
  Digester place;
  place.add_value(view.state->low);
  place.add_value(view.state->high);
  place.add_value(view.offset + (begin - view.begin));
  place.add_value(static_cast<uint64_t>(size));
  return place.finish();
}

#else

MappedFiles::MappedFiles() = default;
std::optional<Digest> MappedFiles::place_of(const void*, size_t) { return std::nullopt; }

#endif

}  // namespace executorch::backends::xnnpack
