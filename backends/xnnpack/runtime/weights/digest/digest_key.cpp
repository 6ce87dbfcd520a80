// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/digest_key.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <string>

#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {
namespace {

/// Empty where the environment names no folder.
std::string cache_folder() {
  if (const char* const folder = getenv("XDG_CACHE_HOME"); folder != nullptr && folder[0] == '/') {
    return folder;
  }
  const char* const home = getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache" : std::string();
}

/// Reads the key. Returns why it cannot be used, or null. `*is_missing`: the file does not exist.
const char* read_key(const std::string& path, DigestKey& key, bool* is_missing) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  *is_missing = file < 0 && errno == ENOENT;
  if (file < 0) {
    return strerror(errno);
  }
  struct stat info = {};
  const bool is_private = fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                          info.st_uid == geteuid() && (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  const bool is_whole =
      is_private && read(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  close(file);
  if (!is_private) {
    return "it belongs to another user, or others may read or write it";
  }
  return is_whole ? nullptr : "it is too short";
}

/// Writes the file under a temporary name, so that no process reads a part of it. If several
/// processes write at the same time, the first one wins.
void make_key(const std::string& folder, const std::string& path) {
  (void)mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0700);
  (void)mkdir(folder.c_str(), 0700);
  DigestKey key;
  fill_with_random(key.data(), key.size());
  const std::string part = path + "." + std::to_string(getpid());
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return;
  }
  const bool is_written = write(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  if (close(file) == 0 && is_written) {
    (void)link(part.c_str(), path.c_str());
  }
  unlink(part.c_str());
}

DigestKey find_key() {
  const std::string root = cache_folder();
  const std::string folder = root + "/executorch", path = folder + "/packed-weights.key";
  DigestKey key;
  const char* why = "neither XDG_CACHE_HOME nor HOME names a folder";
  if (!root.empty()) {
    bool is_missing = false;
    why = read_key(path, key, &is_missing);
    if (is_missing) {
      make_key(folder, path);
      why = read_key(path, key, &is_missing);
    }
  }
  if (why != nullptr) {
    ET_LOG(Info, "xnnpack: packed weights are not shared between processes: key %s: %s",
           path.c_str(), why);
    fill_with_random(key.data(), key.size());
  }
  return key;
}

}  // namespace

void fill_with_random(void* data, size_t size) {
  std::random_device device;
  auto* bytes = static_cast<uint8_t*>(data);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(device());
  }
}

const DigestKey& key_of_user() {
  static const DigestKey key = find_key();
  return key;
}

}  // namespace executorch::backends::xnnpack
