// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/constants.h>

#include <inttypes.h>

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
    if (entry.offset() != kInNamedData) {
      constants.pointers_[i] = payload.constants.data() + entry.offset();
      continue;
    }
    constants.loaded_[i] = ET_UNWRAP(load_named_constant(entry, names));
    constants.pointers_[i] = constants.loaded_[i].data();
  }
  return constants;
}

}  // namespace executorch::backends::xnnpack
