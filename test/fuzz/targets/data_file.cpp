// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Data files (.ptd): loaded, and all of their entries read.
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include "fuzz/engine/features.h"
#include "fuzz/given/piece_loader.h"

using namespace executorch::fuzz;
using executorch::extension::FlatTensorDataMap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  const std::vector<uint8_t> file(data, data + size);
  PieceLoader loader({file.data(), file.size()});
  const auto map = FlatTensorDataMap::load(&loader);
  note_feature(static_cast<uint64_t>(map.error()));
  if (!map.ok()) {
    return 0;
  }
  const uint32_t keys = *map->get_num_keys();
  (void)map->get_key(keys);
  (void)map->get_data("a key that no file has");
  for (uint32_t i = 0; i < keys; ++i) {
    const auto key = map->get_key(i);
    const auto layout = map->get_tensor_layout(*key);
    note_feature(1000 + static_cast<uint64_t>(layout.error()));
    auto loaded = map->get_data(*key);
    if (loaded.ok()) {
      const auto* bytes = static_cast<const uint8_t*>(loaded->data());
      const std::vector<uint8_t> copy(bytes, bytes + loaded->size());
      note_feature(2000 + copy.size());
      loaded->Free();
    }
    constexpr size_t kMax = 1u << 20;
    for (const size_t wanted : {layout.ok() ? layout->nbytes() : 0, size_t{1}, size_t{0}}) {
      if (wanted <= kMax) {
        const std::unique_ptr<uint8_t[]> block(new uint8_t[wanted]);
        note_feature(3000 + static_cast<uint64_t>(map->load_data_into(*key, block.get(), wanted)));
      }
    }
  }
  return 0;
}
