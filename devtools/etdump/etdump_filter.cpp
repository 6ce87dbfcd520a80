// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/etdump_filter.h>

#include <string.h>

#include <new>
#include <regex>
#include <string>

namespace executorch::etdump {

using ET_RUNTIME_NAMESPACE::DelegateDebugIntId;
using ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId;
using runtime::Error;
using runtime::Result;

namespace {

/// std::regex uses stack for each character: a name of 50,000 characters overflows it.
constexpr size_t kMaxNameBytes = 1024;

}  // namespace

struct ETDumpFilter::Pattern {
  std::regex regex;
};

ETDumpFilter::ETDumpFilter() = default;
ETDumpFilter::~ETDumpFilter() = default;

Result<bool> ETDumpFilter::add_regex(std::string_view pattern) {
  // std::regex reports errors only by exceptions; catch them all here.
  try {
    auto compiled = std::make_unique<Pattern>();
    compiled->regex.assign(pattern.begin(), pattern.end());
    patterns_.push_back(std::move(compiled));
    return true;
  } catch (const std::regex_error& error) {
    ET_LOG(Error, "'%.*s' is not a valid regular expression: %s", static_cast<int>(pattern.size()),
           pattern.data(), error.what());
    return Error::InvalidArgument;
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "cannot allocate a regular expression of %zu characters", pattern.size());
    return Error::MemoryAllocationFailed;
  }
}

Result<bool> ETDumpFilter::set_debug_handle_range(size_t start, size_t end) {
  ET_CHECK_OR_RETURN_ERROR(start < end, InvalidArgument, "the range [%zu, %zu) is empty", start,
                           end);
  range_start_ = start;
  range_end_ = end;
  return true;
}

Result<bool> ETDumpFilter::filter(const char* name, DelegateDebugIntId delegate_debug_index) {
  ET_CHECK_OR_RETURN_ERROR((name == nullptr) != (delegate_debug_index == kUnsetDelegateDebugIntId),
                           InvalidArgument,
                           "an intermediate output requires exactly one of name and number");
  if (name == nullptr) {
    const auto index = static_cast<size_t>(delegate_debug_index);
    return range_end_ == 0 || (index >= range_start_ && index < range_end_);
  }
  ET_CHECK_OR_RETURN_ERROR(patterns_.empty() || strnlen(name, kMaxNameBytes + 1) <= kMaxNameBytes,
                           NotSupported, "an operator's name of more than %zu bytes",
                           kMaxNameBytes);
  // Matching a complicated pattern may run out of memory.
  try {
    for (const auto& pattern : patterns_) {
      if (std::regex_match(name, pattern->regex)) {
        return true;
      }
    }
    return patterns_.empty();
  } catch (const std::exception& error) {
    ET_LOG(Error, "'%s' cannot be matched: %s", name, error.what());
    return Error::MemoryAllocationFailed;
  }
}

size_t ETDumpFilter::get_n_regex() const { return patterns_.size(); }

}  // namespace executorch::etdump
