// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "winograd.h"

#include <math.h>

#include "pthreadpool.h"
#include "xnnpack/cache.h"
#include "xnnpack/common.h"
#include "xnnpack/config.h"
#include "xnnpack/math.h"
#include "xnnpack/operator-utils.h"
#include "xnnpack/operator.h"
#include "xnnpack/subgraph.h"

#if XNN_ARCH_X86_64

// From where on it gains, measured: transforming is a part of the time that falls with the channels
// and outputs that it is done for, and weights, 16 for 9, are read for each block of tiles.
#define LEAST_CHANNELS 48
#define LEAST_OUTPUTS 32
#define LEAST_TILES 32
// Transformed tiles stay in the second cache, beside weights; but weights for fewer tiles are read
// too often, as long as these still fit.
#define TILES_AT_ONCE ((size_t)512 << 10)
#define MOST_AT_ONCE ((size_t)832 << 10)
#define TILES_WORTH_WEIGHTS 49
// Larger weights could make a sum of finite numbers infinite that a direct one does not.
#define LARGEST_WEIGHT 0x1p50f
// From frequency to frequency, beyond what is there: powers of two would fall on the same lines of
// the first cache.
#define GAP 16
#define FLOATS_OF_LINE 16

typedef struct executorch_winograd op_t;

static bool has_kernels(const struct xnn_gemm_config* config) {
  const struct xnn_hardware_config* const hardware = xnn_init_hardware_config();
  return config != NULL && hardware != NULL && hardware->use_x86_avx2 && hardware->use_x86_fma3 &&
         config->log2_kr == 0 && config->log2_sr == 0 && config->nr % FLOATS_OF_LINE == 0 &&
         config->minmax.gemm[config->mr - 1].function[XNN_UARCH_DEFAULT] != NULL;
}

static size_t tiles_along(size_t size, size_t padding) {
  const size_t padded = size + padding;
  return padded < 3 ? 0 : (padded - 1) / 2;  // of padded - 2 points
}

uint32_t executorch_winograd_flag(const struct xnn_node* node, const struct xnn_value* input) {
  const uint32_t sizes[] = {node->params.convolution_2d.kernel_height,
                            node->params.convolution_2d.kernel_width};
  const uint32_t ones[] = {
      node->params.convolution_2d.subsampling_height, node->params.convolution_2d.subsampling_width,
      node->params.convolution_2d.dilation_height, node->params.convolution_2d.dilation_width,
      node->params.convolution_2d.groups};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    if (sizes[i] != 3) return 0;
  }
  for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); ++i) {
    if (ones[i] != 1) return 0;
  }
  // Activations are computed by the products' kernels.
  if (node->executorch_activation.function != NULL) return 0;
  if (input->datatype != xnn_datatype_fp32 || input->shape.num_dims != 4 ||
      node->params.convolution_2d.group_input_channels < LEAST_CHANNELS ||
      node->params.convolution_2d.group_output_channels < LEAST_OUTPUTS ||
      !has_kernels(xnn_init_f32_gemm_config())) {
    return 0;
  }
  const size_t tiles =
      input->shape.dim[0] *
      tiles_along(input->shape.dim[1], (size_t)node->params.convolution_2d.input_padding_top +
                                           node->params.convolution_2d.input_padding_bottom) *
      tiles_along(input->shape.dim[2], (size_t)node->params.convolution_2d.input_padding_left +
                                           node->params.convolution_2d.input_padding_right);
  return tiles < LEAST_TILES ? 0 : EXECUTORCH_FLAG_WINOGRAD;
}

static bool can_be_transformed(const float* weights, size_t count) {
  bool are_small = true;
  for (size_t i = 0; i < count; ++i) {
    are_small &= fabsf(weights[i]) <= LARGEST_WEIGHT;  // false for NaN
  }
  return are_small;
}

enum xnn_status executorch_create_winograd(xnn_operator_t convolution, uint32_t* flags,
                                           size_t channels, size_t outputs, const float* kernel,
                                           const float* bias) {
  if ((*flags & EXECUTORCH_FLAG_WINOGRAD) == 0) return xnn_status_success;
  const size_t panel = xnn_init_f32_gemm_config()->nr;
  // What else it depends on, the cache knows.
  const struct xnn_weights_cache_look_up_key key = {*flags ^ panel, kernel, bias};
  const bool is_cached = use_weights_cache(convolution);
  if (is_cached) {
    convolution->packed_weights.offset =
        xnn_weights_cache_look_up(convolution->weights_cache, &key);
    if (convolution->packed_weights.offset != XNN_CACHE_NOT_FOUND) return xnn_status_success;
  }
  if (!can_be_transformed(kernel, outputs * 9 * channels)) {
    *flags &= ~EXECUTORCH_FLAG_WINOGRAD;
    return xnn_status_success;
  }
  const size_t floats = divide_round_up(outputs, panel) *
                        (executorch_floats_of_panel(channels, panel) + channels * panel);
  const size_t bytes = round_up_po2(floats * sizeof(float), XNN_ALLOCATION_ALIGNMENT);
  float* const packed = xnn_get_pointer_to_write_weights(convolution, bytes, 0);
  if (packed == NULL) return xnn_status_out_of_memory;
  executorch_pack_winograd(kernel, bias, channels, outputs, panel, packed);
  if (is_cached) {
    convolution->packed_weights.offset =
        xnn_look_up_or_insert_weights_cache(convolution->weights_cache, &key, packed, bytes);
  }
  return xnn_status_success;
}

static void multiply(const op_t* op, const struct executorch_tiles* tiles, const float* weights,
                     size_t columns) {
  static const union xnn_f32_minmax_params unlimited = {.scalar = {-INFINITY, INFINITY}};
  const size_t row = op->channels * sizeof(float), of_panel = op->panel * sizeof(float);
  for (size_t i = 0; i < EXECUTORCH_FREQUENCIES; ++i) {
    for (size_t tile = 0; tile < tiles->count; tile += op->rows) {
      op->product(min(op->rows, tiles->count - tile), columns, row,
                  tiles->in + i * tiles->in_apart + tile * op->channels, row, weights,
                  tiles->out + i * tiles->out_apart + tile * op->panel, of_panel, of_panel,
                  &unlimited);
    }
    weights += executorch_floats_of_frequency(op->channels, op->panel);
  }
}

static size_t whole_lines(size_t floats) { return round_up(floats, FLOATS_OF_LINE); }

// In a thread's scratch memory: zeros, tiles, products, and which tiles are exceptional.
static struct executorch_tiles tiles_of(const op_t* op, size_t thread, size_t block) {
  struct executorch_tiles tiles = {.first = block * op->block,
                                   .in_apart = op->block * op->channels + GAP,
                                   .out_apart = op->block * op->panel + GAP};
  tiles.count = min(op->block, op->tiles - tiles.first);
  tiles.zeros = op->scratch + thread * op->scratch_of_thread;
  tiles.in = tiles.zeros + whole_lines(op->channels);
  tiles.out = tiles.in + whole_lines(EXECUTORCH_FREQUENCIES * tiles.in_apart);
  tiles.are_exceptional = (unsigned char*)(tiles.out + EXECUTORCH_FREQUENCIES * tiles.out_apart);
  return tiles;
}

static size_t scratch_of(const op_t* op) {
  const size_t of_block = op->block * (op->channels + op->panel) + 2 * GAP;
  return whole_lines(op->channels) + whole_lines(EXECUTORCH_FREQUENCIES * of_block) +
         whole_lines(divide_round_up(op->block, sizeof(float))) + FLOATS_OF_LINE;
}

// A block of tiles, some panels of outputs. Transforming the input again for other panels costs
// less than to wait for each other.
static void compute(void* context, size_t thread, size_t block, size_t part) {
  const op_t* const op = context;
  const struct executorch_tiles tiles = tiles_of(op, thread, block);
  executorch_transform_input(op, &tiles);
  const bool has_exceptional = memchr(tiles.are_exceptional, 1, tiles.count) != NULL;
  const float* const centres =
      op->weights +
      divide_round_up(op->outputs, op->panel) * executorch_floats_of_panel(op->channels, op->panel);
  const size_t begin = part * op->panels_at_once * op->panel;
  const size_t end = min(op->outputs, begin + op->panels_at_once * op->panel);
  for (size_t column = begin; column < end; column += op->panel) {
    const size_t columns = min(op->panel, end - column), number = column / op->panel;
    const float* const weights =
        op->weights + number * executorch_floats_of_panel(op->channels, op->panel);
    multiply(op, &tiles, weights, columns);
    executorch_transform_output(op, &tiles, column, columns);
    if (has_exceptional) {
      executorch_compute_exceptional(op, &tiles, column, columns, weights,
                                     centres + number * op->channels * op->panel);
    }
  }
}

// Into how many blocks and parts of the outputs the work falls: enough for all threads.
static void divide_work(op_t* op, size_t threads, size_t* blocks, size_t* parts) {
  const size_t of_tile = EXECUTORCH_FREQUENCIES * op->channels * sizeof(float);
  const size_t most =
      max(TILES_AT_ONCE / of_tile, min(MOST_AT_ONCE / of_tile, TILES_WORTH_WEIGHTS));
  const size_t panels = divide_round_up(op->outputs, op->panel);
  *blocks = divide_round_up(op->tiles, max(most, 1));
  size_t shares = 1;
  if (*blocks >= threads) {
    *blocks = min(round_up(*blocks, threads), op->tiles);
  } else {
    shares = min(divide_round_up(threads, *blocks), panels);
  }
  op->block = divide_round_up(op->tiles, *blocks);
  *blocks = divide_round_up(op->tiles, op->block);
  op->panels_at_once = divide_round_up(panels, shares);
  *parts = divide_round_up(panels, op->panels_at_once);
}

static op_t of_operator(xnn_operator_t convolution) {
  const size_t across = divide_round_up(convolution->output_width, 2);
  const size_t of_image = across * divide_round_up(convolution->output_height, 2);
  const union xnn_f32_minmax_params limits = convolution->params.f32_minmax;
  return (op_t){.weights = packed_weights(convolution),
                .height = convolution->input_height,
                .width = convolution->input_width,
                .out_height = convolution->output_height,
                .out_width = convolution->output_width,
                .in_stride = convolution->input_pixel_stride,
                .out_stride = convolution->output_pixel_stride,
                .above = convolution->padding_top,
                .left = convolution->padding_left,
                .channels = convolution->group_input_channels,
                .outputs = convolution->group_output_channels,
                .tiles = of_image * convolution->batch_size,
                .tiles_across = across,
                .tiles_of_image = of_image,
                .least = limits.scalar.min,
                .most = limits.scalar.max};
}

enum xnn_status executorch_reshape_winograd(xnn_operator_t convolution, size_t* scratch_bytes,
                                            size_t* alignment, size_t threads) {
  op_t op = of_operator(convolution);
  if (op.tiles == 0) {
    convolution->state = xnn_run_state_skip;
    return xnn_status_success;
  }
  struct xnn_gemm_config config = *xnn_init_f32_gemm_config();
  size_t blocks = 0, parts = 0;
  op.panel = config.nr;
  divide_work(&op, threads, &blocks, &parts);
  op.rows = xnn_get_heuristic_mr_gemm(op.block, config.mr, config.nr, config.minmax.gemm);
  op.product = config.minmax.gemm[op.rows - 1].function[XNN_UARCH_DEFAULT];
  op.scratch_of_thread = scratch_of(&op);
  *scratch_bytes = threads * op.scratch_of_thread * sizeof(float);
  *alignment = XNN_ALLOCATION_ALIGNMENT;
  convolution->context.winograd = op;
  struct compute_parameters* const work = &convolution->compute[0];
  work->type = xnn_parallelization_type_2d_with_thread;
  work->task_2d_with_thread = (pthreadpool_task_2d_with_thread_t)compute;
  work->context_offset =
      offsetof(struct xnn_operator, context.winograd) - offsetof(struct xnn_operator, context);
  work->range[0] = blocks;
  work->range[1] = parts;
  convolution->state = xnn_run_state_needs_setup;
  return xnn_status_success;
}

enum xnn_status executorch_setup_winograd(xnn_operator_t convolution, void* scratch) {
  convolution->context.winograd.input = convolution->input;
  convolution->context.winograd.output = convolution->output;
  convolution->context.winograd.scratch = scratch;
  convolution->state = xnn_run_state_ready;
  return xnn_status_success;
}
#endif
