// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/library.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>

#include <cpuinfo.h>
#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/operators/xnnpack/emergency_pool.h>
#include <executorch/extension/memory_allocator/large_pages.h>

namespace executorch::backends::xnnpack {

using extension::kLargePage;
using extension::prefer_large_pages;
namespace {

/// Counts bytes that will be allocated. False if a limit of this thread's memory leaves no room.
bool take(size_t size) {
  LibraryMemory* const memory = LibraryMemory::current();
  return memory == nullptr || memory->take(size);
}

/// Corrects the count of a block from `counted` bytes to those that it has.
void correct(size_t counted, void* block) {
  LibraryMemory* const memory = LibraryMemory::current();
  if (memory != nullptr) {
    memory->correct(counted, malloc_usable_size(block));  // null has none
  }
}

void* allocate(void*, size_t size) {
  void* memory = nullptr;
  if (take(size)) {
    memory = malloc(size);
    correct(size, memory);
  }
  return memory != nullptr ? memory : take_from_pool(size, alignof(max_align_t));
}
void deallocate(void*, void* pointer) {
  if (is_in_pool(pointer)) {
    return_to_pool(pointer);
  } else {
    correct(malloc_usable_size(pointer), nullptr);
    free(pointer);
  }
}
/// Grows or shrinks a block outside of the pool. Returns null if the memory does not suffice.
void* resize(void* pointer, size_t size) {
  const size_t before = malloc_usable_size(pointer);
  if (size > before && !take(size - before)) {
    return nullptr;
  }
  void* const grown = realloc(pointer, size);
  correct(std::max(before, size), grown != nullptr || size == 0 ? grown : pointer);
  return grown;
}
void* reallocate(void* context, void* pointer, size_t size) {
  const bool was_in_pool = is_in_pool(pointer);
  void* const grown = was_in_pool ? nullptr : resize(pointer, size);
  if (grown != nullptr || (size == 0 && !was_in_pool)) {
    return grown;
  }
  // A block leaves the pool as soon as there is memory again.
  void* const moved =
      was_in_pool ? allocate(context, size) : take_from_pool(size, alignof(max_align_t));
  if (moved != nullptr && pointer != nullptr) {
    const size_t before = was_in_pool ? size_in_pool(pointer) : malloc_usable_size(pointer);
    memcpy(moved, pointer, std::min(before, size));
    deallocate(context, pointer);
  }
  return moved;
}
void* allocate_aligned(void*, size_t alignment, size_t size) {
  const bool is_large = size >= 2 * kLargePage;
  void* memory = nullptr;
  if (!take(size)) {
    return take_from_pool(size, alignment);
  }
  if (posix_memalign(&memory, is_large ? kLargePage : alignment, size) != 0) {
    correct(size, nullptr);
    return take_from_pool(size, alignment);
  }
  if (is_large) {
    prefer_large_pages(memory, size);
  }
  correct(size, memory);
  return memory;
}

constexpr xnn_allocator kAllocator = {
    nullptr, allocate, reallocate, deallocate, allocate_aligned, deallocate,
};

/// The processor's features by which XNNPACK chooses its kernels, one bit each.
uint64_t processor_features() {
  uint64_t features = 0;
#if CPUINFO_ARCH_X86 || CPUINFO_ARCH_X86_64
  for (const bool has :
       {cpuinfo_has_x86_ssse3(), cpuinfo_has_x86_sse4_1(), cpuinfo_has_x86_avx(),
        cpuinfo_has_x86_f16c(), cpuinfo_has_x86_fma3(), cpuinfo_has_x86_avx2(),
        cpuinfo_has_x86_xop(), cpuinfo_has_x86_avx512f(), cpuinfo_has_x86_avx512cd(),
        cpuinfo_has_x86_avx512bw(), cpuinfo_has_x86_avx512dq(), cpuinfo_has_x86_avx512vl(),
        cpuinfo_has_x86_avx512vbmi(), cpuinfo_has_x86_avx512vnni(), cpuinfo_has_x86_gfni(),
        cpuinfo_has_x86_avxvnni(), cpuinfo_has_x86_avx512fp16(), cpuinfo_has_x86_amx_int8()}) {
    features = features << 1 | (has ? 1 : 0);
  }
#elif CPUINFO_ARCH_ARM || CPUINFO_ARCH_ARM64
  for (const bool has :
       {cpuinfo_has_arm_neon(), cpuinfo_has_arm_neon_fp16(), cpuinfo_has_arm_neon_fma(),
        cpuinfo_has_arm_neon_v8(), cpuinfo_has_arm_neon_fp16_arith(), cpuinfo_has_arm_neon_dot(),
        cpuinfo_has_arm_i8mm(), cpuinfo_has_arm_sve(), cpuinfo_has_arm_sme()}) {
    features = features << 1 | (has ? 1 : 0);
  }
#endif
  return features;
}

}  // namespace

bool has_library() { return true; }

bool start_library() {
  static const xnn_status status = xnn_initialize(&kAllocator);
  return status == xnn_status_success;
}

Digest library_digest() {
  static const Digest digest = [] {
    Digester digester;
    digester.add(EXECUTORCH_XNNPACK_DIGEST, strlen(EXECUTORCH_XNNPACK_DIGEST));
    if (cpuinfo_initialize()) {
      digester.add_value(processor_features());
      for (uint32_t i = 0; i < cpuinfo_get_uarchs_count(); ++i) {
        digester.add_value(static_cast<uint64_t>(cpuinfo_get_uarch(i)->uarch));
      }
    }
    return digester.finish();
  }();
  return digest;
}

}  // namespace executorch::backends::xnnpack
