// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A convolution on int8 as the product of its weights [channels, k] with panels of images.
#pragma once

#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/portable/spatial/plane.h>
#include <executorch/kernels/quantized/conv/layer.h>

namespace executorch::kernels::quantized {

/// Multiplications that justify another thread: about 10 us.
inline constexpr int64_t kMinProducts = 1 << 19;

/// Memory for each part of a division; where there is too little for all, for one. nullptr after
/// failing the context.
char* part_rooms(KernelRuntimeContext& ctx, Division& division, int64_t bytes);

/// Computes layers of at most the size of the constructor's layer, in the same memory.
class LayerProduct {
 public:
  /// The context fails, and `ready` is false, where there is too little memory.
  LayerProduct(KernelRuntimeContext& ctx, const FusedLayer& largest);

  bool ready() const { return memory_ != nullptr; }
  void run(const FusedLayer& layer, const Images& images, const Images& results) const;

  /// A thread's buffers.
  struct Room {
    int64_t panel, panels, rows,
        windows;  ///< bytes of a panel, how many, bytes of rows, of windows

    Room(const IntegerLoops& loops, const FusedLayer& largest);
    int64_t bytes() const { return panel * panels + rows + windows; }
  };

 private:
  const IntegerLoops& loops_;
  const Room room_;
  int64_t parts_ = 1;
  char* memory_ = nullptr;
};

}  // namespace executorch::kernels::quantized
