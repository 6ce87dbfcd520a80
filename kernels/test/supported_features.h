// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Features of the kernels that the tests link.
#pragma once

namespace torch::executor::testing {

struct SupportedFeatures final {
#ifdef USE_ATEN_LIB
  bool is_aten = true;
#else
  bool is_aten = false;
#endif
  /// True if kernels resize a static output; otherwise wrong sizes are an error.
  bool output_resize = false;
  bool op_gelu_dtype_double = true;
  bool op_log_softmax_dtype_double = true;

  static SupportedFeatures* get() {
    static SupportedFeatures features;
    return &features;
  }
};

}  // namespace torch::executor::testing
