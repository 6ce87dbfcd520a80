// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/execute_program.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "fuzz/engine/features.h"
#include "fuzz/given/given_data_map.h"
#include "fuzz/given/given_tensor.h"
#include "fuzz/given/method_memory.h"
#include "fuzz/given/piece_loader.h"
#include "fuzz/program/program_values.h"
#include "runtime/silent_tracer.h"

namespace executorch::fuzz {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::MethodMeta;
using runtime::Program;
using runtime::Result;
using runtime::Span;
using runtime::Tag;
using runtime::TensorInfo;

constexpr size_t kMaxSteps = 2000;

/// Reports each operator that ran without an error as a feature.
class OperatorNoter final : public testing::SilentTracer {
 public:
  Entry start_profiling(const char* name, runtime::ChainID, runtime::DebugHandle) override {
    last_ = hash_of({reinterpret_cast<const uint8_t*>(name), strlen(name)});
    return {};
  }
  void step_ended() { note_feature(last_); }

 private:
  uint64_t last_ = 0;
};

/// Changes the caller's memory while a method runs on it.
class ConcurrentWriter final {
 public:
  explicit ConcurrentWriter(std::vector<std::unique_ptr<GivenTensor>>& tensors)
      : tensors_(tensors), thread_([this] { write(); }) {
    while (!has_begun_) {
      std::this_thread::yield();
    }
  }
  ~ConcurrentWriter() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void write() {
    for (uint8_t round = 0; !is_over_; ++round) {
      has_begun_ = true;
      for (const auto& tensor : tensors_) {
        for (size_t i = 0; i < tensor->nbytes(); ++i) {
          const_cast<volatile uint8_t*>(tensor->data())[i] = static_cast<uint8_t>(round * 37 + i);
        }
      }
      // On a busy processor the method would otherwise wait for the end of a time slice.
      std::this_thread::yield();
    }
  }

  std::vector<std::unique_ptr<GivenTensor>>& tensors_;
  std::atomic<bool> is_over_{false};
  std::atomic<bool> has_begun_{false};
  std::thread thread_;
};

class Execution final {
 public:
  Execution(Method& method, Random& random, bool is_varied, OtherThreads others,
            OperatorNoter* noter)
      : method_(method), random_(random), is_varied_(is_varied), others_(others), noter_(noter) {}

  /// Returns whether all executions ended well.
  bool run() {
    const size_t executions = is_varied_ ? 2 + random_.below(3) : 2;
    bool all = true;
    for (size_t i = 0; i < executions; ++i) {
      const bool done = run_once();
      if (!done && !is_varied_) {
        return false;
      }
      all = all && done;
    }
    return all;
  }

 private:
  bool run_once() {
    // An execution that was stopped in the middle cannot take inputs.
    std::vector<std::unique_ptr<GivenTensor>> tensors;
    if (method_.in_progress() || !set_inputs(tensors)) {
      return false;
    }
    tensors_ = std::move(tensors);
    give_outputs_memory();
    bool done = false;
    if (is_varied_ && random_.one_in(24) && others_ == OtherThreads::Change) {
      const ConcurrentWriter writer(tensors_);
      done = step_to_end();
    } else {
      done = step_to_end();
    }
    if (done) {
      read_outputs();
      done = method_.reset_execution() == Error::Ok;
    }
    return done;
  }

  std::vector<int32_t> sizes_for(const TensorInfo& info) {
    std::vector<int32_t> sizes(info.sizes().begin(), info.sizes().end());
    if (is_varied_ && !sizes.empty() && random_.one_in(2)) {
      int32_t& size = random_.pick(sizes);
      size = static_cast<int32_t>(random_.below(static_cast<size_t>(size) + 1));
    }
    return sizes;
  }

  Error set_input(const TensorInfo& info, std::vector<int32_t> sizes, size_t i,
                  std::vector<std::unique_ptr<GivenTensor>>& tensors) {
    const std::vector<uint8_t> order(info.dim_order().begin(), info.dim_order().end());
    tensors.push_back(std::make_unique<GivenTensor>(info.scalar_type(), std::move(sizes), order));
    if (is_varied_) {
      tensors.back()->fill(random_);
    }
    const EValue value(tensors.back()->tensor());
    if (is_varied_ && random_.one_in(4) && method_.bind_input_data(value, i) == Error::Ok) {
      return Error::Ok;
    }
    return method_.set_input(value, i);
  }

  bool set_inputs(std::vector<std::unique_ptr<GivenTensor>>& tensors) {
    const MethodMeta meta = method_.method_meta();
    for (size_t i = 0; i < meta.num_inputs(); ++i) {
      if (*meta.input_tag(i) != Tag::Tensor) {
        continue;
      }
      const TensorInfo info = *meta.input_tensor_meta(i);
      if (info.nbytes() > kMaxMethodMemory) {
        return false;
      }
      const std::vector<int32_t> largest(info.sizes().begin(), info.sizes().end());
      if (set_input(info, sizes_for(info), i, tensors) != Error::Ok &&
          set_input(info, largest, i, tensors) != Error::Ok) {
        // Inputs of before may still be the method's.
        std::move(tensors.begin(), tensors.end(), std::back_inserter(tensors_));
        return false;
      }
    }
    return true;
  }

  void give_outputs_memory() {
    const MethodMeta meta = method_.method_meta();
    for (size_t i = 0; i < meta.num_outputs(); ++i) {
      if (*meta.output_tag(i) != Tag::Tensor) {
        continue;
      }
      const TensorInfo info = *meta.output_tensor_meta(i);
      const bool is_replaced = is_varied_ && info.is_memory_planned() && random_.one_in(3);
      if (info.nbytes() > kMaxMethodMemory || (info.is_memory_planned() && !is_replaced)) {
        continue;
      }
      std::unique_ptr<uint8_t[]> block(new uint8_t[info.nbytes()]);
      memset(block.get(), random_.one_in(2) ? 1 : 0xA5, info.nbytes());
      const Error error = is_replaced
                              ? method_.replace_output_data_ptr(block.get(), info.nbytes(), i)
                              : method_.set_output_data_ptr(block.get(), info.nbytes(), i);
      // An input that is an output as well has its memory from the input.
      if (error == Error::Ok) {
        outputs_[i] = std::move(block);
      }
    }
  }

  void read_outputs() {
    for (size_t i = 0; i < method_.outputs_size(); ++i) {
      const EValue& value = method_.get_output(i);
      if (value.isTensor() && value.toTensor().const_data_ptr() != nullptr) {
        const std::vector<uint8_t> copy(
            static_cast<const uint8_t*>(value.toTensor().const_data_ptr()),
            static_cast<const uint8_t*>(value.toTensor().const_data_ptr()) +
                value.toTensor().nbytes());
        note_feature(copy.size());
      }
    }
  }

  bool step_to_end() {
    for (size_t i = 0; i < kMaxSteps; ++i) {
      const Error error = method_.step();
      if (error != Error::Ok) {
        return error == Error::EndOfMethod;
      }
      if (noter_ != nullptr) {
        noter_->step_ended();
      }
    }
    return false;
  }

  Method& method_;
  Random& random_;
  bool is_varied_;
  OtherThreads others_;
  OperatorNoter* noter_;
  std::vector<std::unique_ptr<GivenTensor>> tensors_;
  /// By the outputs' numbers. Replacing a block frees it.
  std::map<size_t, std::unique_ptr<uint8_t[]>> outputs_;
};

/// Reads the texts of every operator of a delegate.
void describe(const Method& method) {
  const Error error =
      method.describe_delegates([](size_t delegate, const runtime::DelegateOperator& op) {
        note_feature(strlen(op.name) + strlen(op.precision) + strlen(op.values) + delegate);
      });
  note_feature(static_cast<uint64_t>(error));
}

}  // namespace

Outcome execute_program(Span<const uint8_t> bytes, uint64_t script, OtherThreads others) {
  Outcome outcome;
  const bool is_varied = script != 0;
  Random random(script);
  const auto values = is_varied ? read_program(bytes) : std::nullopt;
  PieceLoader loader(bytes,
                     values.has_value() ? constant_ranges(*values) : std::vector<ConstantRange>());
  const GivenDataMap data(values.value_or(testing::TestProgram()), random);
  const Result<Program> program = Program::load(&loader);
  outcome.load = program.error();
  for (size_t i = 0; program.ok() && i < program->num_methods(); ++i) {
    const char* name = *program->get_method_name(i);
    const MethodMeta meta = *program->method_meta(name);
    if (!is_small(meta)) {
      continue;
    }
    MethodMemory memory(meta);
    OperatorNoter noter;
    uint8_t record[2048];
    std::optional<etdump::ETDumpGen> dump;
    runtime::EventTracer* tracer = nullptr;
    if (is_varied && random.one_in(8)) {
      tracer = &dump.emplace(Span<uint8_t>(record, random.below(sizeof(record))));
    } else if (is_varied && !random.one_in(3)) {
      tracer = &noter;
    }
    Result<Method> method = program->load_method(name, memory.manager.get(), tracer, &data);
    if (method.ok()) {
      ++outcome.methods_loaded;
      if (is_varied && random.one_in(8)) {
        describe(*method);
      }
      Execution execution(*method, random, is_varied, others, tracer == &noter ? &noter : nullptr);
      outcome.methods_executed += execution.run() ? 1 : 0;
    }
  }
  return outcome;
}

void execute_input(Span<const uint8_t> bytes) {
  const ProgramInput input = split_input(bytes);
  // A block of exactly these bytes, so that a sanitizer sees every byte too many.
  const std::vector<uint8_t> file(input.file.begin(), input.file.end());
  const Outcome outcome = execute_program({file.data(), file.size()}, input.script);
  note_feature(static_cast<uint64_t>(outcome.load) * 64 + outcome.methods_loaded * 8 +
               outcome.methods_executed);
}

}  // namespace executorch::fuzz
