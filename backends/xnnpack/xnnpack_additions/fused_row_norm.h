// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer norm, which programs have as a dozen of XNNPACK's nodes (difference from the mean, mean of
// the squares and so on, with copies between), is one node: it reads each row from memory once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "row_norm.h"
#include "xnnpack.h"
#include "xnnpack/allocator.h"
#include "xnnpack/operator.h"
#include "xnnpack/subgraph.h"

// What is found of a norm. The nodes in `inner`, each with one result, are all that it takes but
// for the last one.
struct executorch_found_norm {
  struct xnn_subgraph* graph;
  uint32_t inner[16];
  size_t count;
  uint32_t x;
  size_t length;
};

// The node of a kind whose result `id` is, which is read `consumers` times; NULL if there is none.
// It is an inner node of the norm.
static inline struct xnn_node* executorch_inner(struct executorch_found_norm* norm, uint32_t id,
                                                enum xnn_node_type type, uint32_t consumers) {
  const struct xnn_value* const value = &norm->graph->values[id];
  if (value->type != xnn_value_type_dense_tensor || value->datatype != xnn_datatype_fp32 ||
      !xnn_value_is_internal(value) || xnn_value_is_static(value) ||
      value->num_consumers != consumers || value->producer == XNN_INVALID_NODE_ID ||
      norm->count == sizeof(norm->inner) / sizeof(*norm->inner)) {
    return NULL;
  }
  struct xnn_node* const node = &norm->graph->nodes[value->producer];
  if (node->type != type || node->num_outputs != 1) return NULL;
  norm->inner[norm->count++] = value->producer;
  return node;
}

static inline bool executorch_is_binary(const struct xnn_node* node, enum xnn_binary_operator op) {
  return node != NULL && node->type == xnn_node_type_binary_elementwise &&
         node->binary_operator == op && node->num_inputs == 2;
}

static inline bool executorch_is_unary(const struct xnn_node* node, enum xnn_unary_operator op) {
  return node != NULL && node->unary_operator == op;
}

// Whether `shape` is that of x with ones in the place of the last sizes, which are a row's. Zero is
// any size.
static inline bool executorch_is_of_rows(const struct xnn_shape* shape, const struct xnn_shape* x,
                                         size_t length) {
  if (shape->num_dims != x->num_dims) return false;
  size_t row = 1, d = x->num_dims;
  while (d > 0 && shape->dim[d - 1] == 1 && row < length) row *= x->dim[--d];
  for (size_t i = 0; i < d; ++i) {
    if (shape->dim[i] != 0 && shape->dim[i] != x->dim[i]) return false;
  }
  return row == length;
}

// What `id` has the means of: of rows of norm->length numbers, which it sets if it is 0.
static inline uint32_t executorch_averaged(struct executorch_found_norm* norm, uint32_t id,
                                           const struct xnn_shape* x) {
  const struct xnn_node* const spread = executorch_inner(norm, id, xnn_node_type_static_reshape, 1);
  if (spread == NULL) return XNN_INVALID_VALUE_ID;
  const struct xnn_node* const mean =
      executorch_inner(norm, spread->inputs[0], xnn_node_type_static_mean, 1);
  if (mean == NULL || mean->params.reduce.num_reduction_axes < 2) return XNN_INVALID_VALUE_ID;
  // Over height and width, and over the only channel or not.
  for (size_t i = 0; i < mean->params.reduce.num_reduction_axes; ++i) {
    if (mean->params.reduce.reduction_axes[i] != (int64_t)i + 1) return XNN_INVALID_VALUE_ID;
  }
  const struct xnn_node* const rows =
      executorch_inner(norm, mean->inputs[0], xnn_node_type_static_reshape, 1);
  if (rows == NULL) return XNN_INVALID_VALUE_ID;
  const struct xnn_shape* const shape = &rows->params.static_reshape.new_shape;
  const size_t length =
      shape->num_dims == 4 && shape->dim[3] == 1 ? shape->dim[1] * shape->dim[2] : 0;
  if (norm->length == 0) norm->length = length;
  if (length == 0 || length != norm->length ||
      !executorch_is_of_rows(&spread->params.static_reshape.new_shape, x, length)) {
    return XNN_INVALID_VALUE_ID;
  }
  return rows->inputs[0];
}

// The operand of `node` beside `id`.
static inline uint32_t executorch_other(const struct xnn_node* node, uint32_t id) {
  return node->inputs[node->inputs[0] == id ? 1 : 0];
}

static inline bool executorch_is_constant(const struct xnn_value* value) {
  return value->type == xnn_value_type_dense_tensor && value->datatype == xnn_datatype_fp32 &&
         xnn_value_is_static(value) && value->data != NULL;
}

// Whether a constant has a number for each of a row's.
static inline bool executorch_is_a_row(const struct xnn_value* value, const struct xnn_shape* x,
                                       size_t length) {
  const struct xnn_shape* const shape = &value->shape;
  if (!executorch_is_constant(value) || shape->num_dims > x->num_dims) return false;
  size_t row = 1;
  for (size_t i = 1; i <= shape->num_dims; ++i) {
    const size_t size = shape->dim[shape->num_dims - i];
    if (size != (row < length ? x->dim[x->num_dims - i] : 1)) return false;
    row *= size;
  }
  return row == length;
}

// Follows a norm backwards from its product of `centered` and `scale`. False if it is none.
static inline bool executorch_find_norm(struct executorch_found_norm* norm, uint32_t centered,
                                        uint32_t scale, float* epsilon) {
  struct xnn_value* const values = norm->graph->values;
  const struct xnn_node* const difference =
      executorch_inner(norm, centered, xnn_node_type_binary_elementwise, 2);
  if (!executorch_is_binary(difference, xnn_binary_subtract)) return false;
  norm->x = difference->inputs[0];
  const struct xnn_value* const x = &values[norm->x];
  if (x->type != xnn_value_type_dense_tensor || x->datatype != xnn_datatype_fp32 ||
      xnn_value_is_static(x) ||
      executorch_averaged(norm, difference->inputs[1], &x->shape) != norm->x) {
    return false;
  }
  const struct xnn_node* const root =
      executorch_inner(norm, scale, xnn_node_type_unary_elementwise, 1);
  if (!executorch_is_unary(root, xnn_unary_reciprocal_square_root)) return false;
  const struct xnn_node* const sum =
      executorch_inner(norm, root->inputs[0], xnn_node_type_binary_elementwise, 1);
  if (!executorch_is_binary(sum, xnn_binary_add)) return false;
  const int second = executorch_is_constant(&values[sum->inputs[1]]);
  const struct xnn_value* const number = &values[sum->inputs[second]];
  if (!executorch_is_constant(number) || xnn_shape_multiply_all_dims(&number->shape) != 1 ||
      number->shape.num_dims > x->shape.num_dims) {
    return false;
  }
  memcpy(epsilon, number->data, sizeof(*epsilon));
  const uint32_t squares = executorch_averaged(norm, sum->inputs[1 - second], &x->shape);
  if (squares == XNN_INVALID_VALUE_ID) return false;
  const struct xnn_node* const square =
      executorch_inner(norm, squares, xnn_node_type_unary_elementwise, 1);
  return executorch_is_unary(square, xnn_unary_square) && square->inputs[0] == centered;
}

// Where a norm's node has its numbers, as no other node of its kind has any.
static inline float* executorch_epsilon_of(struct xnn_node* node) {
  return &node->params.unary.clamp.min;
}

static enum xnn_status executorch_create_norm(const struct xnn_node* node,
                                              const struct xnn_value* values, size_t num_values,
                                              struct xnn_operator_data* opdata,
                                              struct xnn_code_cache* code_cache,
                                              xnn_weights_cache_t weights_cache) {
  (void)num_values, (void)code_cache, (void)weights_cache;
  struct xnn_operator* const op = xnn_allocate_zero_simd_memory(sizeof(struct xnn_operator));
  if (op == NULL) return xnn_status_out_of_memory;
  op->type = xnn_operator_type_binary_elementwise;
  op->flags = node->flags;
  op->state = xnn_run_state_invalid;
  const struct executorch_row_norm norm = {
      .weight = node->num_inputs > 1 ? values[node->inputs[1]].data : NULL,
      .bias = node->num_inputs > 2 ? values[node->inputs[2]].data : NULL,
      .length = node->num_params,
      .epsilon = node->params.unary.clamp.min};
  _Static_assert(sizeof(op->context) >= sizeof(norm), "");
  memcpy(&op->context, &norm, sizeof(norm));
  opdata->operator_objects[0] = op;
  return xnn_status_success;
}

static enum xnn_status executorch_reshape_norm(struct xnn_operator_data* opdata,
                                               struct xnn_value* values, size_t num_values,
                                               pthreadpool_t threads) {
  (void)num_values, (void)threads;
  struct xnn_operator* const op = opdata->operator_objects[0];
  const size_t length = ((const struct executorch_row_norm*)&op->context)->length;
  const struct xnn_shape* const shape = &values[opdata->inputs[0]].shape;
  struct xnn_value* const result = &values[opdata->outputs[0]];
  size_t row = 1;
  for (size_t d = shape->num_dims; d > 0 && row < length; --d) row *= shape->dim[d - 1];
  if (row != length) return xnn_status_invalid_parameter;
  const size_t rows = xnn_shape_multiply_all_dims(shape) / length;
  const size_t rows_of_16k = length < 16384 ? 16384 / length : 1;
  op->compute[0].type = xnn_parallelization_type_1d_tile_1d;
  op->compute[0].task_1d_tile_1d = (pthreadpool_task_1d_tile_1d_t)executorch_norm_rows;
  op->compute[0].range[0] = rows;
  op->compute[0].tile[0] = rows_of_16k;
  op->state = rows == 0 ? xnn_run_state_skip : xnn_run_state_needs_setup;
  result->shape = *shape;
  const size_t bytes = xnn_tensor_get_size(result);
  if (bytes <= result->size) return xnn_status_success;
  result->size = bytes;
  return xnn_status_reallocation_required;
}

static enum xnn_status executorch_setup_norm(const struct xnn_operator_data* opdata,
                                             const struct xnn_value* values, size_t num_values,
                                             pthreadpool_t threads) {
  (void)num_values, (void)threads;
  struct xnn_operator* const op = opdata->operator_objects[0];
  if (op->state == xnn_run_state_skip) return xnn_status_success;
  struct executorch_row_norm* const norm = (struct executorch_row_norm*)&op->context;
  norm->in = values[opdata->inputs[0]].data;
  norm->out = values[opdata->outputs[0]].data;
  op->state = xnn_run_state_ready;
  return xnn_status_success;
}

// The number of the node that multiplies or adds a row of constants behind `id`, which nobody else
// reads; its operand in `row`.
static inline uint32_t executorch_row_behind(const struct executorch_found_norm* norm, uint32_t id,
                                             enum xnn_binary_operator op, uint32_t* row) {
  const struct xnn_value* const value = &norm->graph->values[id];
  if (!xnn_value_is_internal(value) || value->num_consumers != 1) return XNN_INVALID_NODE_ID;
  const struct xnn_node* const node = &norm->graph->nodes[value->first_consumer];
  if (!executorch_is_binary(node, op) || node->inputs[0] == node->inputs[1] ||
      norm->graph->values[node->outputs[0]].datatype != xnn_datatype_fp32) {
    return XNN_INVALID_NODE_ID;
  }
  *row = executorch_other(node, id);
  const struct xnn_shape* const x = &norm->graph->values[norm->x].shape;
  return executorch_is_a_row(&norm->graph->values[*row], x, norm->length) ? value->first_consumer
                                                                          : XNN_INVALID_NODE_ID;
}

// Makes a norm of the node `last`, and of the inner nodes nothing.
static inline void executorch_make_norm(struct executorch_found_norm* norm, uint32_t last,
                                        const uint32_t* rows, uint32_t num_rows, float epsilon) {
  struct xnn_subgraph* const graph = norm->graph;
  for (size_t i = 0; i < norm->count; ++i) {
    struct xnn_node* const node = &graph->nodes[norm->inner[i]];
    xnn_value_clear(&graph->values[node->outputs[0]]);
    xnn_node_clear(node);
  }
  struct xnn_node* const node = &graph->nodes[last];
  node->inputs[0] = norm->x;
  for (uint32_t i = 0; i < num_rows; ++i) node->inputs[1 + i] = rows[i];
  node->num_inputs = 1 + num_rows;
  node->num_params = norm->length;
  *executorch_epsilon_of(node) = epsilon;
  node->create = executorch_create_norm;
  node->reshape = executorch_reshape_norm;
  node->setup = executorch_setup_norm;
  struct xnn_value* const x = &graph->values[norm->x];
  x->num_consumers -= 1;  // the mean and the difference were two
  x->first_consumer = last;
  for (uint32_t n = last; n-- > 0;) {
    for (uint32_t i = 0; i < graph->nodes[n].num_inputs; ++i) {
      if (graph->nodes[n].inputs[i] == norm->x) x->first_consumer = n;
    }
  }
}

// Makes one node of a norm whose product of difference and scale is the node `product`.
static inline void executorch_fuse_norm(struct xnn_subgraph* graph, uint32_t product) {
  const struct xnn_node* const node = &graph->nodes[product];
  if (!executorch_is_binary(node, xnn_binary_multiply)) return;
  struct executorch_found_norm norm;
  float epsilon = 0;
  bool found = false;
  for (int k = 0; k < 2 && !found; ++k) {
    norm = (struct executorch_found_norm){.graph = graph};
    found = executorch_find_norm(&norm, node->inputs[k], node->inputs[1 - k], &epsilon);
  }
  if (!found || graph->values[node->outputs[0]].datatype != xnn_datatype_fp32) return;
  uint32_t last = product, num_rows = 0, rows[2];
  const enum xnn_binary_operator behind[] = {xnn_binary_multiply, xnn_binary_add};
  for (; num_rows < 2; ++num_rows) {
    const uint32_t next = executorch_row_behind(&norm, graph->nodes[last].outputs[0],
                                                behind[num_rows], &rows[num_rows]);
    if (next == XNN_INVALID_NODE_ID) break;
    norm.inner[norm.count++] = last;
    last = next;
  }
  executorch_make_norm(&norm, last, rows, num_rows, epsilon);
}

static inline void executorch_fuse_norms(struct xnn_subgraph* graph) {
  for (uint32_t n = 0; n < graph->num_nodes; ++n) executorch_fuse_norm(graph, n);
}
