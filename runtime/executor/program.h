// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/load/program_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/plan/optional_link.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
struct DataSegment;
struct Program;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace internal {
class DelegateLoader;
class ValueLoader;
}  // namespace internal

/// A verified program. It never changes: any number of threads may use it, and load methods from
/// it, at once.
class Program final {
 public:
  /// Every program is verified in full (structure, indices, types, sizes, memory ranges), with
  /// either value; the choice exists for source compatibility.
  enum class Verification : uint8_t { Minimal, InternalConsistency };

  /// Loads and verifies a program.
  /// @param loader Must outlive the program and all its methods.
  /// @retval Error::InvalidProgram The file is not a program, damaged, or inconsistent; the log has
  /// the place.
  /// @retval Error::NotSupported It needs a device that this runtime does not support.
  /// @retval Error::InvalidArgument The loader's memory is not aligned to 8 bytes.
  [[nodiscard]] static Result<Program> load(DataLoader* loader,
                                            Verification verification = Verification::Minimal);

  /// Same as load().
  [[nodiscard]] static Result<Program> Load(DataLoader* loader,
                                            Verification verification = Verification::Minimal) {
    return load(loader, verification);
  }

  /// Methods, metadata and the data map refer to the program: move it before creating any of
  /// them.
  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) = delete;
  ~Program() = default;

  /// The data of constant `buffer_idx`, if it has `nbytes` bytes or more. Lives as long as the
  /// program.
  /// @retval Error::InvalidArgument There is no such constant, or it is smaller.
  Result<const void*> get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const;

  /// The bytes that all constants take together; methods share them.
  size_t constants_size() const;

  /// The program's named data. Lives as long as the program.
  /// @retval Error::NotFound There is none.
  Result<const NamedDataMap*> get_named_data_map() const;

  size_t num_methods() const;
  /// Lives as long as the program.
  /// @retval Error::InvalidArgument `method_index` is not below num_methods().
  Result<const char*> get_method_name(size_t method_index) const;

  /// Makes a method ready to run: every operator, argument list and delegate is resolved here.
  /// @param memory_manager With its allocators and memory, must outlive the method. Each method
  /// needs its own.
  /// @param event_tracer If not null, must outlive the method.
  /// @param named_data_map Where data outside of the program is found; if not null, must outlive
  /// the method.
  /// @param backend_options If not null, used during the call only.
  /// @param kernel_registry If not empty, these kernels are used instead of the registered ones;
  /// must outlive the method.
  /// @retval Error::InvalidArgument There is no such method, or memory is not aligned.
  /// @retval Error::MemoryAllocationFailed An allocator or a planned buffer is too small.
  /// @retval Error::OperatorMissing No kernel for an operator; the log lists all of them.
  /// @retval Error::NotFound No such backend, or data outside of the program is missing.
  /// @retval Error::InvalidType, Error::InvalidArgument A kernel takes other kinds, or another
  ///     number, of arguments than the program gives it.
  /// @retval Error::InvalidProgram A kernel would write to a constant.
  ///     Other errors are those of loaders and backends.
  Result<Method> load_method(const char* method_name, MemoryManager* memory_manager,
                             EventTracer* event_tracer = nullptr,
                             const NamedDataMap* named_data_map = nullptr,
                             const LoadBackendOptionsMap* backend_options = nullptr,
                             Span<const Kernel> kernel_registry = {}) const;

  /// @retval Error::InvalidArgument There is no such method.
  Result<MethodMeta> method_meta(const char* method_name) const;

  /// The pytree spec of a method's outputs, as the exporter wrote it.
  /// @retval Error::InvalidArgument There is no such method, or it has none.
  Result<const char*> get_output_flattening_encoding(const char* method_name = "forward") const;

  enum HeaderStatus {
    /// A program of this runtime's version of the format.
    CompatibleVersion,
    /// A program of another version.
    IncompatibleVersion,
    /// Not a program.
    NotPresent,
    /// Too few bytes to decide.
    ShortData,
  };
  /// Number of bytes that check_header() needs.
  static constexpr size_t kMinHeadBytes = 64;
  /// Classifies a file by its first bytes.
  static HeaderStatus check_header(const void* data, size_t size);

 private:
  friend class Method;
  friend class MethodLoader;
  friend class internal::ValueLoader;
  friend class internal::DelegateLoader;

  Program(const DataLoader* loader, size_t segment_base, FreeableBuffer&& program_data,
          const executorch_flatbuffer::Program* program, FreeableBuffer&& constants);

  /// True if the flatbuffer belongs to another program, which may be gone.
  bool was_moved_from() const { return program_data_.size() == 0; }
  const executorch_flatbuffer::ExecutionPlan* find_plan(const char* method_name) const;
  /// The number of words of the method's parametric plan; 0 if it has none that can be used.
  size_t parametric_plan_words(const executorch_flatbuffer::ExecutionPlan& plan) const;
  // Only where parametric plans are linked in (parametric_plan.h).
  /// The data that is the method's parametric plan, and its segment's index; null: it has none.
  ET_OPTIONAL_LINK const executorch_flatbuffer::DataSegment* find_parametric_plan(
      const executorch_flatbuffer::ExecutionPlan& plan, uint32_t* segment) const;
  /// Reads the plan into `words`, which has parametric_plan_words() items.
  ET_OPTIONAL_LINK Error load_parametric_plan(const executorch_flatbuffer::ExecutionPlan& plan,
                                              Span<uint32_t> words) const;
  /// The data of segment `index`, which must exist.
  Result<FreeableBuffer> load_segment(const DataLoader::SegmentInfo& info) const;
  /// Reads `size` bytes from `offset` on in segment `info.segment_index`, a verified range.
  Error load_segment_into(const DataLoader::SegmentInfo& info, size_t offset, size_t size,
                          void* buffer) const;

  const DataLoader* loader_;
  size_t segment_base_;
  FreeableBuffer program_data_;
  const executorch_flatbuffer::Program* program_;
  /// The segment of constants; empty if there is none.
  FreeableBuffer constants_;
  internal::ProgramDataMap data_map_;
  /// Position of the last method that was found.
  mutable SearchPosition found_plan_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Program;
}  // namespace torch::executor
