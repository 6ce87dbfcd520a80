/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
#pragma once

#include <executorch/extension/c_api/executorch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a program that takes tensors of six floats and returns one. */
et_error run_add(const void* data, size_t size, const float input[6], float output[6]);

#ifdef __cplusplus
}
#endif
