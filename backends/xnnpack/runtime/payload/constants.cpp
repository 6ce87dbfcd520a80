// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/constants.h>

#include <inttypes.h>
#include <string.h>

#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

Result<FreeableBuffer> load_named_constant(const fb_xnnpack::ConstantDataOffset& entry,
                                           const ET_RUNTIME_NAMESPACE::NamedDataMap* names) {
  const char* key = entry.named_key()->c_str();
  ET_CHECK_OR_RETURN_ERROR(names != nullptr, NotFound,
                           "xnnpack: constant '%s' is named data, but the program has none", key);
  Result<FreeableBuffer> data = names->get_data(key);
  if (!data.ok()) {
    ET_LOG(Error, "xnnpack: loading constant '%s' failed: %s", key, to_string(data.error()));
    return data.error();
  }
  ET_CHECK_OR_RETURN_ERROR(data->size() >= entry.size(), InvalidExternalData,
                           "xnnpack: constant '%s' has %zu bytes, expected %" PRIu64, key,
                           data->size(), entry.size());
  return data;
}

/// The widest elements of constants: floats and 32-bit integers.
constexpr size_t kAlignment = alignof(float);
using Word = uint32_t;
static_assert(alignof(Word) == kAlignment);

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

/// Copies to a multiple of kAlignment. Operators may read as far beyond its end as beyond others.
FreeableBuffer aligned_copy(const void* data, size_t size) {
  auto* const copy = new Word[(size + kReadBeyond) / sizeof(Word) + 1]();
  if (size > 0) {
    memcpy(copy, data, size);
  }
  return FreeableBuffer(copy, size,
                        [](void*, void* words, size_t) { delete[] static_cast<Word*>(words); });
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

Result<Constants> Constants::load(const Payload& payload,
                                  const ET_RUNTIME_NAMESPACE::NamedDataMap* names,
                                  const std::vector<bool>& packed) {
  const auto* table = payload.graph->constant_data();
  const size_t total = runtime::internal::count(table);
  const std::vector<bool> exact = read_exactly(payload, packed);
  Constants constants;
  constants.pointers_.resize(total > 0 ? total : 1, nullptr);
  constants.loaded_.resize(total);
  for (size_t i = 1; i < total; ++i) {
    const fb_xnnpack::ConstantDataOffset& entry = *table->Get(static_cast<uint32_t>(i));
    FreeableBuffer& loaded = constants.loaded_[i];
    size_t behind = 0;
    if (entry.offset() != kInNamedData) {
      constants.pointers_[i] = payload.constants.data() + entry.offset();
      behind = payload.constants.size() - static_cast<size_t>(entry.offset() + entry.size());
    } else {
      loaded = ET_UNWRAP(load_named_constant(entry, names));
      constants.pointers_[i] = loaded.data();
      behind = loaded.size() - static_cast<size_t>(entry.size());
    }
    // Payloads and data in a program may begin at any byte, and may end at the end of a mapped
    // file.
    const bool is_readable =
        exact[i] || behind >= kReadBeyond ||
        may_be_read_beyond(constants.pointers_[i], static_cast<size_t>(entry.size()));
    if (!is_aligned(constants.pointers_[i]) || !is_readable) {
      loaded = aligned_copy(constants.pointers_[i], static_cast<size_t>(entry.size()));
      constants.pointers_[i] = loaded.data();
    }
  }
  return constants;
}

}  // namespace executorch::backends::xnnpack
