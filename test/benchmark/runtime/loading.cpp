// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// loading_benchmark [LARGEST_MB [SHAPE] | FILE.pte]: measures verifying a program and loading its
// method, for files of growing size and of shapes that could make either quadratic, or for the file
// alone. Milliseconds of processor time, the minimum of some rounds. A refused file takes as long
// as an accepted one, up to the fault.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/program_generated.h>

namespace {

namespace fb = executorch_flatbuffer;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

enum Shape { kChain, kViews, kMoves, kManyResults, kManyInputs, kSharedLists, kShapes };
constexpr const char* kNames[] = {"chain of kernels", "views of one tensor", "moves to one tensor",
                                  "many results",     "many inputs",         "shared lists"};

/// A method of as many instructions as fill the file, written table by table.
class Writer final {
 public:
  std::vector<uint8_t> write(Shape shape, size_t bytes) {
    sizes_ = b_.CreateVector(std::vector<int32_t>{2});
    order_ = b_.CreateVector(std::vector<uint8_t>{0});
    const std::vector<Offset<fb::Operator>> operators = {
        fb::CreateOperator(b_, b_.CreateString("aten::add"), b_.CreateString("out")),
        fb::CreateOperator(b_, b_.CreateString("executorch_prim::et_view"),
                           b_.CreateString("default")),
        fb::CreateOperator(b_, b_.CreateString("aten::split_copy"), b_.CreateString("Tensor_out"))};
    value(fb::KernelTypes::Int, fb::CreateInt(b_, 2).Union());
    value(fb::KernelTypes::Int, fb::CreateInt(b_, 1).Union());
    value(fb::KernelTypes::IntList,
          fb::CreateIntList(b_, b_.CreateVector(std::vector<int64_t>{0})).Union());
    const int32_t first = planned();
    const int32_t second = planned();
    inputs_ = {first, second};
    if (shape == kSharedLists) return share(bytes);
    int32_t last = second;
    while (b_.GetSize() < bytes) last = step(shape, first, last, bytes);
    const auto values = b_.CreateVector(values_);
    const std::vector<Offset<fb::Chain>> chains = {
        fb::CreateChain(b_, 0, 0, b_.CreateVector(code_), 0)};
    return finish({plan(values, b_.CreateVector(operators), b_.CreateVector(chains))});
  }

 private:
  int32_t value(fb::KernelTypes kind, Offset<void> payload) {
    values_.push_back(fb::CreateEValue(b_, kind, payload));
    return static_cast<int32_t>(values_.size() - 1);
  }
  int32_t tensor(Offset<fb::AllocationDetails> place) {
    return value(
        fb::KernelTypes::Tensor,
        fb::CreateTensor(b_, fb::ScalarType::FLOAT, 0, sizes_, order_, false, 0, place).Union());
  }
  int32_t planned() {
    const auto at = static_cast<uint32_t>(8 * planned_++);
    return tensor(fb::CreateAllocationDetails(b_, 1, at, 0));
  }
  void call(int32_t op, std::vector<int32_t> arguments) {
    code_.push_back(
        fb::CreateInstruction(b_, fb::InstructionArguments::KernelCall,
                              fb::CreateKernelCall(b_, op, b_.CreateVector(arguments)).Union()));
  }
  void move(int32_t from, int32_t to) {
    code_.push_back(fb::CreateInstruction(b_, fb::InstructionArguments::MoveCall,
                                          fb::CreateMoveCall(b_, from, to).Union()));
  }

  /// Adds some instructions; returns the last result.
  int32_t step(Shape shape, int32_t first, int32_t last, size_t bytes) {
    const int32_t id = shape == kViews ? tensor(0) : planned();
    if (shape == kViews) {
      call(1, {first, 2, id});
      const int32_t out = planned();
      call(0, {id, last, 1, out, out});
      return out;
    }
    if (shape == kMoves && id != 5) {
      move(id, 5);
      call(0, {5, first, 1, last, last});
      return last == 3 ? 4 : 3;
    }
    if (shape == kManyInputs) inputs_.push_back(id);
    if (shape == kManyResults) {
      std::vector<int32_t> results = {id};
      while (b_.GetSize() < bytes - bytes / 10) results.push_back(planned());
      const int32_t list = value(fb::KernelTypes::TensorList,
                                 fb::CreateTensorList(b_, b_.CreateVector(results)).Union());
      call(2, {first, 0, 1, list, list});
      return id;
    }
    const int32_t out = shape == kManyInputs ? planned() : id;
    call(0, {first, last, 1, out, out});
    return out;
  }

  /// Methods with one list of inputs.
  std::vector<uint8_t> share(size_t bytes) {
    const auto values = b_.CreateVector(values_.data(), 1);
    const auto numbers = b_.CreateVector(std::vector<int32_t>(bytes / 8, 0));
    const auto name = b_.CreateString("forward");
    std::vector<Offset<fb::ExecutionPlan>> plans;
    while (b_.GetSize() < bytes) {
      fb::ExecutionPlanBuilder builder(b_);
      builder.add_name(name);
      builder.add_values(values);
      builder.add_inputs(numbers);
      plans.push_back(builder.Finish());
    }
    return finish(plans);
  }
  Offset<fb::ExecutionPlan> plan(Offset<flatbuffers::Vector<Offset<fb::EValue>>> values,
                                 Offset<flatbuffers::Vector<Offset<fb::Operator>>> operators,
                                 Offset<flatbuffers::Vector<Offset<fb::Chain>>> chains) {
    const auto inputs = b_.CreateVector(inputs_);
    const auto outputs = b_.CreateVector(std::vector<int32_t>{inputs_.back()});
    const auto buffers =
        b_.CreateVector(std::vector<int64_t>{0, static_cast<int64_t>(8 * planned_)});
    return fb::CreateExecutionPlan(b_, b_.CreateString("forward"), 0, values, inputs, outputs,
                                   chains, operators, 0, buffers);
  }
  std::vector<uint8_t> finish(const std::vector<Offset<fb::ExecutionPlan>>& plans) {
    b_.Finish(fb::CreateProgram(b_, 0, b_.CreateVector(plans)), "ET12");
    return {b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize()};
  }

  FlatBufferBuilder b_{1 << 20};
  Offset<flatbuffers::Vector<int32_t>> sizes_;
  Offset<flatbuffers::Vector<uint8_t>> order_;
  std::vector<Offset<fb::EValue>> values_;
  std::vector<Offset<fb::Instruction>> code_;
  std::vector<int32_t> inputs_;
  size_t planned_ = 0;
};

/// Each round repeats `f` until a millisecond has passed, because clock() counts microseconds.
template <typename F>
double milliseconds(F&& f) {
  double fastest = 1e9;
  for (int round = 0; round < 5; ++round) {
    const clock_t begin = clock();
    clock_t passed = 0;
    int times = 0;
    while (passed < CLOCKS_PER_SEC / 1000) {
      f();
      ++times;
      passed = clock() - begin;
    }
    fastest = std::min(fastest, 1000.0 * static_cast<double>(passed) / CLOCKS_PER_SEC / times);
  }
  return fastest;
}

struct Memory {
  std::vector<uint64_t> method;
  std::vector<uint64_t> planned;
};

/// Loads "forward"; returns the time without that of allocating memory.
double load_method(const Program& program, Error* error) {
  const Result<MethodMeta> meta = program.method_meta("forward");
  Memory memory{std::vector<uint64_t>(meta->method_allocator_size() / 8 + 1), {}};
  size_t size = 0;
  if (meta->num_memory_planned_buffers() > 0) {
    size = static_cast<size_t>(*meta->memory_planned_buffer_size(0));
  }
  memory.planned.resize(size / 8 + 1);
  Span<uint8_t> buffer(reinterpret_cast<uint8_t*>(memory.planned.data()), size);
  return milliseconds([&] {
    MemoryAllocator allocator(static_cast<uint32_t>(memory.method.size() * 8),
                              reinterpret_cast<uint8_t*>(memory.method.data()));
    HierarchicalAllocator planned(Span<Span<uint8_t>>(&buffer, 1));
    MemoryManager manager(&allocator, &planned);
    *error = program.load_method("forward", &manager).error();
  });
}

void measure(const char* name, const std::vector<uint8_t>& file) {
  uint64_t flatbuffer = file.size();
  if (file.size() >= 24 && memcmp(&file[8], "eh00", 4) == 0) {
    memcpy(&flatbuffer, &file[16], sizeof(flatbuffer));
  }
  const double size = static_cast<double>(flatbuffer) / (1 << 20);
  const BufferDataLoader loader(file.data(), file.size());
  Error error = Error::Ok;
  const double verified =
      milliseconds([&] { error = Program::load(const_cast<BufferDataLoader*>(&loader)).error(); });
  printf("%-20s %7.3f MB  verify %9.3f ms, %6.3f ms a MB", name, size, verified, verified / size);
  if (error == Error::Ok) {
    const Result<Program> program = Program::load(const_cast<BufferDataLoader*>(&loader));
    const double loaded = load_method(*program, &error);
    printf("  method %9.3f ms, %6.3f ms a MB", loaded, loaded / size);
  }
  printf("  %s\n", executorch::runtime::to_string(error));
}

}  // namespace

int main(int count, char** arguments) {
  const size_t largest = count > 1 ? strtoul(arguments[1], nullptr, 10) : 64;
  executorch::runtime::runtime_init();
  executorch::runtime::register_pal(
      executorch::runtime::PalImpl::create([](et_timestamp_t, et_pal_log_level_t, const char*,
                                              const char*, size_t, const char*, size_t) {},
                                           __FILE__));
  if (count > 1 && strchr(arguments[1], '.') != nullptr) {
    std::ifstream in(arguments[1], std::ios::binary);
    measure("file", std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {}));
    return 0;
  }
  const int only = count > 2 ? atoi(arguments[2]) : -1;
  for (int shape = 0; shape < kShapes; ++shape) {
    if (only >= 0 && shape != only) continue;
    for (size_t megabytes = 1; megabytes <= largest; megabytes *= 4) {
      measure(kNames[shape], Writer().write(static_cast<Shape>(shape), megabytes << 20));
    }
  }
  return 0;
}
