// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/constant_digests.h>

#include <map>
#include <mutex>
#include <utility>

#include <executorch/backends/xnnpack/runtime/weights/digest/quick_digest.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

using runtime::internal::count;

namespace {

// Below these sizes of a constant, and of all constants of a payload, reading is faster than
// looking up the mapped file.
constexpr size_t kMinLookup = 4096;
constexpr uint64_t kMinPayloadLookup = uint64_t{1} << 20;
// The table of known places is cleared at this size, because files come and go.
constexpr size_t kMaxPlaces = size_t{1} << 16;

/// Digests of contents of mapped files, for the whole process.
struct KnownContents {
  std::mutex mutex;
  std::map<Digest, Digest> by_place;

  static KnownContents& of_process() {
    // Never destroyed: delegates may be created until the very end.
    static auto* all = new KnownContents();
    return *all;
  }

  std::optional<Digest> find(const Digest& place) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto entry = by_place.find(place);
    return entry == by_place.end() ? std::nullopt : std::optional<Digest>(entry->second);
  }

  void add(const Digest& place, const Digest& content) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (by_place.size() >= kMaxPlaces) {
      by_place.clear();
    }
    by_place[place] = content;
  }
};

uint64_t size_of_all(const Payload& payload) {
  uint64_t size = 0;
  for (uint32_t i = 1; i < count(payload.graph->constant_data()); ++i) {
    size += payload.graph->constant_data()->Get(i)->size();
  }
  return size;
}

}  // namespace

ConstantDigests::ConstantDigests(const Payload& payload, const Constants& constants,
                                 std::shared_ptr<PackedFile> file)
    : payload_(&payload),
      constants_(&constants),
      file_(std::move(file)),
      looks_up_(file_ != nullptr || size_of_all(payload) >= kMinPayloadLookup),
      known_(count(payload.graph->constant_data())) {}

const Digest& ConstantDigests::of(size_t index) {
  std::optional<Digest>& known = known_[index];
  if (!known) {
    const auto* entry = payload_->graph->constant_data()->Get(static_cast<uint32_t>(index));
    known = find(constants_->data(index), static_cast<size_t>(entry->size()));
  }
  return *known;
}

Digest ConstantDigests::find(const void* data, size_t size) {
  const auto content_digest = [&] {
    return file_ != nullptr ? digest_of(data, size, key_of_user()) : quick_digest_of(data, size);
  };
  if (!looks_up_ || size < kMinLookup) {
    return content_digest();
  }
  if (!mapped_) {
    mapped_.emplace();
  }
  const std::optional<Digest> place = mapped_->place_of(data, size);
  if (!place) {
    return content_digest();
  }
  KnownContents& process = KnownContents::of_process();
  const std::optional<Digest> in_file = file_ != nullptr ? file_->content_at(*place) : std::nullopt;
  std::optional<Digest> content = in_file ? in_file : process.find(*place);
  if (!content) {
    if (file_ == nullptr) {
      return *place;
    }
    content = content_digest();
  }
  process.add(*place, *content);
  if (file_ != nullptr && !in_file) {
    file_->add_content(*place, *content);
  }
  return *content;
}

}  // namespace executorch::backends::xnnpack
