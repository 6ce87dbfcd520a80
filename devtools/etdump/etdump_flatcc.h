// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// ETDumpGen: an EventTracer that records an .etdp file.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/trace_buffer.h>
#include <executorch/devtools/etdump/trace_tables.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

/// Version of the format of recorded traces.
#define ETDUMP_VERSION 0

namespace executorch::etdump {

/// A recorded value: kind, number of its field, place. Place 0: the format lacks its type.
struct RecordedValue {
  int8_t kind;
  uint32_t field;
  Place place;
};

struct ETDumpResult {
  void* buf;
  size_t size;
};

/// Records profiling, allocation and debug events (see EventTracer). Not thread-safe: methods must
/// not use one tracer concurrently.
///
/// Once the memory is full, further events are dropped and counted, and the log reports it once.
class ETDumpGen : public ET_RUNTIME_NAMESPACE::EventTracer {
 public:
  using AllocatorID = ET_RUNTIME_NAMESPACE::AllocatorID;
  using ChainID = ET_RUNTIME_NAMESPACE::ChainID;
  using DebugHandle = ET_RUNTIME_NAMESPACE::DebugHandle;
  using DelegateDebugIntId = ET_RUNTIME_NAMESPACE::DelegateDebugIntId;
  using Entry = ET_RUNTIME_NAMESPACE::EventTracerEntry;

  /// @param buffer Memory of the record, about 64 bytes for an event, 150 for that of a tensor.
  ///     Must outlive this. Nothing else is allocated. Empty: the object allocates growing memory.
  explicit ETDumpGen(runtime::Span<uint8_t> buffer = {});

  /// Clears the record. No event may be open.
  void reset();
  /// The documented name of reset().
  void clear_builder() { reset(); }

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
  /// Returns numbers from 1, equal for equal names; 0 if there are too many or the memory is full.
  AllocatorID track_allocator(const char* name) override;
  /// Adds to the next profiling event that ends, as a sum for each allocator, because readers do
  /// not expect events that consist of allocations only. Allocator 0 is ignored.
  void track_allocation(AllocatorID id, size_t size) override;

  /// Tensors require set_debug_buffer() or set_data_sink(), otherwise InvalidState. Returns false
  /// for types that the format lacks, and if the memory is full.
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

  /// Destination of the bytes of recorded tensors; must outlive this.
  runtime::Result<bool> set_debug_buffer(runtime::Span<uint8_t> buffer);
  void set_data_sink(DataSinkBase* data_sink) { data_sink_ = data_sink; }
  DataSinkBase* get_data_sink() { return data_sink_; }

  /// Returns the record so far, size-prefixed; null if it is empty. In the caller's buffer it is
  /// valid until the next recorded event. Otherwise the caller owns it and releases it by free().
  ETDumpResult get_etdump_data();

  size_t get_num_blocks() const { return blocks_; }
  bool is_static_etdump() const { return buffer_.is_callers(); }
  /// Number of events and values dropped because the memory was full.
  size_t dropped_events() const { return dropped_; }

 private:
  static constexpr size_t kAllocators = 16;

  /// Name or number of a delegate's event.
  struct DelegateId {
    Place name;
    DelegateDebugIntId number;
  };

  /// Reserves room for an event with `bytes` of strings, vectors and tables, and for the record's
  /// end.
  bool reserve(size_t bytes);
  void prepare_layouts();
  /// Writes the open block, which replaces its events in the list.
  Place close_block();
  Place profile(Place name, const DelegateId* id, Entry entry, et_timestamp_t end, Place metadata);
  void push_event(uint32_t kind, Place event);
  /// Writes an event with only a name, the most frequent kind, in one step.
  void push_named(Place name, const Entry& entry, et_timestamp_t end);
  bool has_pending() const;
  /// Begins a block unless one is open; false if the memory is full.
  bool has_block();
  /// Writes a pending allocation event; 0 without one.
  Place pending_allocation();
  DelegateId delegate_id(const char* name, DelegateDebugIntId number);
  /// Reserves room for an event with this number of tensors.
  bool reserve_value(size_t tensors, const char* name);
  runtime::Result<RecordedValue> write_value(const ET_RUNTIME_NAMESPACE::EValue& value);
  runtime::Result<bool> record(const runtime::Result<RecordedValue>& value, bool is_output,
                               const DelegateId* id);
  /// Returns whether the filter selects the delegate's output of this name or number.
  runtime::Result<bool> is_selected(const char* name, DelegateDebugIntId number);
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
  /// Number of blocks. All but the last are written and come first in the buffer's list.
  size_t blocks_ = 0;
  Place block_name_ = 0;
  int block_bundled_input_ = ET_RUNTIME_NAMESPACE::kUnsetBundledInputIndex;
  Place allocators_[kAllocators] = {};
  Place allocator_names_[kAllocators] = {};
  /// Pending bytes of each allocator, not yet recorded with an event.
  uint64_t pending_[kAllocators] = {};
  size_t allocator_count_ = 0;
  size_t dropped_ = 0;
};

}  // namespace executorch::etdump

// Documented ExecuTorch names.
namespace torch::executor {
using ::executorch::etdump::ETDumpGen;
using etdump_result = ::executorch::etdump::ETDumpResult;
}  // namespace torch::executor
