// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/program.h>

#include <string.h>

#include <string_view>
#include <utility>

#include <executorch/runtime/executor/execute/parametric_plan.h>
#include <executorch/runtime/executor/load/method_loader.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/verify/program_header.h>
#include <executorch/runtime/executor/verify/program_structure.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::HeaderKind;
using executorch::runtime::internal::items;
using executorch::runtime::internal::ProgramHeader;
using executorch::runtime::internal::segment_at;
using executorch::runtime::internal::text;
using SegmentType = DataLoader::SegmentInfo::Type;

namespace {

// Alignment of the widest scalars in a flatbuffer, which are read in place.
constexpr uintptr_t kProgramAlignment = 8;

Result<ProgramHeader> load_header(const DataLoader& loader) {
  constexpr size_t kSize = executorch::runtime::internal::kProgramHeaderSize;
  const size_t file_size = ET_UNWRAP(loader.size());
  const size_t head_size = file_size < kSize ? file_size : kSize;
  const FreeableBuffer head =
      ET_UNWRAP(loader.load(0, head_size, DataLoader::SegmentInfo(SegmentType::Program)));
  return executorch::runtime::internal::parse_program_header(
      {static_cast<const uint8_t*>(head.data()), head_size}, file_size);
}

/// The verified root of the flatbuffer.
Result<const fb::Program*> verify(const FreeableBuffer& data, const ProgramHeader& header) {
  const auto* bytes = static_cast<const uint8_t*>(data.data());
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(bytes) % kProgramAlignment == 0,
                           InvalidArgument, "program at %p, expected an alignment of %zu bytes",
                           data.data(), static_cast<size_t>(kProgramAlignment));
  ET_CHECK_OK_OR_RETURN_ERROR(
      executorch::runtime::internal::verify_program_structure({bytes, header.flatbuffer_size}));
  const fb::Program* program = fb::GetProgram(bytes);
  ET_CHECK_OK_OR_RETURN_ERROR(executorch::runtime::internal::verify_program(*program, header));
  return program;
}

/// Empty if the program has no segment of constants.
Result<FreeableBuffer> load_constants(const DataLoader& loader, const fb::Program& program,
                                      const ProgramHeader& header) {
  const fb::SubsegmentOffsets* constants = program.constant_segment();
  if (constants == nullptr || count(constants->offsets()) <= 1) {  // Entry 0 is reserved.
    return FreeableBuffer();
  }
  const fb::DataSegment& segment = segment_at(program, constants->segment_index());
  if (segment.size() == 0) {
    return FreeableBuffer();
  }
  return loader.load(header.segment_base + segment.offset(), segment.size(),
                     DataLoader::SegmentInfo(SegmentType::Constant, constants->segment_index()));
}

}  // namespace

Program::Program(const DataLoader* loader, size_t segment_base, FreeableBuffer&& program_data,
                 const fb::Program* program, FreeableBuffer&& constants)
    : loader_(loader),
      segment_base_(segment_base),
      program_data_(std::move(program_data)),
      program_(program),
      constants_(std::move(constants)),
      data_map_(loader, program, segment_base) {}

Result<Program> Program::load(DataLoader* loader, Verification) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "program: the data loader is null");
  const ProgramHeader header = ET_UNWRAP(load_header(*loader));
  // Offsets in a flatbuffer have 31 bits. Checked before allocating: the file may be sparse.
  ET_CHECK_OR_RETURN_ERROR(header.flatbuffer_size <= INT32_MAX, InvalidProgram,
                           "program header: flatbuffer of %zu bytes, expected at most %d",
                           header.flatbuffer_size, INT32_MAX);
  FreeableBuffer data = ET_UNWRAP(
      loader->load(0, header.flatbuffer_size, DataLoader::SegmentInfo(SegmentType::Program)));
  const fb::Program* program = ET_UNWRAP(verify(data, header));
  FreeableBuffer constants = ET_UNWRAP(load_constants(*loader, *program, header));
  return Program(loader, header.segment_base, std::move(data), program, std::move(constants));
}

Result<const void*> Program::get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const {
  Span<const uint8_t> bytes;
  const fb::SubsegmentOffsets* constants =
      was_moved_from() ? nullptr : program_->constant_segment();
  if (constants != nullptr && buffer_idx < count(constants->offsets())) {
    const size_t offset = items(constants->offsets())[buffer_idx];
    if (offset <= constants_.size()) {
      bytes = {static_cast<const uint8_t*>(constants_.data()) + offset, constants_.size() - offset};
    }
  } else if (!was_moved_from() && buffer_idx < count(program_->constant_buffer())) {
    bytes = items(program_->constant_buffer()->Get(buffer_idx)->storage());
  }
  ET_CHECK_OR_RETURN_ERROR(bytes.size() >= nbytes, InvalidArgument,
                           "constant %zu has %zu bytes, or does not exist; expected %zu",
                           buffer_idx, bytes.size(), nbytes);
  return static_cast<const void*>(bytes.data());
}

size_t Program::constants_size() const {
  size_t size = constants_.size();
  for (size_t i = 0; !was_moved_from() && i < count(program_->constant_buffer()); ++i) {
    size += count(program_->constant_buffer()->Get(i)->storage());
  }
  return size;
}

Result<const NamedDataMap*> Program::get_named_data_map() const {
  if (was_moved_from() || count(program_->named_data()) == 0) {
    return Error::NotFound;
  }
  return static_cast<const NamedDataMap*>(&data_map_);
}

size_t Program::num_methods() const {
  return was_moved_from() ? 0 : count(program_->execution_plan());
}

Result<const char*> Program::get_method_name(size_t method_index) const {
  ET_CHECK_OR_RETURN_ERROR(method_index < num_methods(), InvalidArgument, "method %zu of %zu",
                           method_index, num_methods());
  return text(program_->execution_plan()->Get(method_index)->name());
}

const fb::ExecutionPlan* Program::find_plan(const char* method_name) const {
  if (method_name == nullptr) {
    ET_LOG(Error, "method name is null");
    return nullptr;
  }
  // Start at the last method found: queries in the order of the file share one walk.
  const size_t methods = num_methods();
  const SearchPosition::Numbers position = found_plan_.get();
  size_t i = position.second;
  for (size_t left = methods; left > 0; --left, i = i + 1 < methods ? i + 1 : 0) {
    const fb::ExecutionPlan* plan = program_->execution_plan()->Get(i);
    if (strcmp(text(plan->name()), method_name) == 0) {
      found_plan_.set({position.first, i});
      return plan;
    }
  }
  ET_LOG(Error, "the program has no method '%s'; it has %zu, the first is '%s'", method_name,
         num_methods(), num_methods() == 0 ? "" : text(program_->execution_plan()->Get(0)->name()));
  return nullptr;
}

Result<MethodMeta> Program::method_meta(const char* method_name) const {
  const fb::ExecutionPlan* plan = find_plan(method_name);
  if (plan == nullptr) {
    return Error::InvalidArgument;
  }
  return MethodMeta(plan, parametric_plan_words(*plan));
}

size_t Program::parametric_plan_words(const fb::ExecutionPlan& plan) const {
  if (!internal::parametric_plans_are_linked()) {
    return 0;
  }
  uint32_t index = 0;
  const fb::DataSegment* segment = find_parametric_plan(plan, &index);
  // load_parametric_plan() reports a size that is not a multiple of a word.
  return segment == nullptr ? 0 : static_cast<size_t>(segment->size() / sizeof(uint32_t));
}

Result<Method> Program::load_method(const char* method_name, MemoryManager* memory_manager,
                                    EventTracer* event_tracer, const NamedDataMap* named_data_map,
                                    const LoadBackendOptionsMap* backend_options,
                                    Span<const Kernel> kernel_registry) const {
  const fb::ExecutionPlan* plan = find_plan(method_name);
  if (plan == nullptr) {
    return Error::InvalidArgument;
  }
  ET_CHECK_OR_RETURN_ERROR(
      memory_manager != nullptr && memory_manager->method_allocator() != nullptr, InvalidArgument,
      "method '%s': the memory manager or its method allocator is null", method_name);
  return MethodLoader::load({*this, *plan, *memory_manager, event_tracer, named_data_map,
                             backend_options, kernel_registry});
}

Result<const char*> Program::get_output_flattening_encoding(const char* method_name) const {
  const fb::ExecutionPlan* plan = find_plan(method_name);
  if (plan == nullptr) {
    return Error::InvalidArgument;
  }
  const fb::ContainerMetadata* containers = plan->container_meta_type();
  ET_CHECK_OR_RETURN_ERROR(containers != nullptr && containers->encoded_out_str() != nullptr,
                           InvalidArgument, "method '%s' has no output encoding", method_name);
  return containers->encoded_out_str()->c_str();
}

Program::HeaderStatus Program::check_header(const void* data, size_t size) {
  if (data == nullptr || size < kMinHeadBytes) {
    return HeaderStatus::ShortData;
  }
  switch (executorch::runtime::internal::classify_program_header(
      {static_cast<const uint8_t*>(data), size})) {
    case HeaderKind::Program:
      return HeaderStatus::CompatibleVersion;
    case HeaderKind::OtherVersion:
      return HeaderStatus::IncompatibleVersion;
    case HeaderKind::TooShort:  // Excluded by kMinHeadBytes.
    case HeaderKind::Foreign:
      break;
  }
  return HeaderStatus::NotPresent;
}

Result<FreeableBuffer> Program::load_segment(const DataLoader::SegmentInfo& info) const {
  const fb::DataSegment& segment = segment_at(*program_, info.segment_index);
  return loader_->load(segment_base_ + segment.offset(), segment.size(), info);
}

Error Program::load_segment_into(const DataLoader::SegmentInfo& info, size_t offset, size_t size,
                                 void* buffer) const {
  const fb::DataSegment& segment = segment_at(*program_, info.segment_index);
  return loader_->load_into(segment_base_ + segment.offset() + offset, size, info, buffer);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
