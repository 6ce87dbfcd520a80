// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/constants.h>

#include <inttypes.h>
#include <string.h>

#include <map>
#include <string_view>
#include <utility>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

/// The widest elements of constants: floats and 32-bit integers.
constexpr size_t kFloatAlignment = alignof(float);

bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kFloatAlignment == 0;
}

/// Copies to a multiple of kFloatAlignment. Operators may read as far beyond its end as beyond
/// others. Null if the memory of all delegates does not suffice.
std::shared_ptr<const FreeableBuffer> aligned_copy(const void* data, size_t size) {
  auto block = std::make_unique<DelegateBlock>();
  if (size > SIZE_MAX - kReadBeyond || !block->grow(size + kReadBeyond)) {
    return nullptr;
  }
  if (size > 0) {
    memcpy(block->data(), data, size);
  }
  memset(block->data() + size, 0, kReadBeyond);
  FreeableBuffer buffer(
      block->data(), size,
      [](void* owner, void*, size_t) { delete static_cast<DelegateBlock*>(owner); }, block.get());
  block.release();
  return std::make_shared<const FreeableBuffer>(std::move(buffer));
}

/// By constant: true if it is read exactly to its end. Packing reads rows of weights by words of
/// eight bytes.
std::vector<bool> read_exactly(const Payload& payload, const std::vector<bool>& packed) {
  constexpr uint64_t kWordBits = 64;
  std::vector<bool> exact = packed;
  for (uint32_t i = 0; i < runtime::internal::count(payload.graph->xvalues()); ++i) {
    const fb_xnnpack::TensorValue& tensor = tensor_of(*payload.graph->xvalues()->Get(i));
    const size_t rank = runtime::internal::count(tensor.dims());
    const uint64_t row = rank == 0 ? 1 : tensor.dims()->Get(static_cast<uint32_t>(rank - 1));
    if (row * bits_of(tensor.datatype()) % kWordBits != 0) {
      exact[tensor.constant_buffer_idx()] = false;
    }
  }
  return exact;
}

}  // namespace

/// Loads named data once for each name, and copies bytes once for each size.
class Constants::Loader final {
 public:
  using Memory = std::shared_ptr<const FreeableBuffer>;

  Loader(const Payload& payload, const ET_RUNTIME_NAMESPACE::NamedDataMap* names)
      : payload_(payload), names_(names) {}

  /// Sets the constant's data, and its memory if it was loaded.
  Error find(const fb_xnnpack::ConstantDataOffset& entry, const void** data, Memory* memory) {
    if (entry.offset() != kInNamedData) {
      *data = payload_.constants.data() + entry.offset();
    } else {
      *memory = ET_UNWRAP(load_named(entry));
      *data = (*memory)->data();
    }
    return Error::Ok;
  }

  /// Replaces the data by a copy if operators could not read it in place.
  /// @param is_exact The constant is read exactly to its end.
  /// @retval Error::MemoryAllocationFailed
  Error make_readable(const fb_xnnpack::ConstantDataOffset& entry, bool is_exact, const void** data,
                      Memory* memory) {
    const auto size = static_cast<size_t>(entry.size());
    const size_t behind =
        *memory != nullptr
            ? (*memory)->size() - size
            : payload_.constants.size() - static_cast<size_t>(entry.offset() + entry.size());
    // Payloads and data in a program lie at any byte, also at the end of a mapped file.
    const bool is_readable = is_exact || behind >= kReadBeyond || may_be_read_beyond(*data, size);
    if (!is_aligned(*data) || !is_readable) {
      Memory& copy = copies_[{*data, size}];
      copy = copy == nullptr ? aligned_copy(*data, size) : copy;
      ET_CHECK_OR_RETURN_ERROR(
          copy != nullptr, MemoryAllocationFailed,
          "xnnpack: no memory for a copy of a constant of %zu bytes; all delegates have %zu bytes, "
          "expected at most %zu",
          size, delegate_bytes().taken(), max_delegate_bytes());
      *memory = copy;
      *data = copy->data();
    }
    return Error::Ok;
  }

 private:
  Result<Memory> load_named(const fb_xnnpack::ConstantDataOffset& entry) {
    const char* key = entry.named_key()->c_str();
    Memory& memory = named_[entry.named_key()->string_view()];
    if (memory == nullptr) {
      ET_CHECK_OR_RETURN_ERROR(names_ != nullptr, NotFound,
                               "xnnpack: constant '%s' is named data, but the program has none",
                               key);
      Result<FreeableBuffer> data = names_->get_data(key);
      if (!data.ok()) {
        ET_LOG(Error, "xnnpack: loading constant '%s' failed: %s", key, to_string(data.error()));
        return data.error();
      }
      memory = std::make_shared<const FreeableBuffer>(std::move(*data));
    }
    ET_CHECK_OR_RETURN_ERROR(memory->size() >= entry.size(), InvalidExternalData,
                             "xnnpack: constant '%s' has %zu bytes, expected %" PRIu64, key,
                             memory->size(), entry.size());
    return memory;
  }

  const Payload& payload_;
  const ET_RUNTIME_NAMESPACE::NamedDataMap* names_;
  std::map<std::string_view, Memory> named_;
  std::map<std::pair<const void*, size_t>, Memory> copies_;
};

Result<Constants> Constants::load(const Payload& payload,
                                  const ET_RUNTIME_NAMESPACE::NamedDataMap* names,
                                  const std::vector<bool>& packed) {
  const auto* table = payload.graph->constant_data();
  const size_t total = runtime::internal::count(table);
  const std::vector<bool> exact = read_exactly(payload, packed);
  Constants constants;
  constants.pointers_.resize(total > 0 ? total : 1, nullptr);
  constants.loaded_.resize(total);
  Loader loader(payload, names);
  const auto entry = [table](size_t i) -> const fb_xnnpack::ConstantDataOffset& {
    return *table->Get(static_cast<uint32_t>(i));
  };
  // Limits of copies rely on the sizes that entries state: compare all with the data before
  // anything is copied.
  for (size_t i = 1; i < total; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        loader.find(entry(i), &constants.pointers_[i], &constants.loaded_[i]));
  }
  for (size_t i = 1; i < total; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        loader.make_readable(entry(i), exact[i], &constants.pointers_[i], &constants.loaded_[i]));
  }
  return constants;
}

}  // namespace executorch::backends::xnnpack
