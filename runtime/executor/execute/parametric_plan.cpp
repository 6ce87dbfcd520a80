// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The words of a plan: version, number of steps, number of tensors, the step whose result is the
// buffer's size; then the steps (operation, a, b); then the tensors (value, step of its offset,
// number of sizes, the steps of these).
#include <executorch/runtime/executor/execute/parametric_plan.h>

#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/load/alias_model.h>
#include <executorch/runtime/executor/load/value_loader.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
namespace et = executorch::aten;
using executorch::runtime::internal::count;
using executorch::runtime::internal::items;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::text;
using executorch::runtime::internal::text_view;
using executorch::runtime::internal::value_count;

namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 4;
constexpr size_t kStep = 3;
/// Words of a tensor, without those of its sizes.
constexpr size_t kRecord = 3;

enum Operation : uint32_t {
  /// The number with low half a and high half b.
  kConstant,
  /// Size b of input a.
  kInputSize,
  // These combine the results of steps a and b:
  kAdd,
  kMultiply,
  /// Rounded down. b must be above 0.
  kDivide,
  kMaximum,
  kOperations,
};

/// Computes one step. Returns false on overflow and for a divisor that is not positive.
bool apply(uint32_t operation, int64_t a, int64_t b, int64_t* result) {
  switch (operation) {
    case kAdd:
      return !executorch::runtime::add_overflows(a, b, result);
    case kMultiply:
      return !executorch::runtime::mul_overflows(a, b, result);
    case kDivide:
      *result = b <= 0 ? 0 : a / b - (a % b < 0 ? 1 : 0);
      return b > 0;
    default:
      *result = a > b ? a : b;
      return true;
  }
}

bool is_in_buffer(const fb::Tensor* tensor) {
  return tensor != nullptr && tensor->allocation_info() != nullptr &&
         tensor->allocation_info()->memory_id() == kParametricMemoryId;
}

size_t number_of_sizes(const fb::Tensor& tensor) {
  const bool is_static = tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC;
  return is_static ? 0 : count(tensor.sizes());
}

}  // namespace

Error ParametricPlan::load(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  const Span<uint32_t> words = block.plan_words;
  const size_t buffers = count(plan.non_const_buffer_sizes());
  ET_CHECK_OR_RETURN_ERROR(buffers > kParametricMemoryId, InvalidProgram,
                           "method '%s', parametric plan: the method has %zu planned buffers with "
                           "the reserved one, expected at least %u",
                           text(plan.name()), buffers, kParametricMemoryId + 1);
  ET_CHECK_OR_RETURN_ERROR(words.size() >= kHeader && words[1] > 0 &&
                               words[1] <= (words.size() - kHeader) / kStep && words[3] < words[1],
                           InvalidProgram, "method '%s', parametric plan: %zu words, damaged",
                           text(plan.name()), words.size());
  ET_CHECK_OR_RETURN_ERROR(words[0] == kVersion, NotSupported,
                           "method '%s', parametric plan: version %u, expected %u",
                           text(plan.name()), words[0], kVersion);
  steps_ = words[1];
  tensors_ = words[2];
  height_ = words[3];
  const Error steps = verify_steps(plan, block);
  const Error error = steps != Error::Ok ? steps : verify_tensors(plan, block);
  if (error != Error::Ok) {
    steps_ = 0;
  }
  return error;
}

Error ParametricPlan::verify_steps(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  const uint32_t* step = block.plan_words.data() + kHeader;
  for (uint32_t i = 0; i < steps_; ++i, step += kStep) {
    bool is_valid = step[0] < kOperations;
    if (step[0] == kInputSize) {
      is_valid = step[1] < block.inputs.size() && block.inputs[step[1]].tensor != nullptr &&
                 step[2] < count(block.inputs[step[1]].tensor->sizes());
    } else if (step[0] != kConstant) {
      is_valid = is_valid && step[1] < i && step[2] < i;
    }
    ET_CHECK_OR_RETURN_ERROR(is_valid, InvalidProgram,
                             "method '%s', parametric plan: step %u (%u, %u, %u) is invalid",
                             text(plan.name()), i, step[0], step[1], step[2]);
  }
  return Error::Ok;
}

Error ParametricPlan::verify_tensors(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  const Span<uint32_t> words = block.plan_words;
  size_t next = kHeader + kStep * size_t{steps_};
  uint32_t matched = 0;
  uint32_t tensors = 0;
  for (size_t i = 0; i < value_count(plan); ++i) {
    const fb::Tensor* tensor = tensor_at(plan, i);
    const uint32_t slot = tensors;
    tensors += tensor != nullptr ? 1 : 0;
    if (!is_in_buffer(tensor)) {
      continue;
    }
    const size_t sizes = number_of_sizes(*tensor);
    bool fits = words.size() - next >= kRecord + sizes && words[next] == i &&
                words[next + 1] < steps_ && words[next + 2] == sizes &&
                tensor_source(*tensor) == TensorSource::Planned;
    for (size_t dim = 0; fits && dim < sizes; ++dim) {
      fits = words[next + kRecord + dim] < steps_;
    }
    ET_CHECK_OR_RETURN_ERROR(fits, InvalidProgram,
                             "method '%s', parametric plan: value %zu; expected all tensors of "
                             "planned buffer 1 in their order, without initial values, and steps "
                             "for offset and sizes",
                             text(plan.name()), i);
    // From here on, this word is the tensor's index among the method's tensors.
    words[next] = slot;
    next += kRecord + sizes;
    ++matched;
  }
  for (const Input& input : block.inputs) {
    ET_CHECK_OR_RETURN_ERROR(!is_in_buffer(input.tensor), InvalidProgram,
                             "method '%s', parametric plan: an input lies in planned buffer 1",
                             text(plan.name()));
  }
  ET_CHECK_OR_RETURN_ERROR(matched == tensors_ && next == words.size(), InvalidProgram,
                           "method '%s', parametric plan: %u tensors in %zu words, found %u in %zu",
                           text(plan.name()), tensors_, words.size(), matched, next);
  return Error::Ok;
}

Error ParametricPlan::evaluate(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  const uint32_t* step = block.plan_words.data() + kHeader;
  int64_t* const values = block.plan_values.data();
  for (uint32_t i = 0; i < steps_; ++i, step += kStep) {
    int64_t value = 0;
    if (step[0] == kConstant) {
      value = static_cast<int64_t>(uint64_t{step[2]} << 32 | step[1]);
    } else if (step[0] == kInputSize) {
      value = tensor_of(block.inputs[step[1]].impl).sizes()[step[2]];
    } else {
      ET_CHECK_OR_RETURN_ERROR(
          apply(step[0], values[step[1]], values[step[2]], &value), InvalidArgument,
          "method '%s', parametric plan: step %u has no result", text(plan.name()), i);
    }
    if (values[i] != value) {
      values[i] = value;
      base_ = nullptr;
    }
  }
  return Error::Ok;
}

Result<size_t> ParametricPlan::bytes(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  ET_CHECK_OK_OR_RETURN_ERROR(evaluate(plan, block));
  const int64_t height = block.plan_values[height_];
  const int64_t limit = items(plan.non_const_buffer_sizes())[kParametricMemoryId];
  ET_CHECK_OR_RETURN_ERROR(height >= 0 && height <= limit, InvalidArgument,
                           "method '%s': inputs of these sizes need %" PRId64
                           " bytes of planned buffer %zu, expected at most %" PRId64,
                           text(plan.name()), height, kParametricBuffer, limit);
  return static_cast<size_t>(height);
}

namespace {

/// Resets values, and the flags of tensors, to those of the program.
void reset_values(const fb::ExecutionPlan& plan, const MethodBlock& block) {
  point_values(plan, block);
  for (size_t i = 0; i < block.flags.size(); ++i) {
    const fb::Tensor* const tensor = tensor_at(plan, i);
    if (tensor != nullptr) {
      const int kept = block.flags[i] & ~(kLateValue | kResizableValue);
      block.flags[i] = static_cast<uint8_t>(kept | flags_of(*tensor, tensor_source(*tensor)));
    }
  }
}

}  // namespace

Error ParametricPlan::place(const fb::ExecutionPlan& plan, const MethodBlock& block,
                            HierarchicalAllocator& memory, size_t program_size) {
  const size_t size = ET_UNWRAP(bytes(plan, block));
  void* base = ET_UNWRAP(memory.get_offset_address(kParametricBuffer, 0, size),
                         "method '%s': inputs of these sizes need %zu bytes of planned buffer %zu",
                         text(plan.name()), size, kParametricBuffer);
  if (base_ != nullptr && base == base_) {
    return Error::Ok;
  }
  base_ = nullptr;
  const uint32_t* record = block.plan_words.data() + kHeader + kStep * size_t{steps_};
  for (uint32_t i = 0; i < tensors_; ++i, record += kRecord + record[2]) {
    ET_CHECK_OK_OR_RETURN_ERROR(place_tensor(record, block, size, base));
  }
  reset_values(plan, block);
  ET_CHECK_OK_OR_RETURN_ERROR(
      AliasModel(plan, block, program_size, /*is_loaded=*/true).check(),
      "method '%s': for inputs of these sizes the parametric plan makes values overlap",
      text(plan.name()));
  base_ = base;
  return Error::Ok;
}

Error ParametricPlan::place_tensor(const uint32_t* record, const MethodBlock& block, size_t limit,
                                   void* base) const {
  const int64_t* const values = block.plan_values.data();
  const et::Tensor tensor = tensor_in(block.tensors[record[0]]);
  et::SizesType sizes[kTensorDimensionLimit];
  et::ArrayRef<et::SizesType> wanted(sizes, record[2]);
  const auto element = static_cast<int64_t>(tensor.element_size());
  int64_t bytes = record[2] == 0 ? static_cast<int64_t>(tensor.nbytes()) : element;
  bool fits = true;
  for (uint32_t dim = 0; dim < record[2]; ++dim) {
    const int64_t size = values[record[kRecord + dim]];
    fits = fits && size >= 0 && size <= INT32_MAX &&
           !executorch::runtime::mul_overflows(bytes, size, &bytes);
    sizes[dim] = static_cast<et::SizesType>(size);
  }
  const int64_t offset = values[record[1]];
  fits = fits && offset >= 0 && offset <= static_cast<int64_t>(limit) &&
         bytes <= static_cast<int64_t>(limit) - offset;
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument,
                           "parametric plan: tensor %u of %" PRId64 " bytes at offset %" PRId64
                           " of %zu",
                           record[0], bytes, offset, limit);
  void* data = static_cast<uint8_t*>(base) + offset;
  return rebind_tensor(tensor, record[2] == 0 ? tensor.sizes() : wanted, data);
}

}  // namespace internal

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::segment_at;
using executorch::runtime::internal::text;
using executorch::runtime::internal::text_view;

const fb::DataSegment* Program::find_parametric_plan(const fb::ExecutionPlan& plan,
                                                     uint32_t* segment) const {
  const std::string_view prefix(internal::kParametricPlanPrefix);
  const std::string_view method(text(plan.name()));
  const size_t names = count(program_->named_data());
  const SearchPosition::Numbers position = found_plan_.get();
  const fb::DataSegment* segment_of_plan = nullptr;
  // Later searches skip the names before the first plan. If two plans have the same name, every
  // search must find the first one, because the method's memory has its size.
  size_t first = names;
  for (size_t i = position.first; i < names && segment_of_plan == nullptr; ++i) {
    const fb::NamedData& named = *program_->named_data()->Get(i);
    const std::string_view key = text_view(named.key());
    if (key.substr(0, prefix.size()) != prefix) continue;
    first = first < i ? first : i;
    if (key.substr(prefix.size()) == method) {
      *segment = named.segment_index();
      segment_of_plan = &segment_at(*program_, *segment);
    }
  }
  found_plan_.set({first, position.second});
  return segment_of_plan;
}

Error Program::load_parametric_plan(const fb::ExecutionPlan& plan, Span<uint32_t> words) const {
  uint32_t index = 0;
  const fb::DataSegment* segment = find_parametric_plan(plan, &index);
  if (segment == nullptr) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(segment->size() % sizeof(uint32_t) == 0, InvalidProgram,
                           "method '%s', parametric plan: %" PRIu64
                           " bytes, expected a multiple of 4",
                           text(plan.name()), segment->size());
  return load_segment_into(DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External, index),
                           0, static_cast<size_t>(segment->size()), words.data());
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Targets that link the parametric plan refer to this symbol, which pulls in this object file.
const int executorch_link_parametric_plan = 0;
