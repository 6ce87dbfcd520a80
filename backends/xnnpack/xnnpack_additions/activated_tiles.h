// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The activation behind a convolution or linear layer is computed where a tile of the result was
// just written: it is in the processor's first caches still, where a pass over the whole image
// reads and writes memory. And x * sigmoid(x), two such passes and an image between them, is one
// operation. Together they took a third of an EfficientNet's time; what is computed, and how, stays
// the same.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "activated_results.h"
#include "elementary.h"
#include "xnnpack.h"
#include "xnnpack/config.h"
#include "xnnpack/operator.h"
#include "xnnpack/subgraph.h"

void executorch_activated_gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride,
                               const void* w, void* c, size_t cm_stride, size_t cn_stride,
                               const void* params) {
  const struct executorch_activation* const activation = executorch_activation_in(params);
  ((xnn_gemm_ukernel_fn)activation->kernel)(mr, nc, kc, a, a_stride, w, c, cm_stride, cn_stride,
                                            params);
  executorch_activate(activation, mr, nc * sizeof(float), c, cm_stride);
}

void executorch_activated_igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a,
                                const void* w, void* c, size_t cm_stride, size_t cn_stride,
                                size_t a_offset, const void* zero, const void* params) {
  const struct executorch_activation* const activation = executorch_activation_in(params);
  ((xnn_igemm_ukernel_fn)activation->kernel)(mr, nc, kc, ks, a, w, c, cm_stride, cn_stride,
                                             a_offset, zero, params);
  executorch_activate(activation, mr, nc * sizeof(float), c, cm_stride);
}

void executorch_activated_depthwise(size_t channels, size_t width, const void** input,
                                    const void* weights, void* output, intptr_t input_stride,
                                    size_t increment, size_t input_offset, const void* zero,
                                    const void* params) {
  const struct executorch_activation* const activation = executorch_activation_in(params);
  ((xnn_dwconv_unipass_ukernel_fn)activation->kernel)(
      channels, width, input, weights, output, input_stride, increment, input_offset, zero, params);
  const size_t row_bytes = channels * sizeof(float);
  executorch_activate(activation, width, row_bytes, output, row_bytes + increment);
}

static void executorch_activated_depthwise_in_passes(size_t channels, size_t width,
                                                     const void** input, const void* weights,
                                                     void* output, intptr_t input_stride,
                                                     size_t increment, size_t input_offset,
                                                     const void* zero, size_t kernel_size,
                                                     void* buffer, const void* params) {
  const struct executorch_activation* const activation = executorch_activation_in(params);
  ((xnn_dwconv_multipass_ukernel_fn)activation->kernel)(channels, width, input, weights, output,
                                                        input_stride, increment, input_offset, zero,
                                                        kernel_size, buffer, params);
  const size_t row_bytes = channels * sizeof(float);
  executorch_activate(activation, width, row_bytes, output, row_bytes + increment);
}

// Puts `activated` in the place of a kernel, which is remembered. What it is told lies in `params`.
static inline void executorch_set_activated(struct executorch_activation* activation, void* params,
                                            void (**kernel)(void), void (*activated)(void)) {
  if (*kernel != activated) activation->kernel = *kernel;
  *kernel = activated;
  memcpy((char*)params + offsetof(struct executorch_activated, activation), &activation,
         sizeof(activation));
}

// In the place of a node's own reshaping, which sets up the kernel and its parameters anew.
static enum xnn_status executorch_reshape_activated(struct xnn_operator_data* opdata,
                                                    struct xnn_value* values, size_t num_values,
                                                    pthreadpool_t threads) {
  struct executorch_activation* const activation = &opdata->executorch_activation;
  const enum xnn_status status = activation->reshape(opdata, values, num_values, threads);
  if (status != xnn_status_success && status != xnn_status_reallocation_required) return status;
  struct xnn_operator* const op = opdata->operator_objects[0];
  struct gemm_context* const gemm = &op->context.gemm.gemm.gemm;
  struct igemm_context* const igemm = &op->context.igemm.igemm;
  struct dwconv_context* const depthwise = &op->context.dwconv.dwconv;
  _Static_assert(sizeof(gemm->params) >= sizeof(struct executorch_activated), "");
  _Static_assert(sizeof(igemm->params) >= sizeof(struct executorch_activated), "");
  _Static_assert(sizeof(depthwise->params) >= sizeof(struct executorch_activated), "");
  switch (op->ukernel.type) {
    case xnn_microkernel_type_gemm:
      executorch_set_activated(activation, &gemm->params,
                               (void (**)(void))&gemm->ukernel.function[XNN_UARCH_DEFAULT],
                               (void (*)(void))executorch_activated_gemm);
      return status;
    case xnn_microkernel_type_igemm:
      executorch_set_activated(activation, &igemm->params,
                               (void (**)(void))&igemm->ukernel.function[XNN_UARCH_DEFAULT],
                               (void (*)(void))executorch_activated_igemm);
      return status;
    case xnn_microkernel_type_dwconv:
      executorch_set_activated(activation, &depthwise->params,
                               (void (**)(void))&depthwise->unipass_ukernel,
                               op->ukernel.dwconv.last_tile == 0
                                   ? (void (*)(void))executorch_activated_depthwise
                                   : (void (*)(void))executorch_activated_depthwise_in_passes);
      return status;
    default:
      return xnn_status_unsupported_parameter;
  }
}

// What computes an activation, NULL if it is none that tiles can have.
static inline void (*executorch_activation_of(const struct xnn_node* node))(void) {
  if (node->type != xnn_node_type_unary_elementwise) return NULL;
  const struct xnn_unary_elementwise_config* config = NULL;
  switch (node->unary_operator) {
    case executorch_unary_silu:
    case xnn_unary_sigmoid:
      config = executorch_elementary(node->unary_operator, xnn_datatype_fp32);
      break;
    case xnn_unary_hardswish:
      config = xnn_init_f32_hswish_config();
      break;
    case xnn_unary_gelu:
      config = xnn_init_f32_gelu_config();
      break;
    case xnn_unary_tanh:
      config = xnn_init_f32_tanh_config();
      break;
    default:
      break;
  }
  return config == NULL || config->init != NULL ? NULL : (void (*)(void))config->ukernel;
}

static inline bool executorch_is_internal(const struct xnn_value* value, uint32_t consumers) {
  return value->datatype == xnn_datatype_fp32 && value->num_consumers == consumers &&
         value->type == xnn_value_type_dense_tensor && xnn_value_is_internal(value) &&
         value->producer != XNN_INVALID_NODE_ID;
}

// Whether a node computes its result in tiles, each of them once. Dense windows of neighbours are
// left out: their sums take much longer than an activation, and there are other ways to them.
static inline bool executorch_has_tiles(const struct xnn_subgraph* subgraph,
                                        const struct xnn_node* node) {
  if (node->executorch_activation.function != NULL || node->num_inputs < 2 ||
      node->num_inputs > 3) {
    return false;
  }
  const struct xnn_value* const weights = &subgraph->values[node->inputs[1]];
  if (subgraph->values[node->inputs[0]].datatype != xnn_datatype_fp32 ||
      weights->datatype != xnn_datatype_fp32 || !xnn_value_is_static(weights)) {
    return false;
  }
  switch (node->type) {
    case xnn_node_type_convolution_2d:
      return node->params.convolution_2d.groups == 1 &&
             node->params.convolution_2d.group_output_channels > 1 &&
             (node->params.convolution_2d.kernel_height *
                      node->params.convolution_2d.kernel_width ==
                  1 ||
              node->params.convolution_2d.subsampling_height *
                      node->params.convolution_2d.subsampling_width >
                  1);
    case xnn_node_type_depthwise_convolution_2d:
      return node->params.depthwise_convolution_2d.kernel_height *
                 node->params.depthwise_convolution_2d.kernel_width >
             1;
    case xnn_node_type_fully_connected:
      return true;
    default:
      return false;
  }
}

// Lets the node that makes `image` compute the activation `consumer`, the only one that reads it.
static inline bool executorch_fuse_activation(struct xnn_subgraph* subgraph,
                                              struct xnn_value* image, uint32_t consumer) {
  struct xnn_node* const activation = &subgraph->nodes[consumer];
  void (*const function)(void) = executorch_activation_of(activation);
  if (function == NULL || !executorch_is_internal(image, 1)) return false;
  struct xnn_node* const producer = &subgraph->nodes[image->producer];
  struct xnn_value* const result = &subgraph->values[activation->outputs[0]];
  if (result->datatype != xnn_datatype_fp32 || !executorch_has_tiles(subgraph, producer)) {
    return false;
  }
  producer->executorch_activation.function = function;
  producer->executorch_activation.reshape = producer->reshape;
  producer->reshape = executorch_reshape_activated;
  producer->outputs[0] = result->id;
  result->producer = image->producer;
  xnn_node_clear(activation);
  xnn_value_clear(image);
  return true;
}

// Makes one node of x * sigmoid(x), where `gate` is the sigmoid and only multiplied.
static inline bool executorch_fuse_silu(struct xnn_subgraph* subgraph, struct xnn_value* gate,
                                        uint32_t consumer) {
  if (!executorch_is_internal(gate, 1)) return false;
  const uint32_t producer = gate->producer;
  struct xnn_node* const sigmoid = &subgraph->nodes[producer];
  struct xnn_node* const product = &subgraph->nodes[consumer];
  if (sigmoid->type != xnn_node_type_unary_elementwise ||
      sigmoid->unary_operator != xnn_unary_sigmoid ||
      product->type != xnn_node_type_binary_elementwise ||
      product->binary_operator != xnn_binary_multiply ||
      executorch_elementary(executorch_unary_silu, xnn_datatype_fp32) == NULL) {
    return false;
  }
  const uint32_t other = product->inputs[product->inputs[0] == gate->id ? 1 : 0];
  struct xnn_value* const x = &subgraph->values[sigmoid->inputs[0]];
  struct xnn_value* const result = &subgraph->values[product->outputs[0]];
  if (other != x->id || x->datatype != xnn_datatype_fp32 || result->datatype != xnn_datatype_fp32) {
    return false;
  }
  sigmoid->unary_operator = executorch_unary_silu;
  sigmoid->outputs[0] = result->id;
  result->producer = producer;
  x->num_consumers -= 1;
  if (x->first_consumer == consumer) x->first_consumer = producer;
  xnn_node_clear(product);
  xnn_value_clear(gate);
  executorch_fuse_activation(subgraph, x, producer);
  return true;
}
