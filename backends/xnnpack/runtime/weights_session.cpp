// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights_session.h>

#include <utility>

#include <executorch/backends/xnnpack/runtime/large_pages.h>
#include <executorch/backends/xnnpack/runtime/reserve.h>
#include <executorch/extension/memory_allocator/no_memory.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kNotFound = SIZE_MAX;

/// What XNNPACK calls; `otherwise` where there is no memory: an exception must not pass through it.
template <typename T, typename Answer>
T answer(void* self, T otherwise, const Answer& of) {
  const runtime::Result<T> found = extension::or_no_memory(
      "xnnpack: packed weights",
      [&]() -> runtime::Result<T> { return of(*static_cast<WeightsSession*>(self)); });
  if (!found.ok()) {
    note_shortage();
  }
  return found.ok() ? *found : otherwise;
}

}  // namespace

WeightsSession::WeightsSession(WeightKeys keys, std::shared_ptr<PackedFile> file, size_t unpacked)
    : keys_(std::move(keys)), file_(std::move(file)), unpacked_(unpacked) {
  provider_.context = this;
  provider_.look_up = [](void* self, const xnn_weights_cache_look_up_key* key) {
    return answer(self, kNotFound, [&](WeightsSession& session) { return session.look_up(*key); });
  };
  provider_.reserve_space = [](void* self, size_t size) {
    return answer(self, static_cast<void*>(nullptr),
                  [&](WeightsSession& session) { return session.reserve(size, /*overwritten=*/false); });
  };
  provider_.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key,
                                   void* packed, size_t) {
    return answer(self, kNotFound,
                  [&](WeightsSession& session) { return session.look_up_or_insert(*key, packed); });
  };
  provider_.is_finalized = [](void* self) {
    return static_cast<WeightsSession*>(self)->is_finished_;
  };
  provider_.offset_to_addr = [](void*, size_t place) { return reinterpret_cast<void*>(place); };
  // It is not XNNPACK's to end.
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

void WeightsSession::finish() {
  is_finished_ = true;
  drop_reserved();
  if (arena_ != nullptr) {
    arena_->close();
    arena_.reset();
  }
  file_.reset();
  keys_.reset();
}

bool WeightsSession::find_key(const xnn_weights_cache_look_up_key& asked, Digest* key) {
  return keys_ && keys_->find(asked.seed, asked.kernel, asked.bias, key);
}

size_t WeightsSession::look_up(const xnn_weights_cache_look_up_key& asked) {
  Digest key;
  if (!find_key(asked, &key)) {
    return kNotFound;
  }
  PackedWeights& all = PackedWeights::of_process();
  std::shared_ptr<PackedBlock> block = all.find(key);
  if (block == nullptr && file_ != nullptr) {
    block = file_->find(key);
    if (block != nullptr) {
      all.insert(key, block);
    }
  } else if (block != nullptr && file_ != nullptr) {
    file_->add(key, block);
  }
  return block == nullptr ? kNotFound : use(std::move(block));
}

void* WeightsSession::reserve(size_t size, bool overwritten) {
  reserved_ = allocate(size, overwritten);
  return reserved_ == nullptr ? nullptr : const_cast<void*>(reserved_->data());
}

std::shared_ptr<PackedBlock> WeightsSession::allocate(size_t size, bool overwritten) {
  if (arena_ == nullptr && unpacked_ >= kLargePage) {
    // Packing adds biases, and columns up to whole tiles; weights that are not packed count, too.
    arena_ = PackedArena::create(unpacked_ + unpacked_ / 2, unpacked_ - unpacked_ / 4);
  }
  void* const piece = arena_ == nullptr ? nullptr : arena_->take(size, overwritten);
  return piece == nullptr ? PackedBlock::allocate(size)
                          : std::make_shared<PackedBlock>(piece, size, arena_);
}

void WeightsSession::drop_reserved() {
  if (reserved_ != nullptr && arena_ != nullptr) {
    arena_->give_back(const_cast<void*>(reserved_->data()));
  }
  reserved_.reset();
}

size_t WeightsSession::look_up_or_insert(const xnn_weights_cache_look_up_key& asked,
                                         const void* packed) {
  const size_t known = look_up(asked);
  if (known != kNotFound) {
    // Some operators pack before they ask, others ask again for what they have found.
    drop_reserved();
    return known;
  }
  if (reserved_ == nullptr || reserved_->data() != packed) {
    return kNotFound;
  }
  PackedWeights& all = PackedWeights::of_process();
  std::shared_ptr<PackedBlock> block = all.one_of_equal(reserved_);
  if (block == reserved_) {
    reserved_.reset();
  } else {
    drop_reserved();
  }
  Digest key;
  if (find_key(asked, &key)) {
    all.insert(key, block);
    if (file_ != nullptr) {
      file_->add(key, block);
    }
  }
  return use(std::move(block));
}

const void* WeightsSession::pack(const xnn_weights_cache_look_up_key& asked, size_t bytes,
                                 runtime::FunctionRef<void(void*)> write) {
  size_t place = look_up(asked);
  if (place == kNotFound) {
    void* const memory = reserve(bytes, /*overwritten=*/true);
    if (memory == nullptr) {
      return nullptr;
    }
    write(memory);
    place = look_up_or_insert(asked, memory);
  }
  return reinterpret_cast<const void*>(place);
}

size_t WeightsSession::use(std::shared_ptr<PackedBlock> block) {
  const auto place = reinterpret_cast<size_t>(block->data());
  used_.push_back(std::move(block));
  return place;
}

size_t WeightsSession::packed_size() const {
  size_t bytes = 0;
  for (const std::shared_ptr<PackedBlock>& block : used_) {
    bytes += block->size();
  }
  return bytes;
}

}  // namespace executorch::backends::xnnpack
