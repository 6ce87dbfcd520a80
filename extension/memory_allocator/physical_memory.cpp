// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/memory_allocator/physical_memory.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

namespace {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

/// A path of parts, or an empty one if it is too long.
class Path final {
 public:
  Path(const char* root, const char* folder, const char* group, size_t group_size,
       const char* name) {
    const int size =
        snprintf(text_, sizeof(text_), "%s%s%.*s/%s", root, folder,
                 static_cast<int>(std::min<size_t>(group_size, PATH_MAX)), group, name);
    if (size < 0 || static_cast<size_t>(size) >= sizeof(text_)) {
      text_[0] = '\0';
    }
  }
  File open() const { return File(fopen(text_, "re")); }

 private:
  char text_[PATH_MAX];
};

/// The limit if a file was not opened: 0 if that may succeed later, UINT64_MAX otherwise.
uint64_t limit_without_file() {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? 0 : UINT64_MAX;
}

/// The number in a file, at least 1; UINT64_MAX for other contents, such as `max`.
uint64_t number_in(const Path& path) {
  const File file = path.open();
  if (file == nullptr) {
    return limit_without_file();
  }
  uint64_t number = 0;
  return fscanf(file.get(), "%20" SCNu64, &number) == 1 ? std::max<uint64_t>(number, 1)
                                                        : UINT64_MAX;
}

/// The smallest limit of a group and of its parents up to the folder of the mount. In a container,
/// which may see only a part of the tree, the files of its group are those of the mount.
uint64_t smallest_limit(const char* root, const char* mount, const char* group, const char* name) {
  uint64_t smallest = UINT64_MAX;
  for (size_t size = strlen(group);; --size) {
    if (size == 0 || group[size] == '/' || group[size] == '\0') {
      smallest = std::min(smallest, number_in(Path(root, mount, group, size, name)));
    }
    if (size == 0) {
      return smallest;
    }
  }
}

/// True if a list such as "cpu,memory" has the controller of memory.
bool has_memory(const char* controllers) {
  constexpr char kMemory[] = "memory";
  constexpr size_t kSize = sizeof(kMemory) - 1;
  for (const char* name = controllers; name != nullptr;) {
    const char* const end = strchr(name, ',');
    if ((end == nullptr ? strlen(name) : static_cast<size_t>(end - name)) == kSize &&
        strncmp(name, kMemory, kSize) == 0) {
      return true;
    }
    name = end == nullptr ? nullptr : end + 1;
  }
  return false;
}

/// The bytes of the machine's memory; UINT64_MAX if they are unknown.
uint64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  uint64_t bytes = 0;
  return pages > 0 && page_size > 0 &&
                 !runtime::mul_overflows(static_cast<uint64_t>(pages),
                                         static_cast<uint64_t>(page_size), &bytes)
             ? bytes
             : UINT64_MAX;
}

}  // namespace

uint64_t internal::control_group_limit(const char* root) {
  // Lines such as "0::/group" (version 2) and "4:cpu,memory:/group" (version 1).
  const File groups = Path(root, "/proc/self", "", 0, "cgroup").open();
  if (groups == nullptr) {
    return limit_without_file();
  }
  uint64_t smallest = UINT64_MAX;
  char line[PATH_MAX];
  while (fgets(line, sizeof(line), groups.get()) != nullptr) {
    line[strcspn(line, "\n")] = '\0';
    char* const controllers = strchr(line, ':');
    char* const group = controllers == nullptr ? nullptr : strchr(controllers + 1, ':');
    if (group == nullptr) {
      continue;
    }
    *group = '\0';
    if (controllers + 1 == group) {
      smallest =
          std::min(smallest, smallest_limit(root, "/sys/fs/cgroup", group + 1, "memory.max"));
    } else if (has_memory(controllers + 1)) {
      smallest = std::min(smallest, smallest_limit(root, "/sys/fs/cgroup/memory", group + 1,
                                                   "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

size_t three_quarters_of_memory() {
  static std::atomic<size_t> known{0};
  if (const size_t bytes = known.load(); bytes != 0) {
    return bytes;
  }
  const uint64_t groups = internal::control_group_limit("");
  const uint64_t memory = std::min(machine_memory(), groups == 0 ? UINT64_MAX : groups);
  const size_t bytes = memory == UINT64_MAX
                           ? size_t{0}
                           : static_cast<size_t>(std::clamp<uint64_t>(memory / 4 * 3, 1, SIZE_MAX));
  if (groups == 0) {
    ET_LOG(Error,
           "no file descriptor or memory to read the memory limits of control groups; until they "
           "are read, the limit is %zu bytes, three quarters of the machine's memory",
           bytes);
  } else {
    known = bytes;
  }
  return bytes;
}

}  // namespace executorch::extension
