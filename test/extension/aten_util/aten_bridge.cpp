// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Portable tensors and at::Tensors share memory; exits with the number of the check that fails.
#include <ATen/ATen.h>

#include <executorch/extension/aten_util/aten_bridge.h>
#include <executorch/extension/tensor/tensor.h>

using executorch::extension::alias_attensor_to_etensor;
using executorch::extension::alias_etensor_to_attensor;
using executorch::extension::alias_tensor_ptr_to_attensor;
using executorch::extension::make_tensor_ptr;

int main() {
  auto et = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4});
  at::Tensor view = alias_attensor_to_etensor(*et);
  view[0][1] = 7;
  if (et->const_data_ptr<float>()[1] != 7) return 1;

  at::Tensor at = at::ones({2, 2});
  alias_etensor_to_attensor(at, *et);
  at.fill_(3);
  if (et->const_data_ptr<float>()[3] != 3) return 2;

  at::Tensor channels_last = at::rand({1, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  auto shared = alias_tensor_ptr_to_attensor(channels_last);
  if (shared->dim_order()[3] != 1 || shared->const_data_ptr() != channels_last.const_data_ptr()) {
    return 3;
  }
  if (!at::equal(alias_attensor_to_etensor(*shared), channels_last)) return 4;

  if (torch::util::torchToExecuTorchScalarType(at.dtype()) != torch::executor::ScalarType::Float ||
      torch::util::execuTorchtoTorchScalarType(torch::executor::ScalarType::Long) != at::kLong) {
    return 5;
  }
  return 0;
}
