// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A user's pybind11 module: loaders that count their calls, over bytes that XOR hides.
#include <pybind11/pybind11.h>

#include <executorch/extension/pybindings/pybindings_data_loader.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using executorch::extension::pybindings::PyDataLoader;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

std::atomic<int> loaders{0};

class HiddenBytes final : public DataLoader {
 public:
  explicit HiddenBytes(std::string bytes) : bytes_(std::move(bytes)) { ++loaders; }
  ~HiddenBytes() override { --loaders; }

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    void* const memory = std::aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    const Error error = load_into(offset, size, info, memory);
    if (error != Error::Ok) {
      std::free(memory);
      return error;
    }
    return FreeableBuffer(memory, size, [](void*, void* data, size_t) { std::free(data); });
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return Error::InvalidArgument;
    for (size_t i = 0; i < size; ++i) {
      static_cast<char*>(buffer)[i] = static_cast<char>(bytes_[offset + i] ^ 0x5A);
    }
    return Error::Ok;
  }
  Result<size_t> size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
};

std::shared_ptr<PyDataLoader> make(const pybind11::bytes& bytes) {
  return std::make_shared<PyDataLoader>(std::make_shared<HiddenBytes>(bytes));
}

}  // namespace

PYBIND11_MODULE(memory_loader, module) {
  pybind11::module_::import("executorch.extension.pybindings.data_loader");
  module.def("make", make);
  module.def("make_empty", [] { return std::make_shared<PyDataLoader>(nullptr); });
  module.def("loaders", [] { return loaders.load(); });
}
