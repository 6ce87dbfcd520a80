// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/packed_arena.h>

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>
#include <executorch/extension/memory_allocator/large_pages.h>

namespace executorch::backends::xnnpack {

using extension::kLargePage;
using extension::prefer_large_pages;
namespace {

/// Makes the system allocate the large pages of a range. If two threads packed into the same page
/// first, each would clear a page, and one of them would be discarded.
void touch(char* begin, const char* end) {
  for (char* at = begin; at < end; at += kLargePage) {
    *static_cast<volatile char*>(at) = 0;
  }
  if (begin < end) {
    *static_cast<volatile char*>(begin + (end - begin - 1)) = 0;
  }
}

struct Pages {
  char* data = nullptr;
  size_t size = 0;
};

/// The pages of the last destroyed arena. Clearing new pages for the next arena would take about as
/// long as packing.
class SparePages final {
 public:
  static SparePages& of_process() {
    // Never destroyed: arenas may be destroyed after static objects.
    static auto* all = new SparePages();
    return *all;
  }

  /// None if they have fewer than `least` bytes, which are then returned to the system.
  Pages take(size_t least) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Pages spare = std::exchange(pages_, {});
    if (spare.size >= least) {
      return spare;
    }
    unmap(spare);
    return {};
  }

  void keep(const Pages& pages) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_kept = pages.size <= kMaxKept && pages.size > pages_.size;
    unmap(is_kept ? std::exchange(pages_, pages) : pages);
  }

 private:
#if defined(__ANDROID__) || defined(__APPLE__)
  // Phones need the memory for other applications.
  static constexpr size_t kMaxKept = 0;
#else
  static constexpr size_t kMaxKept = size_t{64} << 20;
#endif

  static void unmap(const Pages& pages) {
    if (pages.data != nullptr) {
      munmap(pages.data, pages.size);
    }
  }

  std::mutex mutex_;
  Pages pages_;
};

uintptr_t rounded(uintptr_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::shared_ptr<PackedArena> PackedArena::create(size_t capacity, size_t least) {
  if (capacity > SIZE_MAX / 2) {
    return nullptr;
  }
  const Pages spare = SparePages::of_process().take(least + kReadBeyondWeights);
  if (spare.data != nullptr) {
    return std::shared_ptr<PackedArena>(new PackedArena(spare.data, spare.size, false));
  }
  const size_t size = rounded(capacity + kReadBeyondWeights, kLargePage);
  void* const pages = mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (pages == MAP_FAILED) {
    return nullptr;
  }
  auto* const begin = static_cast<char*>(pages);
  const size_t before =
      rounded(reinterpret_cast<uintptr_t>(pages), kLargePage) - reinterpret_cast<uintptr_t>(pages);
  if (before > 0) {
    munmap(begin, before);
  }
  if (before < kLargePage) {
    munmap(begin + before + size, kLargePage - before);
  }
  prefer_large_pages(begin + before, size);
  return std::shared_ptr<PackedArena>(new PackedArena(begin + before, size, true));
}

PackedArena::~PackedArena() { SparePages::of_process().keep({data_, capacity_}); }

void* PackedArena::take(size_t size, bool overwritten) {
  if (capacity_ - used_ < kReadBeyondWeights || size > capacity_ - used_ - kReadBeyondWeights) {
    return nullptr;
  }
  last_ = used_;
  used_ = rounded(used_ + size, kBlockAlignment);
  used_ = used_ < capacity_ ? used_ : capacity_;
  touch(data_ + last_, data_ + used_);
  if (!is_zeros_ && !overwritten) {
    memset(data_ + last_, 0, used_ - last_);
  }
  return data_ + last_;
}

void PackedArena::give_back(void* piece) {
  if (piece == data_ + last_) {
    is_zeros_ = false;
    used_ = last_;
  }
}

void PackedArena::close() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = rounded(used_ + kReadBeyondWeights, page);
  if (kept < capacity_) {
    munmap(data_ + kept, capacity_ - kept);
    capacity_ = kept;
  }
  used_ = capacity_;
}

}  // namespace executorch::backends::xnnpack
