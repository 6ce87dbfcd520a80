// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution where every output channel reads one input channel: too thin for a matrix product.
#pragma once

#include <executorch/kernels/portable/conv/operands.h>

namespace executorch::kernels::portable {

/// One output channel of one phase: out = bias + sum over taps. `image`, `weight` and `out` point
/// at the channel.
template <class T>
void depthwise_channel(const Plane& image, const WeightNest& weight, const WindowLoops& loops,
                       T bias, const Plane& out);

extern template void depthwise_channel<float>(const Plane&, const WeightNest&, const WindowLoops&,
                                              float, const Plane&);
extern template void depthwise_channel<double>(const Plane&, const WeightNest&, const WindowLoops&,
                                               double, const Plane&);
extern template void depthwise_channel<uint64_t>(const Plane&, const WeightNest&,
                                                 const WindowLoops&, uint64_t, const Plane&);

}  // namespace executorch::kernels::portable
