// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/empty_tensor_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

namespace fb = executorch_flatbuffer;

/// A tensor and where it stands, for messages.
class Checker final {
 public:
  Checker(const fb::Program& program, const fb::ExecutionPlan& plan, const fb::Tensor& tensor,
          size_t index, VerifiedShape* shape)
      : program_(program), plan_(plan), tensor_(tensor), index_(index), shape_(*shape) {}

  Error check() {
    PlainTensorReader::Fields plain;
    if (shape_.plain.read(tensor_, &plain) && is_verified(plain.sizes, plain.order, plain.type)) {
      return check_data(plain.source(), plain.where);
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_kind());
    sizes_ = items(tensor_.sizes());
    order_ = items(tensor_.dim_order());
    if (!is_verified(sizes_, order_, tensor_.scalar_type())) {
      shape_.element_size = 0;
      ET_CHECK_OK_OR_RETURN_ERROR(check_dim_order());
      ET_CHECK_OK_OR_RETURN_ERROR(check_size());
    }
    return check_data(tensor_source(tensor_), tensor_.allocation_info());
  }

 private:
  bool is_verified(Span<const int32_t> sizes, Span<const uint8_t> order,
                   fb::ScalarType type) const {
    return shape_.element_size != 0 && shape_.type == type && are_equal(shape_.sizes, sizes) &&
           are_equal(shape_.order, order);
  }

  ET_INLINE_UNLESS_SMALL Error check_data(TensorSource source,
                                          const fb::AllocationDetails* where) const {
    switch (source) {
      case TensorSource::None:
        return Error::Ok;
      case TensorSource::Constant:
        return check_constant();
      case TensorSource::Mutable:
        ET_CHECK_OK_OR_RETURN_ERROR(check_mutable());
        break;
      case TensorSource::External:
        ET_CHECK_OK_OR_RETURN_ERROR(check_name());
        break;
      case TensorSource::Planned:
        break;
    }
    return where == nullptr ? Error::Ok : check_planned(*where);
  }

  Error check_kind() const {
    const fb::ExtraTensorInfo* extra = tensor_.extra_tensor_info();
    const bool strided = tensor_.storage_offset() == 0 && tensor_.layout() == 0;
    ET_CHECK_OR_RETURN_ERROR(strided, InvalidProgram,
                             "method '%s', tensor %zu: storage offset %d, layout %d, expected 0, 0",
                             text(plan_.name()), index_, tensor_.storage_offset(),
                             static_cast<int>(tensor_.layout()));
    const auto dynamism = static_cast<uint8_t>(tensor_.shape_dynamism());
    const auto location = extra == nullptr ? uint8_t{0} : static_cast<uint8_t>(extra->location());
    ET_CHECK_OR_RETURN_ERROR(dynamism <= 2 && location <= 1, InvalidProgram,
                             "method '%s', tensor %zu: shape dynamism %d, expected 0, 1 or 2; "
                             "location %d, expected 0 or 1",
                             text(plan_.name()), index_, dynamism, location);
    const auto device = extra == nullptr ? fb::DeviceType::CPU : extra->device_type();
    ET_CHECK_OR_RETURN_ERROR(device == fb::DeviceType::CPU, NotSupported,
                             "method '%s', tensor %zu: device type %d, expected CPU (0)",
                             text(plan_.name()), index_, static_cast<int>(device));
    return Error::Ok;
  }

  Error check_dim_order() const {
    const size_t rank = sizes_.size();
    ET_CHECK_OR_RETURN_ERROR(
        rank <= kTensorDimensionLimit && order_.size() == rank, InvalidProgram,
        "method '%s', tensor %zu: %zu sizes and %zu in the dim order, expected at most %zu of both",
        text(plan_.name()), index_, rank, order_.size(), kTensorDimensionLimit);
    uint32_t seen = 0;
    for (const uint8_t dim : order_) {
      ET_CHECK_OR_RETURN_ERROR(
          dim < rank && (seen >> dim & 1) == 0, InvalidProgram,
          "method '%s', tensor %zu: dim order of rank %zu has %u twice, or has "
          "no such dimension",
          text(plan_.name()), index_, rank, static_cast<unsigned>(dim));
      seen |= 1u << dim;
    }
    return Error::Ok;
  }

  /// Sets shape_.
  Error check_size() {
    const size_t element_size =
        elementSize(static_cast<etensor::ScalarType>(tensor_.scalar_type()));
    ET_CHECK_OR_RETURN_ERROR(element_size != 0, InvalidProgram,
                             "method '%s', tensor %zu: scalar type %d is none of the format's",
                             text(plan_.name()), index_, static_cast<int>(tensor_.scalar_type()));
    uint64_t stride = 1;
    bool is_empty = false;
    bool fits = true;
    for (size_t i = order_.size(); i-- > 0;) {
      const int32_t size = sizes_[order_[i]];
      // Strides are int32, so that the product of all sizes fits 64 bits.
      fits = fits && size >= 0 && stride <= INT32_MAX;
      is_empty = is_empty || size == 0;
      stride *= fits && size > 1 ? static_cast<uint32_t>(size) : 1;
    }
    uint64_t bytes = 0;
    const bool is_small =
        is_empty ? stride <= uint64_t{kEmptyTensorLimit}
                 : !mul_overflows(stride, uint64_t{element_size}, &bytes) && bytes <= SIZE_MAX / 2;
    ET_CHECK_OR_RETURN_ERROR(
        fits && is_small, InvalidProgram,
        "method '%s', tensor %zu of rank %zu: a size is negative, or the bytes "
        "or strides do not fit their types",
        text(plan_.name()), index_, order_.size());
    shape_.sizes = sizes_;
    shape_.order = order_;
    shape_.type = tensor_.scalar_type();
    shape_.element_size = element_size;
    shape_.nbytes = static_cast<size_t>(bytes);
    return Error::Ok;
  }

  /// True if [offset, offset + nbytes) lies in `size` bytes, aligned to the elements.
  ET_INLINE_UNLESS_SMALL Error check_range(uint64_t offset, uint64_t size, const char* what) const {
    uint64_t end = 0;
    ET_CHECK_OR_RETURN_ERROR(!add_overflows(offset, uint64_t{shape_.nbytes}, &end) && end <= size &&
                                 (offset & (shape_.element_size - 1)) == 0,
                             InvalidProgram,
                             "method '%s', tensor %zu: %zu bytes at offset %" PRIu64
                             " of %s, which has %" PRIu64 " bytes; elements have %zu",
                             text(plan_.name()), index_, shape_.nbytes, offset, what, size,
                             shape_.element_size);
    return Error::Ok;
  }

  ET_INLINE_UNLESS_SMALL Error check_planned(const fb::AllocationDetails& where) const {
    const auto sizes = items(plan_.non_const_buffer_sizes());
    // Buffer 0 is reserved.
    ET_CHECK_OR_RETURN_ERROR(where.memory_id() >= 1 && where.memory_id() < sizes.size(),
                             InvalidProgram,
                             "method '%s', tensor %zu: planned buffer %u of %zu, the first being 1",
                             text(plan_.name()), index_, where.memory_id(), sizes.size());
    return check_range(planned_offset(where), static_cast<uint64_t>(sizes[where.memory_id()]),
                       "its planned buffer");
  }

  Error check_constant() const {
    const fb::SubsegmentOffsets* constants = program_.constant_segment();
    if (constants != nullptr && count(constants->offsets()) > 0) {
      return check_subsegment(*constants, "the constant segment");
    }
    const uint32_t index = tensor_.data_buffer_idx();
    const size_t buffers = count(program_.constant_buffer());
    ET_CHECK_OR_RETURN_ERROR(index < buffers, InvalidProgram,
                             "method '%s', tensor %zu: constant %u of %zu", text(plan_.name()),
                             index_, index, buffers);
    const auto bytes = items(program_.constant_buffer()->Get(index)->storage());
    return check_range(0, bytes.size(), "its constant");
  }

  Error check_mutable() const {
    const fb::ExtraTensorInfo* extra = tensor_.extra_tensor_info();
    const uint64_t index = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
    const size_t segments = count(program_.mutable_data_segments());
    ET_CHECK_OR_RETURN_ERROR(index < segments, InvalidProgram,
                             "method '%s', tensor %zu: mutable data segment %" PRIu64 " of %zu",
                             text(plan_.name()), index_, index, segments);
    return check_subsegment(*program_.mutable_data_segments()->Get(static_cast<uint32_t>(index)),
                            "its mutable data segment");
  }

  Error check_subsegment(const fb::SubsegmentOffsets& subsegments, const char* what) const {
    const uint32_t index = tensor_.data_buffer_idx();
    const auto offsets = items(subsegments.offsets());
    ET_CHECK_OR_RETURN_ERROR(index < offsets.size(), InvalidProgram,
                             "method '%s', tensor %zu: entry %u of %zu in %s", text(plan_.name()),
                             index_, index, offsets.size(), what);
    const fb::DataSegment& segment = segment_at(program_, subsegments.segment_index());
    return check_range(offsets[index], segment.size(), what);
  }

  Error check_name() const {
    const auto* key = tensor_.extra_tensor_info()->fully_qualified_name();
    ET_CHECK_OR_RETURN_ERROR(key != nullptr && !key->empty(), InvalidProgram,
                             "method '%s', tensor %zu: external data without a name",
                             text(plan_.name()), index_);
    return Error::Ok;
  }

  const fb::Program& program_;
  const fb::ExecutionPlan& plan_;
  const fb::Tensor& tensor_;
  Span<const int32_t> sizes_;
  Span<const uint8_t> order_;
  size_t index_;
  VerifiedShape& shape_;
};

}  // namespace

Error verify_tensor(const fb::Program& program, const fb::ExecutionPlan& plan,
                    const fb::Tensor& tensor, size_t index, VerifiedShape* shape) {
  return Checker(program, plan, tensor, index, shape).check();
}

}  // namespace executorch::runtime::internal
