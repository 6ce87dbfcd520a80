// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension::pybindings {

/// Counts the bytes that loaders of one model have read, and reports them.
class LoadProgress final {
 public:
  /// `report(read, total)` returns whether loading continues. It is called in the thread that
  /// created this object, and must not throw.
  explicit LoadProgress(std::function<bool(size_t, size_t)> report) : report_(std::move(report)) {}

  void expect(size_t bytes) { total_ += bytes; }
  /// Returns whether loading continues.
  bool add(size_t bytes) {
    read_ = std::min(read_ + bytes, total_.load());
    if (std::this_thread::get_id() == thread_ && continues_) continues_ = report_(read_, total_);
    return continues_;
  }
  void finish() { add(total_); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::function<bool(size_t, size_t)> report_;
  std::atomic<size_t> read_{0}, total_{0};
  std::atomic<bool> continues_{true};
};

/// Passes on another loader's data and records its progress.
class ProgressLoader final : public runtime::DataLoader {
 public:
  ProgressLoader(std::unique_ptr<runtime::DataLoader> loader,
                 std::shared_ptr<LoadProgress> progress)
      : loader_(std::move(loader)), progress_(std::move(progress)) {
    const auto bytes = loader_->size();
    if (bytes.ok()) progress_->expect(*bytes);
  }

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                const SegmentInfo& info) const override {
    if (!progress_->add(size)) return runtime::Error::AccessFailed;
    return loader_->load(offset, size, info);
  }
  runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                           void* buffer) const override {
    if (!progress_->add(size)) return runtime::Error::AccessFailed;
    return loader_->load_into(offset, size, info, buffer);
  }
  runtime::Result<size_t> size() const override { return loader_->size(); }

 private:
  const std::unique_ptr<runtime::DataLoader> loader_;
  const std::shared_ptr<LoadProgress> progress_;
};

}  // namespace executorch::extension::pybindings
