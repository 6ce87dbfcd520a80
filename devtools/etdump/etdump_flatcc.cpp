// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Blocks, profiling and allocation events. Values are recorded in debug_events.cpp.
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <string_view>

#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::etdump {

using ET_RUNTIME_NAMESPACE::DelegateDebugIdType;
using ET_RUNTIME_NAMESPACE::EventTracerOperatorEntry;
using ET_RUNTIME_NAMESPACE::kOperatorCallName;
using ET_RUNTIME_NAMESPACE::kUnsetChainId;
using ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId;
using runtime::Span;

namespace {

/// Bit mask of the present fields of a table, from their field numbers.
constexpr uint32_t fields() { return 0; }
template <typename... T>
constexpr uint32_t fields(uint32_t first, T... others) {
  return 1U << first | fields(others...);
}

// Field numbers of a trace's tables (docs/formats/etdp.md).
namespace dump {
constexpr uint32_t kVersion = 0, kRuns = 1;
constexpr uint32_t kAll = fields(kVersion, kRuns);
}  // namespace dump
namespace run {
constexpr uint32_t kName = 0, kBundledInput = 1, kAllocators = 2, kEvents = 3;
constexpr uint32_t kAll = fields(kName, kBundledInput, kAllocators, kEvents);
}  // namespace run
namespace event {
constexpr uint32_t kProfile = 0, kAllocation = 1;
}  // namespace event
namespace profile_event {
constexpr uint32_t kName = 0, kChain = 1, kInstruction = 2, kDelegateInt = 3, kDelegateText = 4,
                   kMetadata = 5, kStart = 6, kEnd = 7;
constexpr uint32_t kAlways = fields(kChain, kInstruction, kStart, kEnd);
}  // namespace profile_event
namespace allocation_event {
constexpr uint32_t kAllocator = 0, kSize = 1;
}  // namespace allocation_event

/// Bytes to end a record besides its lists: a run, the dump, their vectors, the header.
constexpr size_t kEndBytes = 512;

size_t length_of(const char* text) { return text == nullptr ? 0 : strlen(text); }

}  // namespace

ETDumpGen::ETDumpGen(Span<uint8_t> buffer) : buffer_(buffer), tables_(buffer_) {}

void ETDumpGen::reset() {
  buffer_.clear();
  tables_.clear();
  blocks_ = 0;
  allocator_count_ = 0;
  for (uint64_t& bytes : pending_) {
    bytes = 0;
  }
  dropped_ = 0;
}

bool ETDumpGen::reserve(size_t bytes) {
  // Each event needs room in the list and in the vector that is written from the list at the end.
  const size_t ending = kEndBytes + (buffer_.list_size() + kAllocators + 2) * sizeof(Place);
  if (buffer_.has_room_for(bytes + sizeof(Place) + ending)) {
    return true;
  }
  if (dropped_++ == 0) {
    ET_LOG(Error,
           "event tracer: its memory is full after %zu blocks; later events are not recorded",
           blocks_);
  }
  return false;
}

void ETDumpGen::prepare_layouts() {
  // get_etdump_data() writes the end of the record and takes it back later; the vtables, written
  // here, stay.
  tables_.table(kDumpLayout, dump::kAll);
  tables_.table(kRunLayout, run::kAll);
}

void ETDumpGen::create_event_block(const char* name) {
  if (!reserve(3 * TraceTables::kMaxTableBytes + TraceTables::bytes_of(length_of(name) + 1, 1))) {
    return;
  }
  if (blocks_ == 0) {
    prepare_layouts();
  } else {
    const Place closed = close_block();
    buffer_.pop_to(blocks_ - 1);
    buffer_.push(closed);
  }
  block_name_ = tables_.string(name == nullptr ? "" : name);
  block_bundled_input_ = bundled_input_index();
  ++blocks_;
}

Place ETDumpGen::close_block() {
  const Place events = tables_.listed_tables(blocks_ - 1, buffer_.list_size() - (blocks_ - 1));
  const Place allocators = tables_.tables(allocators_, allocator_count_);
  const Place block = tables_.table(kRunLayout, run::kAll);
  tables_.refer(block, kRunLayout, run::kName, block_name_);
  tables_.set<int32_t>(block, kRunLayout, run::kBundledInput, block_bundled_input_);
  tables_.refer(block, kRunLayout, run::kAllocators, allocators);
  tables_.refer(block, kRunLayout, run::kEvents, events);
  return block;
}

ETDumpResult ETDumpGen::get_etdump_data() {
  if (blocks_ == 0) {
    return {nullptr, 0};
  }
  const size_t used = buffer_.used();
  const Place last = close_block();
  // Finished blocks come first in the list. The open block temporarily takes the place of its first
  // event, or one more place if it has no event.
  const size_t list_size = buffer_.list_size();
  const Place replaced = list_size < blocks_ ? 0 : buffer_.listed(blocks_ - 1);
  buffer_.put(blocks_ - 1, last);
  const Place runs = tables_.listed_tables(0, blocks_);
  if (list_size >= blocks_) {
    buffer_.put(blocks_ - 1, replaced);
  }
  const Place root = tables_.table(kDumpLayout, dump::kAll);
  tables_.set(root, kDumpLayout, dump::kVersion, uint32_t{ETDUMP_VERSION});
  tables_.refer(root, kDumpLayout, dump::kRuns, runs);
  const Place begin = tables_.finish(root);
  ETDumpResult result = {buffer_.at(begin), begin};
  if (!buffer_.is_callers()) {
    result.buf = malloc(begin);
    if (result.buf == nullptr) {
      ET_LOG(Error, "event tracer: cannot allocate %u bytes", static_cast<unsigned>(begin));
      result.size = 0;
    } else {
      memcpy(result.buf, buffer_.at(begin), begin);
    }
  }
  buffer_.rewind(used);
  return result;
}

void ETDumpGen::push_event(uint32_t kind, Place event) {
  const Place allocation = kind == event::kProfile ? pending_allocation() : 0;
  const Place wrapper = tables_.table(
      kEventLayout, fields(kind) | (allocation != 0 ? fields(event::kAllocation) : 0));
  tables_.refer(wrapper, kEventLayout, kind, event);
  if (allocation != 0) {
    tables_.refer(wrapper, kEventLayout, event::kAllocation, allocation);
  }
  buffer_.push(wrapper);
}

Place ETDumpGen::pending_allocation() {
  namespace f = allocation_event;
  for (size_t i = 0; i < allocator_count_; ++i) {
    if (pending_[i] != 0) {
      const Place place = tables_.table(kAllocationLayout, fields(f::kAllocator, f::kSize));
      tables_.set<int32_t>(place, kAllocationLayout, f::kAllocator, static_cast<int32_t>(i + 1));
      tables_.set<uint64_t>(place, kAllocationLayout, f::kSize, pending_[i]);
      pending_[i] = 0;
      return place;
    }
  }
  return 0;
}

bool ETDumpGen::has_pending() const {
  for (size_t i = 0; i < allocator_count_; ++i) {
    if (pending_[i] != 0) {
      return true;
    }
  }
  return false;
}

bool ETDumpGen::has_block() {
  if (blocks_ == 0) {
    create_event_block("Default");
  }
  return blocks_ != 0;
}

ETDumpGen::Entry ETDumpGen::start_profiling(const char* name, ChainID chain_id,
                                            DebugHandle debug_handle) {
  Entry entry;
  const std::string_view text = name == nullptr ? "" : name;
  if (has_block() && reserve(TraceTables::bytes_of(text.size() + 1, 1))) {
    entry.event_id = tables_.string(text.data(), text.size());
  }
  const bool is_given = chain_id != kUnsetChainId;
  entry.chain_id = is_given ? chain_id : chain_id_;
  entry.debug_handle = is_given ? debug_handle : debug_handle_;
  entry.start_time = runtime::pal_current_ticks();
  return entry;
}

void ETDumpGen::end_profiling(Entry prof_entry) {
  const et_timestamp_t end = runtime::pal_current_ticks();
  if (prof_entry.event_id > 0 && reserve(3 * TraceTables::kMaxTableBytes)) {
    push_named(static_cast<Place>(prof_entry.event_id), prof_entry, end);
  }
}

EventTracerOperatorEntry ETDumpGen::start_operator(const char* kernel_name) {
  EventTracerOperatorEntry entry;
  constexpr std::string_view kAround = kOperatorCallName;
  const std::string_view text = kernel_name == nullptr ? "" : kernel_name;
  if (has_block() && reserve(TraceTables::bytes_of(kAround.size() + 1, 1) +
                             TraceTables::bytes_of(text.size() + 1, 1))) {
    entry.around.event_id = tables_.string(kAround.data(), kAround.size());
    entry.kernel.event_id = tables_.string(text.data(), text.size());
  }
  const et_timestamp_t start = runtime::pal_current_ticks();
  for (Entry* event : {&entry.around, &entry.kernel}) {
    event->chain_id = chain_id_;
    event->debug_handle = debug_handle_;
    event->start_time = start;
  }
  return entry;
}

void ETDumpGen::end_operator(const EventTracerOperatorEntry& entry) {
  const et_timestamp_t end = runtime::pal_current_ticks();
  for (const Entry* event : {&entry.kernel, &entry.around}) {
    if (event->event_id > 0 && reserve(3 * TraceTables::kMaxTableBytes)) {
      push_named(static_cast<Place>(event->event_id), *event, end);
    }
  }
}

void ETDumpGen::push_named(Place name, const Entry& entry, et_timestamp_t end) {
  namespace f = profile_event;
  if (has_pending()) {
    push_event(event::kProfile, profile(name, nullptr, entry, end, 0));
    return;
  }
  const Place place = tables_.two_tables(kEventLayout, event::kProfile, kProfileLayout,
                                         f::kAlways | fields(f::kName));
  const Place inner = TraceTables::second_of(place, kEventLayout);
  tables_.refer(inner, kProfileLayout, f::kName, name);
  tables_.set<int32_t>(inner, kProfileLayout, f::kChain, entry.chain_id);
  tables_.set<int32_t>(inner, kProfileLayout, f::kInstruction,
                       static_cast<int32_t>(entry.debug_handle));
  tables_.set<uint64_t>(inner, kProfileLayout, f::kStart, entry.start_time);
  tables_.set<uint64_t>(inner, kProfileLayout, f::kEnd, end);
  buffer_.push(place);
}

Place ETDumpGen::profile(Place name, const DelegateId* id, Entry entry, et_timestamp_t end,
                         Place metadata) {
  namespace f = profile_event;
  const bool has_number = id != nullptr && id->number != kUnsetDelegateDebugIntId;
  const Place text = id == nullptr ? 0 : id->name;
  const Place place = tables_.table(
      kProfileLayout,
      f::kAlways | (name != 0 ? fields(f::kName) : 0) | (has_number ? fields(f::kDelegateInt) : 0) |
          (text != 0 ? fields(f::kDelegateText) : 0) | (metadata != 0 ? fields(f::kMetadata) : 0));
  tables_.set<int32_t>(place, kProfileLayout, f::kChain, entry.chain_id);
  tables_.set<int32_t>(place, kProfileLayout, f::kInstruction,
                       static_cast<int32_t>(entry.debug_handle));
  tables_.set<uint64_t>(place, kProfileLayout, f::kStart, entry.start_time);
  tables_.set<uint64_t>(place, kProfileLayout, f::kEnd, end);
  if (name != 0) {
    tables_.refer(place, kProfileLayout, f::kName, name);
  }
  if (has_number) {
    tables_.set<int32_t>(place, kProfileLayout, f::kDelegateInt, id->number);
  }
  if (text != 0) {
    tables_.refer(place, kProfileLayout, f::kDelegateText, text);
  }
  if (metadata != 0) {
    tables_.refer(place, kProfileLayout, f::kMetadata, metadata);
  }
  return place;
}

ETDumpGen::DelegateId ETDumpGen::delegate_id(const char* name, DelegateDebugIntId number) {
  if (name == nullptr) {
    return {0, number};
  }
  return {tables_.string(name), kUnsetDelegateDebugIntId};
}

ETDumpGen::Entry ETDumpGen::start_profiling_delegate(const char* name,
                                                     DelegateDebugIntId delegate_debug_index) {
  Entry entry;
  if (name == nullptr) {
    entry.delegate_event_id_type = DelegateDebugIdType::kInt;
    entry.event_id = delegate_debug_index;
  } else if (blocks_ != 0 && reserve(TraceTables::bytes_of(strlen(name) + 1, 1))) {
    entry.delegate_event_id_type = DelegateDebugIdType::kStr;
    entry.event_id = tables_.string(name);
  }
  entry.chain_id = chain_id_;
  entry.debug_handle = debug_handle_;
  entry.start_time = runtime::pal_current_ticks();
  return entry;
}

void ETDumpGen::end_profiling_delegate(Entry entry, const void* metadata, size_t metadata_len) {
  const et_timestamp_t end = runtime::pal_current_ticks();
  if (entry.delegate_event_id_type == DelegateDebugIdType::kNone || blocks_ == 0 ||
      !reserve(3 * TraceTables::kMaxTableBytes + TraceTables::bytes_of(metadata_len, 1))) {
    return;
  }
  const bool is_number = entry.delegate_event_id_type == DelegateDebugIdType::kInt;
  const DelegateId id = {
      is_number ? 0 : static_cast<Place>(entry.event_id),
      is_number ? static_cast<DelegateDebugIntId>(entry.event_id) : kUnsetDelegateDebugIntId};
  const Place data = metadata_len == 0 ? 0 : tables_.bytes(metadata, metadata_len);
  push_event(event::kProfile, profile(0, &id, entry, end, data));
}

void ETDumpGen::log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                       et_timestamp_t start_time, et_timestamp_t end_time,
                                       const void* metadata, size_t metadata_len) {
  if (blocks_ == 0 ||
      !reserve(3 * TraceTables::kMaxTableBytes + TraceTables::bytes_of(length_of(name) + 1, 1) +
               TraceTables::bytes_of(metadata_len, 1))) {
    return;
  }
  Entry entry;
  entry.chain_id = chain_id_;
  entry.debug_handle = debug_handle_;
  entry.start_time = start_time;
  const DelegateId id = delegate_id(name, delegate_debug_index);
  const Place data = metadata_len == 0 ? 0 : tables_.bytes(metadata, metadata_len);
  push_event(event::kProfile, profile(0, &id, entry, end_time, data));
}

ETDumpGen::AllocatorID ETDumpGen::track_allocator(const char* name) {
  const char* const wanted = name == nullptr ? "" : name;
  for (size_t i = 0; i < allocator_count_; ++i) {
    if (tables_.is_string(allocator_names_[i], wanted)) {
      return static_cast<AllocatorID>(i + 1);
    }
  }
  if (allocator_count_ == kAllocators ||
      !reserve(TraceTables::kMaxTableBytes + TraceTables::bytes_of(length_of(name) + 1, 1))) {
    return 0;
  }
  const Place text = tables_.string(wanted);
  const Place place = tables_.table(kAllocatorLayout, fields(0));
  tables_.refer(place, kAllocatorLayout, 0, text);
  allocators_[allocator_count_] = place;
  allocator_names_[allocator_count_] = text;
  return static_cast<AllocatorID>(++allocator_count_);
}

void ETDumpGen::track_allocation(AllocatorID id, size_t size) {
  if (id != 0 && id <= allocator_count_) {
    pending_[id - 1] += size;
  }
}

}  // namespace executorch::etdump
