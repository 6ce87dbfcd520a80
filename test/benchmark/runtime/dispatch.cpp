// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// dispatch_benchmark PROGRAM: measures the cost of an instruction in addition to its kernel. The
// program is a chain of aten::add.out of one element (dispatch.py makes it). Subtracts the time of
// the same kernel called as often in a loop, also on a chain of tensors.
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace {

using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Method;
using executorch::runtime::OpFunction;

constexpr size_t kRounds = 3000;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "dispatch_benchmark: %s\n", what);
  exit(1);
}

/// x, y, y + x, ...: each addition's arguments as a method has them.
class Chain final {
 public:
  explicit Chain(size_t length) : values_(2 * length + 3), arguments_(length) {
    for (size_t i = 0; i < length + 2; ++i) {
      tensors_.push_back(make_tensor_ptr({1}, std::vector<float>{0.5f}));
      values_[i] = EValue(*tensors_.back());
    }
    EValue& alpha = values_[length + 2] = EValue(int64_t{1});
    for (size_t i = 0; i < length; ++i) {
      arguments_[i] = {&values_[i + 1], &values_[0], &alpha, &values_[i + 2], &values_[i + 2]};
    }
  }

  void run(OpFunction kernel) {
    KernelRuntimeContext context;
    for (std::vector<EValue*>& arguments : arguments_) {
      kernel(context, {arguments.data(), arguments.size()});
    }
    if (context.failure_state() != Error::Ok) {
      fail("the kernel failed");
    }
  }

 private:
  std::vector<TensorPtr> tensors_;
  std::vector<EValue> values_;
  std::vector<std::vector<EValue*>> arguments_;
};

double nanoseconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fail("usage: dispatch_benchmark PROGRAM");
  }
  Module module(argv[1]);
  const auto method = module.method("forward");
  const auto meta = module.method_meta("forward");
  const auto kernel = executorch::runtime::get_op_function_from_registry("aten::add.out");
  if (!method.ok() || !meta.ok() || !kernel.ok()) {
    fail("the program cannot be loaded");
  }
  const TensorPtr input = make_tensor_ptr({1}, std::vector<float>{0.5f});
  const size_t length = meta->num_instructions();
  Chain chain(length);
  double in_method = 1e30;
  double in_loop = 1e30;
  for (size_t round = 0; round < kRounds; ++round) {
    if ((*method)->set_input(EValue(*input), 0) != Error::Ok) {
      fail("the input is refused");
    }
    in_method = std::min(in_method, nanoseconds([&] {
                           if ((*method)->execute() != Error::Ok) {
                             fail("the execution failed");
                           }
                         }));
    in_loop = std::min(in_loop, nanoseconds([&] { chain.run(*kernel); }));
  }
  const double of_one = 1.0 / static_cast<double>(length);
  printf("%zu instructions: %.2f ns each, %.2f ns in the kernel, %.2f ns beyond it\n", length,
         in_method * of_one, in_loop * of_one, (in_method - in_loop) * of_one);
  return 0;
}
