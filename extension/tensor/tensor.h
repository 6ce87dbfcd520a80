// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Everything about tensors that own their memory.
#pragma once

#include <executorch/extension/tensor/tensor_accessor.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
