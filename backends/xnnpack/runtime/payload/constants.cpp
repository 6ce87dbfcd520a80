// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/constants.h>

#include <inttypes.h>
#include <string.h>

#include <executorch/backends/xnnpack/runtime/operators/operator.h>
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

/// A copy at a multiple of kAlignment. Operators may read as far beyond its end as beyond others'.
FreeableBuffer aligned_copy(const void* data, size_t size) {
  auto* const copy = new Word[(size + kReadBeyond) / sizeof(Word) + 1]();
  if (size > 0) {
    memcpy(copy, data, size);
  }
  return FreeableBuffer(copy, size,
                        [](void*, void* words, size_t) { delete[] static_cast<Word*>(words); });
}

}  // namespace

Result<Constants> Constants::load(const Payload& payload,
                                  const ET_RUNTIME_NAMESPACE::NamedDataMap* names) {
  const auto* table = payload.graph->constant_data();
  const size_t total = runtime::internal::count(table);
  Constants constants;
  constants.pointers_.resize(total > 0 ? total : 1, nullptr);
  constants.loaded_.resize(total);
  for (size_t i = 1; i < total; ++i) {
    const fb_xnnpack::ConstantDataOffset& entry = *table->Get(static_cast<uint32_t>(i));
    FreeableBuffer& loaded = constants.loaded_[i];
    if (entry.offset() != kInNamedData) {
      constants.pointers_[i] = payload.constants.data() + entry.offset();
    } else {
      loaded = ET_UNWRAP(load_named_constant(entry, names));
      constants.pointers_[i] = loaded.data();
    }
    // Payloads and data in a program lie at any byte.
    if (!is_aligned(constants.pointers_[i])) {
      loaded = aligned_copy(constants.pointers_[i], static_cast<size_t>(entry.size()));
      constants.pointers_[i] = loaded.data();
    }
  }
  return constants;
}

}  // namespace executorch::backends::xnnpack
