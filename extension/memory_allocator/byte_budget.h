// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Counts of the memory that the parts of a process share.
#pragma once

#include <stddef.h>

#include <atomic>
#include <utility>

namespace executorch::extension {

/// Bytes that the process has taken for one purpose. A request beyond its limit changes nothing, so
/// it cannot make another thread's request fail.
class ByteBudget final {
 public:
  constexpr ByteBudget() = default;
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  /// Takes `size` bytes. False, without effect, if more than `limit` bytes would be taken.
  [[nodiscard]] bool take(size_t size, size_t limit) {
    size_t taken = taken_.load();
    do {
      if (taken > limit || size > limit - taken) {
        return false;
      }
    } while (!taken_.compare_exchange_weak(taken, taken + size));
    return true;
  }
  /// Takes bytes that are in use already, whatever the limit.
  void add(size_t size) { taken_.fetch_add(size); }
  void give_back(size_t size) { taken_.fetch_sub(size); }
  size_t taken() const { return taken_.load(); }

 private:
  std::atomic<size_t> taken_{0};
};

/// Bytes of a budget, which must outlive this object; its end gives them back.
class TakenBytes final {
 public:
  explicit TakenBytes(ByteBudget& budget) : budget_(&budget) {}
  TakenBytes(TakenBytes&& other) noexcept : budget_(other.budget_), size_(other.release()) {}
  TakenBytes& operator=(TakenBytes&& other) noexcept {
    if (this != &other) {
      resize(0);
      budget_ = other.budget_;
      size_ = other.release();
    }
    return *this;
  }
  ~TakenBytes() { resize(0); }

  size_t size() const { return size_; }
  /// Takes `more` bytes. False, without effect, if the budget would exceed `limit`.
  [[nodiscard]] bool take(size_t more, size_t limit) {
    if (!budget_->take(more, limit)) {
      return false;
    }
    size_ += more;
    return true;
  }
  /// Changes the bytes to those that are in use, whatever the limit.
  void resize(size_t size) {
    if (size < size_) {
      budget_->give_back(size_ - size);
    } else {
      budget_->add(size - size_);
    }
    size_ = size;
  }
  /// Leaves the bytes to the caller, who gives them back to the budget.
  size_t release() { return std::exchange(size_, 0); }

 private:
  ByteBudget* budget_;
  size_t size_ = 0;
};

}  // namespace executorch::extension
