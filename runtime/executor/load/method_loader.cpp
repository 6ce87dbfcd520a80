// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/method_loader.h>

#include <inttypes.h>

#include <algorithm>
#include <new>
#include <utility>

#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/executor/load/alias_model.h>
#include <executorch/runtime/executor/load/delegate_loader.h>
#include <executorch/runtime/executor/load/instruction_loader.h>
#include <executorch/runtime/executor/load/value_loader.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::items;

Result<Method> MethodLoader::load(const MethodRequest& request) {
  internal::event_tracer_create_event_block(request.event_tracer, "Default");
  const internal::EventTracerProfileMethodScope load(request.event_tracer, "Program::load_method");
  const internal::EventTracerProfileMethodScope init(request.event_tracer, "Method::init");
  Method method(&request.program, &request.plan, &request.memory, request.event_tracer);
  // If a step fails, the method frees the results of the steps before it.
  ET_CHECK_OK_OR_RETURN_ERROR(MethodLoader(request, &method).run());
  return method;
}

Error MethodLoader::run() {
  const fb::ExecutionPlan& plan = request_.plan;
  track_allocators();
  ET_CHECK_OK_OR_RETURN_ERROR(allocate());
  report_allocated();
  report_planned_memory();
  ET_CHECK_OK_OR_RETURN_ERROR(mark_inputs());
  ET_CHECK_OK_OR_RETURN_ERROR(check_planned_memory());
  ET_CHECK_OK_OR_RETURN_ERROR(internal::ValueLoader(request_.program, plan, request_.memory, data_,
                                                    &method_.block_, &method_.external_made_)
                                  .load());
  if (!method_.block_.plan_words.empty()) {
    ET_CHECK_OK_OR_RETURN_ERROR(method_.parametric_plan_.load(plan, method_.block_));
  }
  // The lists' pointers come first, the instructions' after them.
  const size_t lists = method_.block_.int_items.size() + method_.block_.tensor_items.size() +
                       method_.block_.optional_items.size();
  const Span<EValue*> pointers = method_.block_.pointers;
  ET_CHECK_OK_OR_RETURN_ERROR(
      internal::InstructionLoader(plan, request_.kernels, method_.block_,
                                  {pointers.data() + lists, pointers.size() - lists})
          .load());
  ET_CHECK_OK_OR_RETURN_ERROR(load_delegates());
  internal::AliasModel model(plan, method_.block_, request_.program.program_data_.size());
  ET_CHECK_OK_OR_RETURN_ERROR(model.check());
  method_.view_facts_ = model.view_facts();
  return Error::Ok;
}

Error MethodLoader::allocate() {
  const size_t plan_words = request_.program.parametric_plan_words(request_.plan);
  const internal::MethodCounts counts = internal::count_method(request_.plan, plan_words);
  const size_t size = internal::lay_out_method(counts, nullptr, &method_.block_);
  void* memory =
      request_.memory.method_allocator()->allocate(size, internal::kMethodBlockAlignment);
  internal::lay_out_method(memory == nullptr ? internal::MethodCounts() : counts,
                           static_cast<uint8_t*>(memory), &method_.block_);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "method '%s': the method allocator lacks room for %zu bytes",
                           request_.plan.name()->c_str(), size);
  internal::construct_references(method_.block_);
  std::fill(method_.block_.plan_values.begin(), method_.block_.plan_values.end(), 0);
  return internal::parametric_plans_are_linked()
             ? request_.program.load_parametric_plan(request_.plan, method_.block_.plan_words)
             : Error::Ok;
}

Error MethodLoader::check_planned_memory() const {
  const auto sizes = items(request_.plan.non_const_buffer_sizes());
  HierarchicalAllocator* const planned = request_.memory.planned_memory();
  for (uint32_t id = 1; id < sizes.size(); ++id) {
    // The size of a parametric buffer is known when the method is executed.
    if (sizes[id] == 0 ||
        (id == internal::kParametricMemoryId && !method_.block_.plan_words.empty())) {
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(planned != nullptr, MemoryAllocationFailed,
                             "method '%s' needs planned memory, none was given",
                             request_.plan.name()->c_str());
    // The file counts buffers from 1.
    ET_CHECK_OK_OR_RETURN_ERROR(
        planned->get_offset_address(id - 1, 0, static_cast<size_t>(sizes[id])).error(),
        "method '%s' needs %" PRId64 " bytes in planned buffer %" PRIu32,
        request_.plan.name()->c_str(), sizes[id], id - 1);
  }
  return Error::Ok;
}

Error MethodLoader::mark_inputs() const {
  const Span<uint8_t> flags = method_.block_.flags;
  std::fill(flags.begin(), flags.end(), uint8_t{0});
  const auto inputs = items(request_.plan.inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto index = static_cast<size_t>(inputs[i]);
    uint8_t& flag = flags[index];
    ET_CHECK_OR_RETURN_ERROR(flag == 0, InvalidProgram,
                             "method '%s': value %zu is two inputs, expected a value for each",
                             request_.plan.name()->c_str(), index);
    flag = internal::kInputValue;
    // ValueLoader replaces it.
    method_.block_.values[index] = EValue(static_cast<int64_t>(i));
  }
  return Error::Ok;
}

Error MethodLoader::load_delegates() {
  const internal::DelegateLoader loader(request_.program, request_.plan.name()->c_str(),
                                        request_.memory.method_allocator(), request_.event_tracer,
                                        data_, request_.backend_options);
  Span<CompileSpec> specs = method_.block_.compile_specs;
  for (size_t i = 0; i < method_.block_.delegates.size(); ++i) {
    const fb::BackendDelegate& source = *request_.plan.delegates()->Get(i);
    const size_t own = count(source.compile_specs());
    ET_CHECK_OK_OR_RETURN_ERROR(
        loader.load(source, {specs.data(), own}, &method_.block_.delegates[i]));
    ++method_.delegates_made_;
    report_allocated();
    specs = {specs.data() + own, specs.size() - own};
  }
  return Error::Ok;
}

void MethodLoader::track_allocators() {
  if (internal::tracing(request_.event_tracer)) {
    allocator_id_ = request_.event_tracer->track_allocator("method allocator");
    allocated_before_ = request_.memory.method_allocator()->used_size();
    method_.temp_allocator_id_ = request_.event_tracer->track_allocator("temp allocator");
  }
}

void MethodLoader::report_planned_memory() {
  if (!internal::tracing(request_.event_tracer)) {
    return;
  }
  const AllocatorID id = request_.event_tracer->track_allocator("planned memory");
  const MethodMeta meta = method_.method_meta();
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const Result<int64_t> size = meta.memory_planned_buffer_size(i);
    request_.event_tracer->track_allocation(id, size.ok() ? static_cast<size_t>(*size) : 0);
  }
}

void MethodLoader::report_allocated() {
  if (internal::tracing(request_.event_tracer)) {
    const size_t used = request_.memory.method_allocator()->used_size();
    if (used > allocated_before_) {
      request_.event_tracer->track_allocation(allocator_id_, used - allocated_before_);
    }
    allocated_before_ = used;
  }
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
