// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// For pybind11 modules of users: data loaders of their own, which load programs in Python.
#pragma once

#include <stddef.h>

#include <memory>
#include <utility>

#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension::pybindings {

/// Passes calls on to a loader that others own as well.
class SharedPtrDataLoader final : public runtime::DataLoader {
 public:
  explicit SharedPtrDataLoader(std::shared_ptr<runtime::DataLoader> loader)
      : loader_(std::move(loader)) {}

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                const SegmentInfo& info) const override {
    return loader_->load(offset, size, info);
  }
  runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                           void* buffer) const override {
    return loader_->load_into(offset, size, info, buffer);
  }
  runtime::Result<size_t> size() const override { return loader_->size(); }

 private:
  std::shared_ptr<runtime::DataLoader> loader_;
};

/// The value of Python's `executorch.extension.pybindings.data_loader.PyDataLoader`. Import that
/// module, then return a std::shared_ptr<PyDataLoader>, which is the holder type. The loader
/// lives as long as the program. Its functions are called without the GIL, by several threads at
/// once, and any thread may destroy it, also without the GIL.
class PyDataLoader final {
 public:
  explicit PyDataLoader(std::shared_ptr<runtime::DataLoader> loader) : loader_(std::move(loader)) {}

  PyDataLoader(PyDataLoader&&) = default;
  PyDataLoader& operator=(PyDataLoader&&) = default;
  PyDataLoader(const PyDataLoader&) = delete;
  PyDataLoader& operator=(const PyDataLoader&) = delete;

  /// Null after a move.
  std::shared_ptr<runtime::DataLoader> get() const { return loader_; }

  /// Returns a loader that passes calls on to the shared one. `get()` must not be null.
  std::unique_ptr<runtime::DataLoader> make_delegating_loader() const {
    return std::make_unique<SharedPtrDataLoader>(loader_);
  }

 private:
  std::shared_ptr<runtime::DataLoader> loader_;
};

}  // namespace executorch::extension::pybindings
