// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operator_times.h>

#include <string.h>

#include <map>
#include <string>
#include <vector>

#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::Result;

namespace {

template <typename T>
Result<std::vector<T>> read(xnn_runtime_t runtime, xnn_profile_info what, size_t count) {
  std::vector<T> values(count);
  size_t needed = 0;
  xnn_status status =
      xnn_get_runtime_profiling_info(runtime, what, count * sizeof(T), values.data(), &needed);
  if (status == xnn_status_out_of_memory) {
    values.resize(needed / sizeof(T));
    status = xnn_get_runtime_profiling_info(runtime, what, needed, values.data(), &needed);
  }
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, Internal,
                           "xnnpack: operators cannot be profiled: %s", status_text(status));
  return values;
}

et_timestamp_t ticks_of(uint64_t microseconds) {
  const et_tick_ratio_t ratio = runtime::pal_ticks_to_ns_multiplier();
  return microseconds * 1000 * ratio.denominator / ratio.numerator;
}

}  // namespace

Error report_operator_times(xnn_runtime_t runtime, et_timestamp_t begin,
                            ET_RUNTIME_NAMESPACE::EventTracer& tracer) {
  const std::vector<size_t> count =
      ET_UNWRAP(read<size_t>(runtime, xnn_profile_info_num_operators, 1));
  // Names follow each other, each with its NUL.
  const std::vector<char> names = ET_UNWRAP(read<char>(runtime, xnn_profile_info_operator_name, 0));
  const std::vector<uint64_t> times =
      ET_UNWRAP(read<uint64_t>(runtime, xnn_profile_info_operator_timing, count[0]));
  std::map<std::string, int> seen;
  const char* name = names.data();
  uint64_t elapsed = 0;
  for (const uint64_t time : times) {
    const std::string numbered = std::string(name) + " #" + std::to_string(++seen[name]);
    tracer.log_profiling_delegate(numbered.c_str(), ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId,
                                  begin + ticks_of(elapsed), begin + ticks_of(elapsed + time));
    elapsed += time;
    name += strlen(name) + 1;
  }
  return Error::Ok;
}

}  // namespace executorch::backends::xnnpack
