// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdio.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

/// Runs "forward" on ones and prints the first output's numbers. Returns the exit status.
inline int print_outputs(executorch::extension::Module& module) {
  const auto meta = module.method_meta("forward");
  if (!meta.ok()) return 1;
  const auto sizes = meta->input_tensor_meta(0)->sizes();
  const auto outputs =
      module.forward(executorch::extension::ones({sizes.data(), sizes.data() + sizes.size()}));
  if (!outputs.ok()) return 1;
  const auto& result = outputs->at(0).toTensor();
  for (ssize_t i = 0; i < result.numel(); ++i) {
    printf("%.4f ", static_cast<double>(result.const_data_ptr<float>()[i]));
  }
  return 0;
}
