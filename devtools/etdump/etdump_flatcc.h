// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// ETDumpGen: an EventTracer whose record is an .etdp file.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/trace_buffer.h>
#include <executorch/devtools/etdump/trace_tables.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

namespace executorch::etdump {

/// A value in the record: what it is, the number of the field for such, and where. Place 0: the
/// format does not have its type.
struct RecordedValue {
  int8_t kind;
  uint32_t field;
  Place place;
};

struct ETDumpResult {
  void* buf;
  size_t size;
};

/// Records profiling, allocation and debug events (see EventTracer). Not thread-safe: methods that
/// share a tracer take turns.
///
/// What the memory has no room for is left out, counted, and reported once.
class ETDumpGen : public ET_RUNTIME_NAMESPACE::EventTracer {
 public:
  using AllocatorID = ET_RUNTIME_NAMESPACE::AllocatorID;
  using ChainID = ET_RUNTIME_NAMESPACE::ChainID;
  using DebugHandle = ET_RUNTIME_NAMESPACE::DebugHandle;
  using DelegateDebugIntId = ET_RUNTIME_NAMESPACE::DelegateDebugIntId;
  using Entry = ET_RUNTIME_NAMESPACE::EventTracerEntry;

  /// @param buffer Where the record is written; must outlive this; nothing is allocated then. An
  ///     event takes about 64 bytes, a tensor's 150. Empty: memory of its own, as much as it takes.
  explicit ETDumpGen(runtime::Span<uint8_t> buffer = {});

  /// Forgets all that was recorded. No event may be open.
  void reset();

  void create_event_block(const char* name) override;
  Entry start_profiling(
      const char* name, ChainID chain_id = ET_RUNTIME_NAMESPACE::kUnsetChainId,
      DebugHandle debug_handle = ET_RUNTIME_NAMESPACE::kUnsetDebugHandle) override;
  void end_profiling(Entry prof_entry) override;
  ET_RUNTIME_NAMESPACE::EventTracerOperatorEntry start_operator(const char* kernel_name) override;
  void end_operator(const ET_RUNTIME_NAMESPACE::EventTracerOperatorEntry& entry) override;
  Entry start_profiling_delegate(const char* name,
                                 DelegateDebugIntId delegate_debug_index) override;
  void end_profiling_delegate(Entry entry, const void* metadata = nullptr,
                              size_t metadata_len = 0) override;
  void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                              et_timestamp_t start_time, et_timestamp_t end_time,
                              const void* metadata = nullptr, size_t metadata_len = 0) override;
  /// Numbers from 1, the same for one name; 0 if there are too many, or no room.
  AllocatorID track_allocator(const char* name) override;
  /// Is told with the next profiling event that ends, what is of one allocator as one: readers know
  /// of no event that is nothing but an allocation. Allocator 0 is left out.
  void track_allocation(AllocatorID id, size_t size) override;

  /// Tensors need set_debug_buffer() or set_data_sink(): InvalidState without. False for types that
  /// the format does not have, and if there is no room.
  runtime::Result<bool> log_evalue(
      const ET_RUNTIME_NAMESPACE::EValue& evalue,
      ET_RUNTIME_NAMESPACE::LoggedEValueType evalue_type =
          ET_RUNTIME_NAMESPACE::LoggedEValueType::kIntermediateOutput) override;
  runtime::Result<bool> log_intermediate_output_delegate(
      const char* name, DelegateDebugIntId delegate_debug_index,
      const executorch::aten::Tensor& output) override;
  runtime::Result<bool> log_intermediate_output_delegate(
      const char* name, DelegateDebugIntId delegate_debug_index,
      const executorch::aten::ArrayRef<executorch::aten::Tensor> output) override;
  runtime::Result<bool> log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const int& output) override;
  runtime::Result<bool> log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const bool& output) override;
  runtime::Result<bool> log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const double& output) override;
  void set_delegation_intermediate_output_filter(
      ET_RUNTIME_NAMESPACE::EventTracerFilterBase* filter) override {
    filter_ = filter;
  }

  /// Where the bytes of recorded tensors go; must outlive this.
  runtime::Result<bool> set_debug_buffer(runtime::Span<uint8_t> buffer);
  void set_data_sink(DataSinkBase* data_sink) { data_sink_ = data_sink; }
  DataSinkBase* get_data_sink() { return data_sink_; }

  /// The record so far, preceded by its size (flatbuffers' "size prefixed"); null if there is none.
  /// In the caller's buffer it is valid until something more is recorded; otherwise it is the
  /// caller's, to be given back by free().
  ETDumpResult get_etdump_data();

  size_t get_num_blocks() const { return blocks_; }
  bool is_static_etdump() const { return buffer_.is_callers(); }
  /// Events and values that were left out for want of room.
  size_t dropped_events() const { return dropped_; }

 private:
  static constexpr size_t kAllocators = 16;

  /// What an event of a delegate is called.
  struct DelegateId {
    Place name;
    DelegateDebugIntId number;
  };

  /// Room for an event whose strings, vectors and tables take `bytes`, and for ending the record.
  bool reserve(size_t bytes);
  void prepare_layouts();
  /// Writes the block that is open; its events make place for it in the list.
  Place close_block();
  Place profile(Place name, const DelegateId* id, Entry entry, et_timestamp_t end, Place metadata);
  void push_event(uint32_t kind, Place event);
  /// The event of a name and nothing else, which most are, written as one.
  void push_named(Place name, const Entry& entry, et_timestamp_t end);
  bool has_untold() const;
  /// Begins a block if there is none; false if there is no room.
  bool has_block();
  /// The event of an allocation that is not told yet; 0 if there is none.
  Place untold_allocation();
  DelegateId delegate_id(const char* name, DelegateDebugIntId number);
  /// Room for an event with so many tensors.
  bool reserve_value(size_t tensors, const char* name);
  runtime::Result<RecordedValue> write_value(const ET_RUNTIME_NAMESPACE::EValue& value);
  runtime::Result<bool> record(const runtime::Result<RecordedValue>& value, bool is_output,
                               const DelegateId* id);
  /// Returns whether the delegate's outputs of this name are recorded.
  runtime::Result<bool> is_asked_for(const char* name, DelegateDebugIntId number);
  runtime::Result<bool> log_of_delegate(const char* name, DelegateDebugIntId number,
                                        const ET_RUNTIME_NAMESPACE::EValue& value);
  runtime::Result<Place> tensor(const executorch::aten::Tensor& value);
  runtime::Result<Place> tensor_list(executorch::aten::ArrayRef<executorch::aten::Tensor> values);
  Place debug_event(const DelegateId* id, Place value);

  TraceBuffer buffer_;
  TraceTables tables_;
  std::optional<BufferDataSink> own_sink_;
  DataSinkBase* data_sink_ = nullptr;
  ET_RUNTIME_NAMESPACE::EventTracerFilterBase* filter_ = nullptr;
  /// Blocks begun; all but the last are written, and come first in the buffer's list.
  size_t blocks_ = 0;
  Place block_name_ = 0;
  int block_bundled_input_ = ET_RUNTIME_NAMESPACE::kUnsetBundledInputIndex;
  Place allocators_[kAllocators] = {};
  Place allocator_names_[kAllocators] = {};
  /// Bytes of each that no event tells yet.
  uint64_t untold_[kAllocators] = {};
  size_t allocator_count_ = 0;
  size_t dropped_ = 0;
};

}  // namespace executorch::etdump

// Documented names of the same things.
namespace torch::executor {
using ::executorch::etdump::ETDumpGen;
using etdump_result = ::executorch::etdump::ETDumpResult;
}  // namespace torch::executor
