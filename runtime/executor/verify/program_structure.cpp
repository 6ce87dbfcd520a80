// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// runtime/schema/program.fbs as rows. A field that is missing here is not checked:
// test/runtime/executor compares the walk with flatbuffers' own verifier.
#include <executorch/runtime/executor/verify/program_structure.h>

#include <executorch/runtime/executor/verify/flatbuffer_structure.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {
namespace {

namespace fb = executorch_flatbuffer;
using K = FieldKind;
constexpr Presence kRequired = Presence::Required;

// The name of every table. Members of a union stand together, in the union's order.
// clang-format off
#define FORALL_TABLES(_) \
  _(Null) _(Int) _(Bool) _(Double) _(Tensor) _(String) _(IntList) _(DoubleList) \
  _(BoolList) _(TensorList) _(OptionalTensorList) _(KernelCall) _(DelegateCall) \
  _(MoveCall) _(JumpFalseCall) _(FreeCall) _(AllocationDetails) _(ExtraTensorInfo) \
  _(EValue) _(Operator) _(Instruction) _(Frame) _(FrameList) _(Chain) _(CompileSpec) \
  _(BackendDelegateDataReference) _(BackendDelegate) _(ContainerMetadata) \
  _(NonConstBufferDevice) _(ExecutionPlan) _(Buffer) _(BackendDelegateInlineData) \
  _(DataSegment) _(SubsegmentOffsets) _(NamedData) _(Program)
// clang-format on

enum Id : uint8_t {
#define ENUMERATOR(name) k##name,
  FORALL_TABLES(ENUMERATOR)
#undef ENUMERATOR
      kTableCount,
};

// The tables' rows, in the order of the tables. A table without rows has no fields. The walk stops
// at a table's last offset, so frequent tables list offsets before scalars.
constexpr FieldRule kFields[] = {
    {kInt, fb::Int::VT_INT_VAL, K::Scalar8},
    {kBool, fb::Bool::VT_BOOL_VAL, K::Scalar1},
    {kDouble, fb::Double::VT_DOUBLE_VAL, K::Scalar8},
    {kTensor, fb::Tensor::VT_SIZES, K::Vector4},
    {kTensor, fb::Tensor::VT_DIM_ORDER, K::Vector1},
    {kTensor, fb::Tensor::VT_ALLOCATION_INFO, K::Table, Presence::Optional, kAllocationDetails},
    {kTensor, fb::Tensor::VT_EXTRA_TENSOR_INFO, K::Table, Presence::Optional, kExtraTensorInfo},
    {kTensor, fb::Tensor::VT_SCALAR_TYPE, K::Scalar1},
    {kTensor, fb::Tensor::VT_STORAGE_OFFSET, K::Scalar4},
    {kTensor, fb::Tensor::VT_REQUIRES_GRAD, K::Scalar1},
    {kTensor, fb::Tensor::VT_DATA_BUFFER_IDX, K::Scalar4},
    {kTensor, fb::Tensor::VT_LAYOUT, K::Scalar1},
    {kTensor, fb::Tensor::VT_SHAPE_DYNAMISM, K::Scalar1},
    {kString, fb::String::VT_STRING_VAL, K::String, kRequired},
    {kIntList, fb::IntList::VT_ITEMS, K::Vector8},
    {kDoubleList, fb::DoubleList::VT_ITEMS, K::Vector8},
    {kBoolList, fb::BoolList::VT_ITEMS, K::Vector1},
    {kTensorList, fb::TensorList::VT_ITEMS, K::Vector4},
    {kOptionalTensorList, fb::OptionalTensorList::VT_ITEMS, K::Vector4},
    {kKernelCall, fb::KernelCall::VT_ARGS, K::Vector4},
    {kKernelCall, fb::KernelCall::VT_OP_INDEX, K::Scalar4},
    {kDelegateCall, fb::DelegateCall::VT_ARGS, K::Vector4},
    {kDelegateCall, fb::DelegateCall::VT_DELEGATE_INDEX, K::Scalar4},
    {kMoveCall, fb::MoveCall::VT_MOVE_FROM, K::Scalar4},
    {kMoveCall, fb::MoveCall::VT_MOVE_TO, K::Scalar4},
    {kJumpFalseCall, fb::JumpFalseCall::VT_COND_VALUE_INDEX, K::Scalar4},
    {kJumpFalseCall, fb::JumpFalseCall::VT_DESTINATION_INSTRUCTION, K::Scalar4},
    {kFreeCall, fb::FreeCall::VT_VALUE_INDEX, K::Scalar4},
    {kAllocationDetails, fb::AllocationDetails::VT_MEMORY_ID, K::Scalar4},
    {kAllocationDetails, fb::AllocationDetails::VT_MEMORY_OFFSET_LOW, K::Scalar4},
    {kAllocationDetails, fb::AllocationDetails::VT_MEMORY_OFFSET_HIGH, K::Scalar4},
    {kExtraTensorInfo, fb::ExtraTensorInfo::VT_MUTABLE_DATA_SEGMENTS_IDX, K::Scalar8},
    {kExtraTensorInfo, fb::ExtraTensorInfo::VT_FULLY_QUALIFIED_NAME, K::String},
    {kExtraTensorInfo, fb::ExtraTensorInfo::VT_LOCATION, K::Scalar1},
    {kExtraTensorInfo, fb::ExtraTensorInfo::VT_DEVICE_TYPE, K::Scalar1},
    {kExtraTensorInfo, fb::ExtraTensorInfo::VT_DEVICE_INDEX, K::Scalar1},
    {kEValue, fb::EValue::VT_VAL, K::Union, kRequired, kNull, kOptionalTensorList - kNull + 1},
    {kOperator, fb::Operator::VT_NAME, K::String, kRequired},
    {kOperator, fb::Operator::VT_OVERLOAD, K::String},
    {kInstruction, fb::Instruction::VT_INSTR_ARGS, K::Union, kRequired, kKernelCall,
     kFreeCall - kKernelCall + 1},
    {kFrame, fb::Frame::VT_FILENAME, K::String},
    {kFrame, fb::Frame::VT_LINENO, K::Scalar4},
    {kFrame, fb::Frame::VT_NAME, K::String},
    {kFrame, fb::Frame::VT_CONTEXT, K::String},
    {kFrameList, fb::FrameList::VT_ITEMS, K::TableVector, Presence::Optional, kFrame},
    {kChain, fb::Chain::VT_INPUTS, K::Vector4},
    {kChain, fb::Chain::VT_OUTPUTS, K::Vector4},
    {kChain, fb::Chain::VT_INSTRUCTIONS, K::TableVector, Presence::Optional, kInstruction},
    {kChain, fb::Chain::VT_STACKTRACE, K::TableVector, Presence::Optional, kFrameList},
    {kCompileSpec, fb::CompileSpec::VT_KEY, K::String, kRequired},
    {kCompileSpec, fb::CompileSpec::VT_VALUE, K::Vector1},
    {kBackendDelegateDataReference, fb::BackendDelegateDataReference::VT_LOCATION, K::Scalar1},
    {kBackendDelegateDataReference, fb::BackendDelegateDataReference::VT_INDEX, K::Scalar4},
    {kBackendDelegate, fb::BackendDelegate::VT_ID, K::String, kRequired},
    {kBackendDelegate, fb::BackendDelegate::VT_PROCESSED, K::Table, kRequired,
     kBackendDelegateDataReference},
    {kBackendDelegate, fb::BackendDelegate::VT_COMPILE_SPECS, K::TableVector, Presence::Optional,
     kCompileSpec},
    {kContainerMetadata, fb::ContainerMetadata::VT_ENCODED_INP_STR, K::String},
    {kContainerMetadata, fb::ContainerMetadata::VT_ENCODED_OUT_STR, K::String},
    {kNonConstBufferDevice, fb::NonConstBufferDevice::VT_BUFFER_IDX, K::Scalar4},
    {kNonConstBufferDevice, fb::NonConstBufferDevice::VT_DEVICE_TYPE, K::Scalar1},
    {kNonConstBufferDevice, fb::NonConstBufferDevice::VT_DEVICE_INDEX, K::Scalar1},
    {kExecutionPlan, fb::ExecutionPlan::VT_NAME, K::String, kRequired},
    {kExecutionPlan, fb::ExecutionPlan::VT_CONTAINER_META_TYPE, K::Table, Presence::Optional,
     kContainerMetadata},
    {kExecutionPlan, fb::ExecutionPlan::VT_VALUES, K::TableVector, Presence::Optional, kEValue},
    {kExecutionPlan, fb::ExecutionPlan::VT_INPUTS, K::Vector4},
    {kExecutionPlan, fb::ExecutionPlan::VT_OUTPUTS, K::Vector4},
    {kExecutionPlan, fb::ExecutionPlan::VT_CHAINS, K::TableVector, Presence::Optional, kChain},
    {kExecutionPlan, fb::ExecutionPlan::VT_OPERATORS, K::TableVector, Presence::Optional,
     kOperator},
    {kExecutionPlan, fb::ExecutionPlan::VT_DELEGATES, K::TableVector, Presence::Optional,
     kBackendDelegate},
    {kExecutionPlan, fb::ExecutionPlan::VT_NON_CONST_BUFFER_SIZES, K::Vector8},
    {kExecutionPlan, fb::ExecutionPlan::VT_NON_CONST_BUFFER_DEVICE, K::TableVector,
     Presence::Optional, kNonConstBufferDevice},
    {kBuffer, fb::Buffer::VT_STORAGE, K::Vector1},
    {kBackendDelegateInlineData, fb::BackendDelegateInlineData::VT_DATA, K::Vector1},
    {kDataSegment, fb::DataSegment::VT_OFFSET, K::Scalar8},
    {kDataSegment, fb::DataSegment::VT_SIZE, K::Scalar8},
    {kSubsegmentOffsets, fb::SubsegmentOffsets::VT_SEGMENT_INDEX, K::Scalar4},
    {kSubsegmentOffsets, fb::SubsegmentOffsets::VT_OFFSETS, K::Vector8},
    {kNamedData, fb::NamedData::VT_KEY, K::String, kRequired},
    {kNamedData, fb::NamedData::VT_SEGMENT_INDEX, K::Scalar4},
    {kProgram, fb::Program::VT_VERSION, K::Scalar4},
    {kProgram, fb::Program::VT_EXECUTION_PLAN, K::TableVector, Presence::Optional, kExecutionPlan},
    {kProgram, fb::Program::VT_CONSTANT_BUFFER, K::TableVector, Presence::Optional, kBuffer},
    {kProgram, fb::Program::VT_BACKEND_DELEGATE_DATA, K::TableVector, Presence::Optional,
     kBackendDelegateInlineData},
    {kProgram, fb::Program::VT_SEGMENTS, K::TableVector, Presence::Optional, kDataSegment},
    {kProgram, fb::Program::VT_CONSTANT_SEGMENT, K::Table, Presence::Optional, kSubsegmentOffsets},
    {kProgram, fb::Program::VT_MUTABLE_DATA_SEGMENTS, K::TableVector, Presence::Optional,
     kSubsegmentOffsets},
    {kProgram, fb::Program::VT_NAMED_DATA, K::TableVector, Presence::Optional, kNamedData},
};

struct Tables {
  TableRule rules[kTableCount];
};

constexpr Tables group_rows() {
  Tables tables{};
  uint8_t row = 0;
  for (const FieldRule& field : kFields) {
    TableRule& rule = tables.rules[field.owner];
    if (rule.count++ == 0) {
      rule.first = row;
    }
    ++row;
  }
  return tables;
}

constexpr bool rows_are_in_order() {
  uint8_t last = 0;
  for (const FieldRule& field : kFields) {
    if (field.owner < last) {
      return false;
    }
    last = field.owner;
  }
  return true;
}
static_assert(rows_are_in_order(), "a table's rows stand together");

constexpr Tables kTables = group_rows();

#if ET_LOG_ENABLED
#define NAME(name) #name,
constexpr const char* kNames[] = {FORALL_TABLES(NAME)};
#undef NAME
#else
constexpr const char* const* kNames = nullptr;
#endif

}  // namespace

Error verify_program_structure(Span<const uint8_t> flatbuffer) {
  return verify_flatbuffer_structure(
      flatbuffer, {kFields, {kTables.rules, size_t{kTableCount}}, kNames, kProgram});
}

}  // namespace executorch::runtime::internal
