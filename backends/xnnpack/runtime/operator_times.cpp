// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operator_times.h>

#include <string.h>

#include <executorch/backends/xnnpack/runtime/operator_labels.h>
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

/// Names follow each other, each with its NUL.
Result<std::vector<std::string>> names_of(xnn_runtime_t runtime, size_t count) {
  const std::vector<char> text = ET_UNWRAP(read<char>(runtime, xnn_profile_info_operator_name, 0));
  std::vector<std::string> names;
  for (size_t at = 0; names.size() < count && at < text.size(); at += names.back().size() + 1) {
    names.emplace_back(text.data() + at, strnlen(text.data() + at, text.size() - at));
  }
  return names;
}

}  // namespace

Error OperatorTimes::report(xnn_runtime_t runtime, const fb_xnnpack::XNNGraph& graph,
                            et_timestamp_t begin, ET_RUNTIME_NAMESPACE::EventTracer& tracer) {
  if (labels_.empty()) {
    const std::vector<size_t> count =
        ET_UNWRAP(read<size_t>(runtime, xnn_profile_info_num_operators, 1));
    labels_ = operator_labels(ET_UNWRAP(names_of(runtime, count[0])), graph);
  }
  const std::vector<uint64_t> microseconds =
      ET_UNWRAP(read<uint64_t>(runtime, xnn_profile_info_operator_timing, labels_.size()));
  uint64_t elapsed = 0;
  for (size_t i = 0; i < labels_.size() && i < microseconds.size(); ++i) {
    const uint64_t time = microseconds[i];
    tracer.log_profiling_delegate(labels_[i].c_str(),
                                  ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId,
                                  begin + ticks_of(elapsed), begin + ticks_of(elapsed + time));
    elapsed += time;
  }
  return Error::Ok;
}

}  // namespace executorch::backends::xnnpack
