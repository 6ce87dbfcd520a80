// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/value_loader.h>

#include <string.h>

#include <new>
#include <utility>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/executor/execute/parametric_plan.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
namespace et = executorch::aten;
using executorch::runtime::internal::are_equal;
using executorch::runtime::internal::as;
using executorch::runtime::internal::items;
using executorch::runtime::internal::list_items;
using executorch::runtime::internal::PlainTensorReader;
using executorch::runtime::internal::planned_offset;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorBytes;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::text;
using executorch::runtime::internal::value_at;
using executorch::runtime::internal::value_in;
using Kind = fb::KernelTypes;

namespace {

/// The program's value `source`, number `index` of its kind.
EValue value_of(const fb::EValue& source, const MethodBlock& block, size_t index) {
  switch (source.val_type()) {
    case Kind::Int:
      return EValue(as<fb::Int>(source).int_val());
    case Kind::Bool:
      return EValue(as<fb::Bool>(source).bool_val());
    case Kind::Double:
      return EValue(as<fb::Double>(source).double_val());
    case Kind::Tensor:
      return EValue(tensor_in(block.tensors[index]));
    case Kind::String:
      return EValue(&block.strings[index]);
    case Kind::IntList:
      return EValue(&block.int_lists[index]);
    case Kind::DoubleList:
      return EValue(&block.double_lists[index]);
    case Kind::BoolList:
      return EValue(&block.bool_lists[index]);
    case Kind::TensorList:
      return EValue(&block.tensor_lists[index]);
    case Kind::OptionalTensorList:
      return EValue(&block.optional_lists[index]);
    default:
      return EValue();
  }
}

}  // namespace

void point_values(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  size_t counts[static_cast<size_t>(Kind::MAX) + 1] = {};
  for (size_t i = 0; i < block.values.size(); ++i) {
    const fb::EValue& source = value_at(plan, i);
    block.values[i] = value_of(source, block, counts[static_cast<size_t>(source.val_type())]++);
  }
}

Error ValueLoader::load() {
  const auto* const values = plan_.values();
  for (used_.value = 0; used_.value < block_.values.size(); ++used_.value) {
    const fb::EValue& source = value_in(values, plan_, used_.value);
    const fb::Tensor* tensor = nullptr;
    size_t& used = used_.of_kind[static_cast<size_t>(source.val_type())];
    if (source.val_type() == Kind::Tensor) {
      tensor = &as<fb::Tensor>(source);
      PlainTensor plain;
      if (plain_.read(*tensor, &plain)) {
        source_ = plain.source();
        block_.flags[used_.value] |= flags_of(source_, plain.where != nullptr, false);
        ET_CHECK_OK_OR_RETURN_ERROR(load_plain(*tensor, plain));
      } else {
        source_ = tensor_source(*tensor);
        block_.flags[used_.value] |= flags_of(*tensor, source_);
        ET_CHECK_OK_OR_RETURN_ERROR(load_tensor(*tensor));
      }
    } else {
      load_list(source, used);
    }
    EValue& value = block_.values[used_.value];
    const bool is_input = (block_.flags[used_.value] & kInputValue) != 0;
    const auto number = static_cast<size_t>(is_input ? value.payload.copyable_union.as_int : 0);
    if (ET_SHORTCUTS && tensor != nullptr) {
      value = EValue(tensor_in(block_.tensors[used]));
    } else {
      value = value_of(source, block_, used);
    }
    ++used;
    if (is_input) {
      new (&block_.inputs[number])
          Input{&value,
                tensor,
                tensor == nullptr ? nullptr : value.toTensor().unsafeGetTensorImpl(),
                tensor == nullptr,
                false,
                nullptr};
    }
  }
  return Error::Ok;
}

ET_INLINE_UNLESS_SMALL Error ValueLoader::load_tensor(const fb::Tensor& tensor) {
  if (tensor.shape_dynamism() != fb::TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return load_bounded(tensor);
  }
  ET_CHECK_OR_RETURN_ERROR(&load_unbounded_tensor != nullptr, NotSupported,
                           "method '%s', tensor %zu: this build does not support unbounded tensors",
                           text(plan_.name()), used_.value);
  return load_unbounded_tensor(*this, tensor);
}

ET_INLINE_UNLESS_SMALL Result<void*> ValueLoader::bind_aligned(const fb::Tensor& tensor,
                                                               const fb::AllocationDetails* where,
                                                               TensorBytes bytes) {
  void* data = ET_UNWRAP(bind(tensor, where, bytes.all));
  ET_CHECK_OR_RETURN_ERROR((reinterpret_cast<uintptr_t>(data) & (bytes.element - 1)) == 0,
                           InvalidArgument,
                           "method '%s', tensor %zu: memory at %p, expected a multiple of its "
                           "elements' %zu bytes",
                           text(plan_.name()), used_.value, data, bytes.element);
  return data;
}

#ifdef USE_ATEN_LIB

using executorch::runtime::internal::bytes_of;

ET_INLINE_UNLESS_SMALL Error ValueLoader::load_plain(const fb::Tensor& tensor, const PlainTensor&) {
  return load_bounded(tensor);
}

Error ValueLoader::load_bounded(const fb::Tensor& tensor) {
  const TensorBytes bytes = bytes_of(tensor);
  void* data = ET_UNWRAP(bind_aligned(tensor, tensor.allocation_info(), bytes));
  const auto file_sizes = items(tensor.sizes());
  const size_t rank = file_sizes.size();
  int64_t sizes[kTensorDimensionLimit];
  int64_t strides[kTensorDimensionLimit];
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = file_sizes[i];
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      dim_order_to_stride(sizes, items(tensor.dim_order()).data(), rank, strides));
  *next_slot() = tensor_over_memory(static_cast<et::ScalarType>(tensor.scalar_type()),
                                    {sizes, rank}, {strides, rank}, data, bytes.all);
  return Error::Ok;
}

#else

namespace {

/// Returns true if the tensor has the type and shape of `other`, and neither is ever resized: both
/// may use the same arrays, which `other` found in the file.
inline bool is_alike(const PlainTensorReader::Fields& tensor, const et::TensorImpl& other) {
  return other.shape_dynamism() == TensorShapeDynamism::STATIC &&
         static_cast<et::ScalarType>(tensor.type) == other.scalar_type() &&
         are_equal(tensor.sizes, {other.sizes().data(), other.sizes().size()}) &&
         are_equal(tensor.order, {other.dim_order().data(), other.dim_order().size()});
}

}  // namespace

Error ValueLoader::load_bounded(const fb::Tensor& tensor) {
  et::TensorImpl* const slot = next_slot();
  make_tensor(tensor, slot);
  if (ET_SHORTCUTS) {
    made_ = slot;
  }
  bytes_ = {static_cast<size_t>(slot->element_size()), slot->nbytes()};
  slot->set_data(ET_UNWRAP(bind_aligned(tensor, tensor.allocation_info(), bytes_)));
  return Error::Ok;
}

ET_INLINE_UNLESS_SMALL Error ValueLoader::load_plain(const fb::Tensor& tensor,
                                                     const PlainTensor& plain) {
  et::TensorImpl* const slot = next_slot();
  if (made_ == nullptr || !is_alike(plain, *made_)) {
    return load_bounded(tensor);
  }
  // Reading slot[-1] instead would wait for its stores.
  new (slot) et::TensorImpl(*made_);
  slot->set_data(ET_UNWRAP(bind_aligned(tensor, plain.where, bytes_)));
  return Error::Ok;
}

ET_INLINE_UNLESS_SMALL void ValueLoader::make_tensor(const fb::Tensor& tensor, TensorSlot* slot) {
  const auto file_sizes = items(tensor.sizes());
  const auto file_order = items(tensor.dim_order());
  const size_t rank = file_sizes.size();
  // A static tensor never writes its sizes, and no tensor its dim order: point at those in the
  // file.
  auto* sizes = const_cast<et::SizesType*>(file_sizes.data());
  auto* dim_order = const_cast<et::DimOrderType*>(file_order.data());
  if (rank > 0 && tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC) {
    sizes = &block_.sizes[used_.sizes];
    used_.sizes += rank;
    memcpy(sizes, file_sizes.data(), rank * sizeof(*sizes));
  }
  et::StridesType* strides = rank == 0 ? nullptr : &block_.strides[used_.strides];
  used_.strides += rank;
  // They fit: the program has been verified.
  dim_order_to_stride_nocheck(sizes, dim_order, rank, strides);
  new (slot) et::TensorImpl(static_cast<et::ScalarType>(tensor.scalar_type()),
                            static_cast<ssize_t>(rank), sizes, nullptr, dim_order, strides,
                            static_cast<TensorShapeDynamism>(tensor.shape_dynamism()));
}

#endif  // USE_ATEN_LIB

ET_INLINE_UNLESS_SMALL Result<void*> ValueLoader::bind(const fb::Tensor& tensor,
                                                       const fb::AllocationDetails* where,
                                                       size_t nbytes) {
  switch (source_) {
    case TensorSource::None:
      return nullptr;
    case TensorSource::Planned:
      // A parametric plan places the tensor when the sizes of the inputs are known.
      if (!block_.plan_words.empty() && where->memory_id() == kParametricMemoryId) {
        return nullptr;
      }
      return bind_planned(*where, nbytes);
    case TensorSource::Constant:
      return bind_constant(tensor, nbytes);
    case TensorSource::Mutable:
      return bind_mutable(tensor, *where, nbytes);
    case TensorSource::External:
      break;
  }
  return bind_external(tensor, nbytes);
}

ET_INLINE_UNLESS_SMALL Result<void*> ValueLoader::bind_planned(const fb::AllocationDetails& where,
                                                               size_t nbytes) {
  ET_CHECK_OR_RETURN_ERROR(planned_memory_ != nullptr, MemoryAllocationFailed,
                           "method '%s', tensor %zu: planned memory is needed, none was given",
                           text(plan_.name()), used_.value);
  // The file counts buffers from 1.
  return ET_UNWRAP(
      planned_memory_->get_offset_address(where.memory_id() - 1, planned_offset(where), nbytes),
      "method '%s', tensor %zu: no %zu bytes in planned buffer %u", text(plan_.name()), used_.value,
      nbytes, where.memory_id() - 1);
}

inline Result<void*> ValueLoader::bind_constant(const fb::Tensor& tensor, size_t nbytes) {
  if (nbytes == 0) {
    return nullptr;
  }
  const void* data = ET_UNWRAP(program_.get_constant_buffer_data(tensor.data_buffer_idx(), nbytes));
  return const_cast<void*>(data);
}

inline Result<void*> ValueLoader::bind_mutable(const fb::Tensor& tensor,
                                               const fb::AllocationDetails& where, size_t nbytes) {
  void* memory = ET_UNWRAP(bind_planned(where, nbytes));
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  const auto segments =
      static_cast<uint32_t>(extra == nullptr ? 0 : extra->mutable_data_segments_idx());
  const fb::SubsegmentOffsets& offsets = *program_.program_->mutable_data_segments()->Get(segments);
  if (nbytes > 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(program_.load_segment_into(
        DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Mutable, offsets.segment_index()),
        items(offsets.offsets())[tensor.data_buffer_idx()], nbytes, memory));
  }
  return memory;
}

inline Error ValueLoader::check_layout(const fb::Tensor& tensor, const char* key) const {
  const TensorLayout layout =
      ET_UNWRAP(data_.get_tensor_layout(key),
                "method '%s', tensor %zu: no data named '%s' beside the program",
                text(plan_.name()), used_.value, key);
  const auto sizes = items(tensor.sizes());
  const auto order = items(tensor.dim_order());
  const bool same =
      static_cast<int>(layout.scalar_type()) == static_cast<int>(tensor.scalar_type()) &&
      layout.sizes().size() == sizes.size() &&
      (sizes.empty() ||
       (memcmp(layout.sizes().data(), sizes.data(), sizes.size() * sizeof(int32_t)) == 0 &&
        memcmp(layout.dim_order().data(), order.data(), order.size()) == 0));
  ET_CHECK_OR_RETURN_ERROR(same, InvalidExternalData,
                           "method '%s', tensor %zu: data '%s' is of scalar type %d, rank %zu, "
                           "expected type %d, rank %zu and the program's sizes and dim order",
                           text(plan_.name()), used_.value, key,
                           static_cast<int>(layout.scalar_type()), layout.sizes().size(),
                           static_cast<int>(tensor.scalar_type()), sizes.size());
  return Error::Ok;
}

inline Result<void*> ValueLoader::bind_external(const fb::Tensor& tensor, size_t nbytes) {
  const char* key = text(tensor.extra_tensor_info()->fully_qualified_name());
  ET_CHECK_OK_OR_RETURN_ERROR(check_layout(tensor, key));
  FreeableBuffer& external = *new (&block_.external[external_made_]) FreeableBuffer();
  ++external_made_;
  if (tensor.allocation_info() != nullptr) {
    void* memory = ET_UNWRAP(bind_planned(*tensor.allocation_info(), nbytes));
    ET_CHECK_OK_OR_RETURN_ERROR(data_.load_data_into(key, memory, nbytes));
    return memory;
  }
  external = ET_UNWRAP(data_.get_data(key));
  ET_CHECK_OR_RETURN_ERROR(external.size() >= nbytes, InvalidExternalData,
                           "method '%s', tensor %zu: data '%s' has %zu bytes, expected %zu",
                           text(plan_.name()), used_.value, key, external.size(), nbytes);
  return const_cast<void*>(ET_UNWRAP(external.data_safe()));
}

template <typename T>
EValue** ValueLoader::point_at(Span<const T> indices) {
  EValue** pointers = block_.pointers.data() + used_.pointers;
  for (size_t i = 0; i < indices.size(); ++i) {
    pointers[i] = indices[i] < 0 ? nullptr : &block_.values[static_cast<size_t>(indices[i])];
  }
  used_.pointers += indices.size();
  return pointers;
}

inline void ValueLoader::load_list(const fb::EValue& source, size_t index) {
  const auto list = list_items(source);
  switch (source.val_type()) {
    case Kind::String: {
      const flatbuffers::String& text = *as<fb::String>(source).string_val();
      new (&block_.strings[index]) et::ArrayRef<char>(text.c_str(), text.size());
      break;
    }
    case Kind::DoubleList:
      new (&block_.double_lists[index])
          et::ArrayRef<double>(reinterpret_cast<const double*>(list.data()), list.size());
      break;
    case Kind::BoolList:
      // Verified to be 0 and 1.
      new (&block_.bool_lists[index])
          et::ArrayRef<bool>(reinterpret_cast<const bool*>(list.data()), list.size());
      break;
    case Kind::IntList:
      new (&block_.int_lists[index]) BoxedEvalueList<int64_t>(
          point_at(list_items<int64_t>(source)), block_.int_items.data() + used_.int_items,
          static_cast<int>(list.size()));
      used_.int_items += list.size();
      break;
    case Kind::TensorList:
      new (&block_.tensor_lists[index]) BoxedEvalueList<et::Tensor>(
          point_at(list), block_.tensor_items.data() + used_.tensor_items,
          static_cast<int>(list.size()));
      used_.tensor_items += list.size();
      break;
    case Kind::OptionalTensorList:
      new (&block_.optional_lists[index]) BoxedEvalueList<std::optional<et::Tensor>>(
          point_at(list), block_.optional_items.data() + used_.optional_items,
          static_cast<int>(list.size()));
      used_.optional_items += list.size();
      break;
    default:
      break;
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
