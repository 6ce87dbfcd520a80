// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "packing.h"

#include <string.h>

#include "pack_columns_avx512.h"
#include "xnnpack/common.h"
#include "xnnpack/hardware-config.h"
#include "xnnpack/math.h"

// Less is packed about as soon by one thread as another one is awake.
#define BYTES_WORTH_THREADS ((size_t)1 << 20)

static _Thread_local pthreadpool_t packing_threads = NULL;

void executorch_pack_with(pthreadpool_t threads) { packing_threads = threads; }

int executorch_padding_of(void* pack, int padding) {
  return pack == (void*)executorch_pack_f32_goi ? EXECUTORCH_NO_PADDING : padding;
}

static _Thread_local bool next_is_overwritten = false;

void executorch_overwrite_next(bool wholly) { next_is_overwritten = wholly; }

bool executorch_is_overwritten(void) { return next_is_overwritten; }

void executorch_pack_parts(pthreadpool_task_1d_t pack, void* context, size_t parts, size_t bytes) {
  const pthreadpool_t threads = bytes < BYTES_WORTH_THREADS ? NULL : packing_threads;
  pthreadpool_parallelize_1d(threads, pack, context, parts, /*flags=*/0);
}

struct panels {
  size_t of_group, outputs, inputs, panel;
  const float *weights, *biases;
  char* packed;
  size_t bytes;  // of a panel
};

void executorch_pack_columns(const float* from, size_t rows, size_t length, float* to,
                             size_t panel) {
#if XNN_ARCH_X86_64
  if (panel % EXECUTORCH_PACKED_ROWS == 0 && xnn_init_hardware_config()->use_x86_avx512f) {
    executorch_pack_columns_avx512(from, rows, length, to, panel);
    return;
  }
#endif
  // A line of memory of each row at a time.
  const size_t step = 16;
  for (size_t begin = 0; begin < length; begin += step) {
    const size_t end = min(length, begin + step);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = begin; i < end; ++i) to[i * panel + row] = from[row * length + i];
    }
  }
}

static void pack_panel(void* context, size_t number) {
  const struct panels* const all = context;
  const size_t group = number / all->of_group;
  const size_t first = number % all->of_group * all->panel;
  const size_t rows = min(all->outputs - first, all->panel);
  const size_t output = group * all->outputs + first;
  float* const to = (float*)(all->packed + number * all->bytes);
  memset(to, 0, rows == all->panel ? all->panel * sizeof(float) : all->bytes);
  if (all->biases != NULL) memcpy(to, all->biases + output, rows * sizeof(float));
  executorch_pack_columns(all->weights + output * all->inputs, rows, all->inputs, to + all->panel,
                          all->panel);
}

void executorch_pack_f32_goi(size_t g, size_t nc, size_t kc, size_t nr, size_t kr, size_t sr,
                             const float* k, const float* b, const void* scale, float* packed,
                             size_t extra_bytes, const void* params) {
  struct panels all = {divide_round_up(nc, nr), nc, kc, nr, k, b, (char*)packed, 0};
  all.bytes = (1 + kc) * nr * sizeof(float) + extra_bytes;
  const size_t panels = g * all.of_group;
  executorch_pack_parts(pack_panel, &all, panels, panels * all.bytes);
}
