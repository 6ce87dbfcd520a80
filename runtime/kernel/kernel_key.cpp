// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <string.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

bool TensorMeta::equals(const TensorMeta& other) const {
  return dtype_ == other.dtype_ && dim_order_.size() == other.dim_order_.size() &&
         (dim_order_.empty() ||
          memcmp(dim_order_.data(), other.dim_order_.data(),
                 dim_order_.size() * sizeof(executorch::aten::DimOrderType)) == 0);
}

bool KernelKey::equals(const KernelKey& other) const {
  return text_ == other.text_ ||
         (!is_fallback() && !other.is_fallback() && strcmp(text_, other.text_) == 0);
}

namespace internal {
namespace {

/// Appends to a text of limited size; drops what does not fit, and remembers that it did.
class Writer final {
 public:
  Writer(char* at, size_t room) : at_(at), room_(room) {}

  void put(char c) {
    if (room_ > 1) {  // one is for the NUL
      *at_++ = c;
      --room_;
    } else {
      fits_ = false;
    }
  }

  /// A number below 100.
  void put_number(unsigned number) {
    if (number >= 10) {
      put(static_cast<char>('0' + number / 10));
    }
    put(static_cast<char>('0' + number % 10));
  }

  /// Ends the text; false if something was dropped.
  bool finish() {
    if (room_ == 0) {
      return false;
    }
    *at_ = '\0';
    return fits_;
  }

 private:
  char* at_;
  size_t room_;
  bool fits_ = true;
};

}  // namespace

Error make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size) {
  Writer out(buf, buf_size);
  if (!key.empty()) {
    out.put('v');
    out.put('1');
  }
  char separator = '/';
  for (const TensorMeta& tensor : key) {
    ET_CHECK_OR_RETURN_ERROR(tensor.dim_order_.size() <= executorch::runtime::kTensorDimensionLimit,
                             InvalidArgument, "a kernel key for a tensor of rank %zu",
                             tensor.dim_order_.size());
    const unsigned dtype = static_cast<unsigned>(tensor.dtype_);
    ET_CHECK_OR_RETURN_ERROR(dtype < 100, InvalidArgument, "a kernel key for dtype number %u",
                             dtype);
    out.put(separator);
    separator = '|';
    out.put_number(dtype);
    char before_dim = ';';
    if (tensor.dim_order_.empty()) {
      out.put(before_dim);
    }
    for (const auto dim : tensor.dim_order_) {
      ET_CHECK_OR_RETURN_ERROR(dim < executorch::runtime::kTensorDimensionLimit, InvalidArgument,
                               "a kernel key for dimension %d", dim);
      out.put(before_dim);
      out.put_number(dim);
      before_dim = ',';
    }
  }
  ET_CHECK_OR_RETURN_ERROR(out.finish(), InvalidArgument,
                           "the key of %zu tensors does not fit %zu characters", key.size(),
                           buf_size);
  return Error::Ok;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
