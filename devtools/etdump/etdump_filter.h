// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/result.h>

namespace executorch::etdump {

/// Chooses the delegates' intermediate outputs that an ETDumpGen records: by name, with regular
/// expressions, or by number, with a range.
class ETDumpFilter final : public ET_RUNTIME_NAMESPACE::EventTracerFilterBase {
 public:
  ETDumpFilter();
  ~ETDumpFilter() override;
  ETDumpFilter(const ETDumpFilter&) = delete;
  ETDumpFilter& operator=(const ETDumpFilter&) = delete;

  /// Adds a std::regex pattern that must match a whole name; returns true.
  /// @retval Error::InvalidArgument The pattern is not a valid regular expression.
  /// @retval Error::MemoryAllocationFailed The pattern cannot be allocated.
  runtime::Result<bool> add_regex(std::string_view pattern);

  /// Sets the range [start, end) of numbers, replacing an earlier one; returns true.
  /// @retval Error::InvalidArgument The range is empty.
  runtime::Result<bool> set_debug_handle_range(size_t start, size_t end);

  /// Returns true if a pattern matches `name`, or the range contains `delegate_debug_index`.
  /// Without patterns every name matches; without a range, every number.
  /// @retval Error::InvalidArgument Not exactly one of the two arguments is given.
  /// @retval Error::NotSupported There are patterns, and the name has more than 1024 bytes.
  runtime::Result<bool> filter(
      const char* name, ET_RUNTIME_NAMESPACE::DelegateDebugIntId delegate_debug_index) override;

  size_t get_n_regex() const;

 private:
  struct Pattern;

  std::vector<std::unique_ptr<Pattern>> patterns_;
  size_t range_start_ = 0;
  size_t range_end_ = 0;
};

}  // namespace executorch::etdump
