// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/prim_ops/tensor_ops.h>

#include <string.h>

#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>
#include <executorch/runtime/core/overflow.h>

namespace executorch::kernels::prim_ops {

using aten::ArrayRef;
using aten::SizesType;
using aten::Tensor;
using ET_RUNTIME_NAMESPACE::internal::ArgKinds;
using ET_RUNTIME_NAMESPACE::internal::check_arguments;
using ET_RUNTIME_NAMESPACE::internal::kinds_of;
using runtime::Error;
using runtime::EValue;
using runtime::KernelRuntimeContext;
using runtime::kTensorDimensionLimit;
using runtime::Span;
using runtime::Tag;

namespace {

constexpr ArgKinds kTensor = kinds_of(Tag::Tensor);
constexpr ArgKinds kInt = kinds_of(Tag::Int);

}  // namespace

Error check_sym_size(Span<EValue* const> args) {
  static constexpr ArgKinds kKinds[] = {kTensor, kInt, kInt};
  return check_arguments(args, Span<const ArgKinds>(kKinds));
}

namespace {

/// Returns the item of `list`, which has one for each dimension, for the dimension in the second
/// argument.
template <typename List>
void give_item(KernelRuntimeContext& context, Span<EValue*> args, const List& list) {
  const int64_t rank = args[0]->toTensor().dim(), given = args[1]->toInt();
  const int64_t dim = given < 0 ? given + rank : given;
  ET_KERNEL_CHECK_MSG(context, dim >= 0 && dim < rank, InvalidArgument, ,
                      "dim %" PRId64 " of a tensor of rank %" PRId64, given, rank);
  *args[2] = EValue(static_cast<int64_t>(list[static_cast<size_t>(dim)]));
}

}  // namespace

void sym_size(KernelRuntimeContext& context, Span<EValue*> args) {
  give_item(context, args, args[0]->toTensor().sizes());
}

void sym_stride(KernelRuntimeContext& context, Span<EValue*> args) {
  give_item(context, args, args[0]->toTensor().strides());
}

void sym_storage_offset(KernelRuntimeContext&, Span<EValue*> args) {
  *args[1] = EValue(int64_t{0});
}

Error check_sym_numel(Span<EValue* const> args) {
  static constexpr ArgKinds kKinds[] = {kTensor, kInt};
  return check_arguments(args, Span<const ArgKinds>(kKinds));
}

void sym_numel(KernelRuntimeContext&, Span<EValue*> args) {
  *args[1] = EValue(static_cast<int64_t>(args[0]->toTensor().numel()));
}

namespace {

template <typename T>
T only_element(const Tensor& self) {
  return *self.const_data_ptr<T>();
}

/// The only element as an int, float or bool; None for other dtypes.
EValue number_of(const Tensor& self) {
  switch (self.scalar_type()) {
    case aten::ScalarType::Bool:
      // Any byte is a bool, which C++ does not allow in a bool's memory.
      return EValue(*static_cast<const uint8_t*>(self.const_data_ptr()) != 0);
    case aten::ScalarType::Byte:
      return EValue(static_cast<int64_t>(only_element<uint8_t>(self)));
    case aten::ScalarType::Char:
      return EValue(static_cast<int64_t>(only_element<int8_t>(self)));
    case aten::ScalarType::Short:
      return EValue(static_cast<int64_t>(only_element<int16_t>(self)));
    case aten::ScalarType::Int:
      return EValue(static_cast<int64_t>(only_element<int32_t>(self)));
    case aten::ScalarType::Long:
      return EValue(only_element<int64_t>(self));
    case aten::ScalarType::Half:
      return EValue(static_cast<double>(static_cast<float>(only_element<aten::Half>(self))));
    case aten::ScalarType::BFloat16:
      return EValue(static_cast<double>(static_cast<float>(only_element<aten::BFloat16>(self))));
    case aten::ScalarType::Float:
      return EValue(static_cast<double>(only_element<float>(self)));
    case aten::ScalarType::Double:
      return EValue(only_element<double>(self));
    default:
      return EValue();
  }
}

}  // namespace

Error check_local_scalar_dense(Span<EValue* const> args) {
  static constexpr ArgKinds kKinds[] = {kTensor, kinds_of(Tag::Int, Tag::Double, Tag::Bool)};
  return check_arguments(args, Span<const ArgKinds>(kKinds));
}

void local_scalar_dense(KernelRuntimeContext& context, Span<EValue*> args) {
  const Tensor& self = args[0]->toTensor();
  ET_KERNEL_CHECK_MSG(context, self.numel() == 1, InvalidArgument, ,
                      "%zd elements, expected one to make a number of",
                      static_cast<ssize_t>(self.numel()));
  const EValue number = number_of(self);
  // Values never change their kind: users of this one were checked against it.
  ET_KERNEL_CHECK_MSG(context, number.tag == args[1]->tag, InvalidArgument, ,
                      "a tensor of dtype %d makes no value of tag %u",
                      static_cast<int>(self.scalar_type()), static_cast<unsigned>(args[1]->tag));
  *args[1] = number;
}

void et_copy_index(KernelRuntimeContext& context, Tensor& self, const Tensor& from, int64_t index) {
  ET_KERNEL_CHECK(context, runtime::tensors_have_same_dtype(self, from), InvalidArgument, );
  const bool ranks_match = self.dim() == from.dim() + 1;
  ET_KERNEL_CHECK_MSG(context, ranks_match && index >= 0 && index < INT32_MAX, InvalidArgument, ,
                      "index %" PRId64 ", a tensor of rank %zd for an item of one of rank %zd",
                      index, static_cast<ssize_t>(from.dim()), static_cast<ssize_t>(self.dim()));
  SizesType sizes[kTensorDimensionLimit];
  const bool grows = runtime::may_resize(self);
  sizes[0] = grows ? static_cast<SizesType>(index + 1) : self.sizes()[0];
  bool items_match = index < sizes[0];
  for (size_t i = 0; i < from.sizes().size(); ++i) {
    sizes[i + 1] = from.sizes()[i];
    items_match = items_match && (grows || self.sizes()[i + 1] == from.sizes()[i]);
  }
  ET_KERNEL_CHECK_MSG(context, items_match, InvalidArgument, ,
                      "index %" PRId64 " of %d items, or the items are of other sizes", index,
                      static_cast<int>(sizes[0]));
  ET_KERNEL_CHECK(context, runtime::tensor_is_default_dim_order(self), InvalidArgument, );
  ET_KERNEL_CHECK(context, runtime::tensor_is_default_dim_order(from), InvalidArgument, );
  const Error error =
      runtime::resize_tensor(self, ArrayRef<SizesType>(sizes, static_cast<size_t>(self.dim())));
  if (error != Error::Ok) {
    return context.fail(error);
  }
  const size_t bytes = from.nbytes();
  if (bytes > 0) {
    memmove(static_cast<uint8_t*>(self.mutable_data_ptr()) + static_cast<size_t>(index) * bytes,
            from.const_data_ptr(), bytes);
  }
}

namespace {

/// Writes the sizes of a view of a tensor of `numel` elements, -1 replaced. False if none are
/// possible.
bool infer_sizes(ArrayRef<int64_t> size, int64_t numel, SizesType* out) {
  int64_t known = 1;
  size_t inferred = size.size();
  for (size_t i = 0; i < size.size(); ++i) {
    const bool infer = size[i] == -1;
    if ((infer && inferred != size.size()) || size[i] < -1 || size[i] > INT32_MAX ||
        (!infer && runtime::mul_overflows(known, size[i], &known))) {
      return false;
    }
    inferred = infer ? i : inferred;
    out[i] = static_cast<SizesType>(size[i]);
  }
  if (inferred == size.size()) {
    return known == numel;
  }
  if (known == 0 || numel % known != 0 || numel / known > INT32_MAX) {
    return false;
  }
  out[inferred] = static_cast<SizesType>(numel / known);
  return true;
}

}  // namespace

Tensor& et_view(KernelRuntimeContext& context, const Tensor& self, ArrayRef<int64_t> size,
                Tensor& out) {
  ET_KERNEL_CHECK(context, runtime::tensors_have_same_dtype(self, out), InvalidArgument, out);
  ET_KERNEL_CHECK(context, runtime::tensor_is_default_dim_order(self), InvalidArgument, out);
  ET_KERNEL_CHECK(context, runtime::tensor_is_default_dim_order(out), InvalidArgument, out);
  const bool stays = !ET_RUNTIME_NAMESPACE::internal::has_growing_memory(self);
  ET_KERNEL_CHECK_MSG(context, stays, NotSupported, out,
                      "a view of a tensor without bound, whose memory may move");
  SizesType sizes[kTensorDimensionLimit];
  const bool possible =
      size.size() <= kTensorDimensionLimit && infer_sizes(size, self.numel(), sizes);
  ET_KERNEL_CHECK_MSG(context, possible, InvalidArgument, out,
                      "%zd elements cannot be viewed in these %zu sizes",
                      static_cast<ssize_t>(self.numel()), size.size());
  const Error error = ET_RUNTIME_NAMESPACE::internal::rebind_tensor(
      out, ArrayRef<SizesType>(sizes, size.size()), self.mutable_data_ptr());
  if (error != Error::Ok) {
    context.fail(error);
  }
  return out;
}

}  // namespace executorch::kernels::prim_ops
