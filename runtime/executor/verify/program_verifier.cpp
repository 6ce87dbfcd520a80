// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/verify/program_verifier.h>

#include <string.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/parametric_prefix.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

namespace fb = executorch_flatbuffer;

/// Maximum number of comparisons that look-ups of parametric plans, and the check of methods'
/// names, may take for each byte of the file. Valid files need fewer: each method takes some
/// hundred bytes.
constexpr uint64_t kSearchesPerByte = 8;
/// Bytes of names that are compared at once.
constexpr size_t kBytesOfStep = 16;

Error verify_segments(const fb::Program& program, const ProgramHeader& header) {
  for (size_t i = 0; i < count(program.segments()); ++i) {
    const fb::DataSegment& segment = segment_at(program, i);
    uint64_t end = 0;
    ET_CHECK_OR_RETURN_ERROR(
        !add_overflows(segment.offset(), segment.size(), &end) && end <= header.segment_area_size,
        InvalidProgram,
        "segment %zu: offset %" PRIu64 ", %" PRIu64
        " bytes, but the file has %zu bytes of segments",
        i, segment.offset(), segment.size(), header.segment_area_size);
  }
  return Error::Ok;
}

/// `owner` names the list in messages.
Error verify_subsegments(const fb::Program& program, const fb::SubsegmentOffsets& offsets,
                         const char* owner, WorkBudget* budget) {
  const size_t segments = count(program.segments());
  ET_CHECK_OR_RETURN_ERROR(budget->spend(count(offsets.offsets())), InvalidProgram,
                           "%s: lists repeat beyond the size of the file, with %zu items here",
                           owner, count(offsets.offsets()));
  if (count(offsets.offsets()) <= 1) {  // Entry 0 is reserved: alone it refers to no data.
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(offsets.segment_index() < segments, InvalidProgram,
                           "%s: segment %u of %zu", owner, offsets.segment_index(), segments);
  const uint64_t size = segment_at(program, offsets.segment_index()).size();
  for (const uint64_t offset : items(offsets.offsets())) {
    ET_CHECK_OR_RETURN_ERROR(offset <= size, InvalidProgram,
                             "%s: offset %" PRIu64 " in a segment of %" PRIu64 " bytes", owner,
                             offset, size);
  }
  return Error::Ok;
}

Error verify_constants(const fb::Program& program, WorkBudget* budget) {
  const fb::SubsegmentOffsets* constants = program.constant_segment();
  if (constants != nullptr) {
    ET_CHECK_OR_RETURN_ERROR(
        count(program.constant_buffer()) == 0 || count(constants->offsets()) == 0, InvalidProgram,
        "constants are both inline (%zu) and in a segment (%zu), expected one of the two",
        count(program.constant_buffer()), count(constants->offsets()));
    ET_CHECK_OK_OR_RETURN_ERROR(
        verify_subsegments(program, *constants, "constant segment", budget));
  }
  for (size_t i = 0; i < count(program.mutable_data_segments()); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(verify_subsegments(
        program, *program.mutable_data_segments()->Get(i), "mutable data segment", budget));
  }
  return Error::Ok;
}

Error verify_named_data(const fb::Program& program, size_t flatbuffer_size) {
  const size_t segments = count(program.segments());
  const std::string_view prefix(kParametricPlanPrefix);
  uint64_t searched = 0;
  for (size_t i = 0; i < count(program.named_data()); ++i) {
    const fb::NamedData& named = *program.named_data()->Get(i);
    ET_CHECK_OR_RETURN_ERROR(named.segment_index() < segments, InvalidProgram,
                             "named data '%s': segment %u of %zu", text(named.key()),
                             named.segment_index(), segments);
    if (text_view(named.key()).substr(0, prefix.size()) == prefix) {
      searched += count(program.execution_plan());
    }
  }
  // The metadata of each method searches all plans. Bounded so that all these searches together
  // take time linear in the size of the file.
  ET_CHECK_OR_RETURN_ERROR(searched / kSearchesPerByte <= flatbuffer_size, InvalidProgram,
                           "%zu methods have too many parametric plans for a file of %zu bytes",
                           count(program.execution_plan()), flatbuffer_size);
  return Error::Ok;
}

/// Refuses two methods of one name: look-ups may search from either end.
Error verify_method_names(const fb::Program& program, size_t flatbuffer_size) {
  uint64_t compared = 0;
  for (size_t i = 0; i < count(program.execution_plan()); ++i) {
    const char* const name = text(program.execution_plan()->Get(i)->name());
    const size_t steps = 1 + strlen(name) / kBytesOfStep;
    for (size_t j = 0; j < i; ++j) {
      ET_CHECK_OR_RETURN_ERROR(strcmp(text(program.execution_plan()->Get(j)->name()), name) != 0,
                               InvalidProgram, "methods %zu and %zu have the name '%s'", j, i,
                               name);
    }
    // This takes time linear in the file.
    compared += i * steps;
    ET_CHECK_OR_RETURN_ERROR(compared / kSearchesPerByte <= flatbuffer_size, InvalidProgram,
                             "%zu methods are too many for a file of %zu bytes",
                             count(program.execution_plan()), flatbuffer_size);
  }
  return Error::Ok;
}

}  // namespace

Error verify_program(const fb::Program& program, const ProgramHeader& header) {
  ET_CHECK_OR_RETURN_ERROR(program.version() == kProgramVersion, InvalidProgram,
                           "program version %u, expected %u", program.version(), kProgramVersion);
  ET_CHECK_OK_OR_RETURN_ERROR(verify_segments(program, header));
  ProgramBudget budget(header.flatbuffer_size);
  ET_CHECK_OK_OR_RETURN_ERROR(verify_constants(program, &budget));
  ET_CHECK_OK_OR_RETURN_ERROR(verify_named_data(program, header.flatbuffer_size));
  for (size_t i = 0; i < count(program.execution_plan()); ++i) {
    const fb::ExecutionPlan& plan = *program.execution_plan()->Get(i);
    ET_CHECK_OK_OR_RETURN_ERROR(verify_plan(program, plan, &budget));
  }
  return verify_method_names(program, header.flatbuffer_size);
}

}  // namespace executorch::runtime::internal
