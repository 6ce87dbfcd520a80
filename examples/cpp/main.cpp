// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a program's forward on ones and prints the first numbers of its output.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>

using namespace executorch::extension;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PROGRAM.pte\n", argv[0]);
    return 2;
  }
  Module module(argv[1]);
  const auto input = ones({1, 64});
  const auto outputs = module.forward(input);
  if (!outputs.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], executorch::runtime::to_string(outputs.error()));
    return 1;
  }
  const auto output = outputs->at(0).toTensor();
  for (ssize_t i = 0; i < output.numel() && i < 10; ++i) {
    std::printf("%f\n", output.const_data_ptr<float>()[i]);
  }
  return 0;
}
