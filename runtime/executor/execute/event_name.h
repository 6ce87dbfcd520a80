// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Name of the trace event of a kernel call.
#pragma once

#include <executorch/runtime/executor/plan/operator_text.h>
#include <executorch/runtime/executor/plan/plan_values.h>

namespace executorch::runtime::internal {

constexpr size_t kEventNameSize = kOperatorTextSize + 12;

/// Writes the event name of a call of operator `index`, for example "native_call_add.out" for
/// aten::add.out, or "native_call_" if the name does not fit. Runs for every traced call, so it
/// reads each character only once.
inline void write_event_name(const executorch_flatbuffer::ExecutionPlan& plan, size_t index,
                             char (&out)[kEventNameSize]) {
  constexpr char kPrefix[] = "native_call_";
  constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;
  memcpy(out, kPrefix, sizeof(kPrefix));
  const auto& op = *plan.operators()->Get(static_cast<uint32_t>(index));
  const std::string_view whole = text_view(op.name());
  const std::string_view overload = text_view(op.overload());
  const size_t colons = whole.find("::");
  const std::string_view name = colons == whole.npos ? whole : whole.substr(colons + 2);
  if (kPrefixSize + name.size() + overload.size() + 2 > kEventNameSize) {
    return;
  }
  char* end = out + kPrefixSize;
  memcpy(end, name.data(), name.size());
  end += name.size();
  if (!overload.empty()) {
    *end++ = '.';
    memcpy(end, overload.data(), overload.size());
    end += overload.size();
  }
  *end = 0;
}

}  // namespace executorch::runtime::internal
