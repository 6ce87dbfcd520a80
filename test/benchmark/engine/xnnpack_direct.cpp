// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// XNNPACK's operators called directly. engine_worker.py compares delegates of one operator with
// them.
#include <math.h>
#include <stddef.h>

#include <memory>

#include <pthreadpool.h>
#include <xnnpack.h>

namespace {

struct Operator {
  explicit Operator(size_t threads)
      : threads_(threads > 1 ? pthreadpool_create(threads) : nullptr) {}
  ~Operator() {
    xnn_delete_operator(operator_);
    pthreadpool_destroy(threads_);
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  xnn_operator_t operator_ = nullptr;
  pthreadpool_t threads_;
};

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Each function creates an operator; null if XNNPACK refuses it. Weights and arguments must outlive
// it.

/// weights: [columns, depth].
EXPORTED void* direct_linear(size_t rows, size_t depth, size_t columns, const float* weights,
                             const float* bias, const float* x, float* y, size_t threads) {
  auto op = std::make_unique<Operator>(threads);
  const bool is_ready =
      xnn_initialize(nullptr) == xnn_status_success &&
      xnn_create_fully_connected_nc_f32(depth, columns, depth, columns, weights, bias, -INFINITY,
                                        INFINITY, 0, nullptr, nullptr,
                                        &op->operator_) == xnn_status_success &&
      xnn_reshape_fully_connected_nc_f32(op->operator_, rows, op->threads_) == xnn_status_success &&
      xnn_setup_fully_connected_nc_f32(op->operator_, x, y) == xnn_status_success;
  return is_ready ? op.release() : nullptr;
}

/// Takes one channels-last image; the output has its size. weights: [channels, size, size].
EXPORTED void* direct_depthwise(size_t height, size_t width, size_t channels, size_t size,
                                const float* weights, const float* bias, const float* x, float* y,
                                size_t threads) {
  auto op = std::make_unique<Operator>(threads);
  const auto around = static_cast<uint32_t>(size / 2), taps = static_cast<uint32_t>(size);
  size_t workspace = 0, alignment = 0, out_height = 0, out_width = 0;
  const bool is_ready =
      xnn_initialize(nullptr) == xnn_status_success &&
      xnn_create_convolution2d_nhwc_f32(around, around, around, around, taps, taps, 1, 1, 1, 1,
                                        static_cast<uint32_t>(channels), 1, 1, channels, channels,
                                        weights, bias, -INFINITY, INFINITY, 0, nullptr, nullptr,
                                        &op->operator_) == xnn_status_success &&
      xnn_reshape_convolution2d_nhwc_f32(op->operator_, 1, height, width, &workspace, &alignment,
                                         &out_height, &out_width,
                                         op->threads_) == xnn_status_success &&
      workspace == 0 &&
      xnn_setup_convolution2d_nhwc_f32(op->operator_, nullptr, x, y) == xnn_status_success;
  return is_ready ? op.release() : nullptr;
}

EXPORTED bool direct_run(void* op) {
  auto& self = *static_cast<Operator*>(op);
  return xnn_run_operator(self.operator_, self.threads_) == xnn_status_success;
}
