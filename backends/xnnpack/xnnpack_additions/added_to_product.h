// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The addition behind a convolution or a linear layer, as residual networks and transformers have
// it, becomes a part of it, with the activation behind that. On its own it reads two tensors and
// writes one, and the activation reads and writes that again: a twentieth of a ResNet-50's time, a
// fortieth of a small vision transformer's. What is added lies as the result does, at a distance
// that the layer's kernels are told with the limits; every bit stays the same.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xnnpack.h"
#include "xnnpack/common.h"
#include "xnnpack/config.h"
#include "xnnpack/operator.h"
#include "xnnpack/subgraph.h"

// Where a layer's node has what is added, after input, weights and bias; without a bias there is
// XNN_INVALID_VALUE_ID in its place.
#define EXECUTORCH_BIAS 2
#define EXECUTORCH_ADDED 3

static inline bool executorch_has_bias(size_t num_inputs, const uint32_t* inputs) {
  return num_inputs > EXECUTORCH_BIAS && inputs[EXECUTORCH_BIAS] != XNN_INVALID_VALUE_ID;
}

#if XNN_ARCH_X86_64
#include "product_10x32_avx512.h"
#include "winograd.h"

// Whether products are computed by the kernels that can add.
static inline bool executorch_kernels_add(const struct xnn_gemm_config* config) {
  return config != NULL &&
         config->linear.gemm[config->mr - 1].function[XNN_UARCH_DEFAULT] == NULL &&
         config->relu.gemm[config->mr - 1].function[XNN_UARCH_DEFAULT] == NULL &&
         config->minmax.igemm[config->mr - 1].function[XNN_UARCH_DEFAULT] ==
             (xnn_igemm_ukernel_fn)executorch_f32_igemm_10x32_avx512;
}

// Whether a layer can add: a dense one of float32, that adds nothing yet.
static inline bool executorch_can_add(const struct xnn_subgraph* subgraph,
                                      const struct xnn_node* layer) {
  const bool is_convolution = layer->type == xnn_node_type_convolution_2d;
  if ((!is_convolution && layer->type != xnn_node_type_fully_connected) ||
      layer->num_inputs > EXECUTORCH_ADDED || layer->executorch_activation.function != NULL ||
      layer->activation.output_min != -INFINITY || layer->activation.output_max != INFINITY) {
    return false;
  }
  const struct xnn_value* const weights = &subgraph->values[layer->inputs[1]];
  const struct xnn_gemm_config* const config = xnn_init_f32_gemm_config();
  if (subgraph->values[layer->inputs[0]].datatype != xnn_datatype_fp32 ||
      weights->datatype != xnn_datatype_fp32 || !xnn_value_is_static(weights) ||
      !executorch_kernels_add(config)) {
    return false;
  }
  // Layers of fewer columns than a tile has have other kernels.
  if (is_convolution) {
    return layer->num_inputs == EXECUTORCH_ADDED && layer->params.convolution_2d.groups == 1 &&
           layer->params.convolution_2d.group_output_channels >= config->nr;
  }
  return weights->shape.dim[layer->flags & XNN_FLAG_TRANSPOSE_WEIGHTS ? 1 : 0] >= config->nr &&
         (!executorch_has_bias(layer->num_inputs, layer->inputs) ||
          xnn_value_is_static(&subgraph->values[layer->inputs[EXECUTORCH_BIAS]]));
}

static inline bool executorch_has_sizes_of(const struct xnn_value* a, const struct xnn_value* b) {
  if (a->datatype != xnn_datatype_fp32 || b->datatype != xnn_datatype_fp32 ||
      a->shape.num_dims != b->shape.num_dims) {
    return false;
  }
  for (size_t d = 0; d < a->shape.num_dims; ++d) {
    if (a->shape.dim[d] != b->shape.dim[d]) return false;
  }
  return true;
}

// Lets the layer `producer` do the addition `consumer`, the only one that reads `product`, its
// result. False if it cannot.
static inline bool executorch_fuse_addition(struct xnn_subgraph* subgraph,
                                            struct xnn_value* product, uint32_t producer,
                                            uint32_t consumer) {
  struct xnn_node* const layer = &subgraph->nodes[producer];
  struct xnn_node* const addition = &subgraph->nodes[consumer];
  if (addition->type != xnn_node_type_binary_elementwise ||
      addition->binary_operator != xnn_binary_add || !executorch_can_add(subgraph, layer)) {
    return false;
  }
  const uint32_t other = addition->inputs[addition->inputs[0] == product->id ? 1 : 0];
  struct xnn_value* const added = &subgraph->values[other];
  struct xnn_value* const sum = &subgraph->values[addition->outputs[0]];
  // What is added must be there when the layer runs.
  if (other == product->id || !executorch_has_sizes_of(product, added) ||
      !executorch_has_sizes_of(product, sum) ||
      (added->producer != XNN_INVALID_NODE_ID && added->producer > producer)) {
    return false;
  }
  if (layer->num_inputs == EXECUTORCH_BIAS) layer->inputs[EXECUTORCH_BIAS] = XNN_INVALID_VALUE_ID;
  layer->inputs[EXECUTORCH_ADDED] = other;
  layer->num_inputs = EXECUTORCH_ADDED + 1;
  layer->outputs[0] = sum->id;
  sum->producer = producer;
  if (added->first_consumer == consumer) added->first_consumer = producer;
  xnn_node_clear(addition);
  xnn_value_clear(product);
  return true;
}

// The kernel that adds in the place of one that was chosen; NULL for one that is not known.
static inline xnn_gemm_ukernel_fn executorch_adding_gemm(xnn_gemm_ukernel_fn chosen) {
  const xnn_gemm_ukernel_fn single =
      xnn_init_f32_gemm_config()->minmax.gemm[0].function[XNN_UARCH_DEFAULT];
  const xnn_gemm_ukernel_fn kernels[][2] = {
      {single, (xnn_gemm_ukernel_fn)executorch_f32_gemm_adding_1x32_avx512},
      {(xnn_gemm_ukernel_fn)executorch_f32_gemm_5x32_avx512,
       (xnn_gemm_ukernel_fn)executorch_f32_gemm_adding_5x32_avx512},
      {(xnn_gemm_ukernel_fn)executorch_f32_gemm_10x32_avx512,
       (xnn_gemm_ukernel_fn)executorch_f32_gemm_adding_10x32_avx512}};
  for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); ++i) {
    if (chosen == kernels[i][0] || chosen == kernels[i][1]) return kernels[i][1];
  }
  return NULL;
}

static inline xnn_igemm_ukernel_fn executorch_adding_igemm(xnn_igemm_ukernel_fn chosen) {
  const xnn_igemm_ukernel_fn single =
      xnn_init_f32_gemm_config()->minmax.igemm[0].function[XNN_UARCH_DEFAULT];
  const xnn_igemm_ukernel_fn kernels[][2] = {
      {single, (xnn_igemm_ukernel_fn)executorch_f32_igemm_adding_1x32_avx512},
      {(xnn_igemm_ukernel_fn)executorch_f32_igemm_5x32_avx512,
       (xnn_igemm_ukernel_fn)executorch_f32_igemm_adding_5x32_avx512},
      {(xnn_igemm_ukernel_fn)executorch_f32_igemm_10x32_avx512,
       (xnn_igemm_ukernel_fn)executorch_f32_igemm_adding_10x32_avx512}};
  for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); ++i) {
    if (chosen == kernels[i][0] || chosen == kernels[i][1]) return kernels[i][1];
  }
  return NULL;
}

// After reshaping: what is added must have the sizes of the result, and the kernel must add.
static inline enum xnn_status executorch_reshape_addition(const struct xnn_operator_data* layer,
                                                          const struct xnn_value* values) {
  if (layer->num_inputs <= EXECUTORCH_ADDED) return xnn_status_success;
  struct xnn_operator* const op = layer->operator_objects[0];
  if (!executorch_has_sizes_of(&values[layer->inputs[EXECUTORCH_ADDED]],
                               &values[layer->outputs[0]])) {
    return xnn_status_invalid_parameter;
  }
  if (op->flags & EXECUTORCH_FLAG_WINOGRAD) return xnn_status_success;  // always can
  if (op->ukernel.type == xnn_microkernel_type_igemm) {
    xnn_igemm_ukernel_fn* const kernel =
        &op->context.igemm.igemm.ukernel.function[XNN_UARCH_DEFAULT];
    *kernel = executorch_adding_igemm(*kernel);
    return *kernel != NULL ? xnn_status_success : xnn_status_unsupported_parameter;
  }
  xnn_gemm_ukernel_fn* const kernel =
      &op->context.gemm.gemm.gemm.ukernel.function[XNN_UARCH_DEFAULT];
  *kernel = executorch_adding_gemm(*kernel);
  return *kernel != NULL ? xnn_status_success : xnn_status_unsupported_parameter;
}

// After setting up: where what is added lies.
static inline void executorch_setup_addition(const struct xnn_operator_data* layer,
                                             const struct xnn_value* values) {
  if (layer->num_inputs <= EXECUTORCH_ADDED) return;
  struct xnn_operator* const op = layer->operator_objects[0];
  if (op->flags & EXECUTORCH_FLAG_WINOGRAD) {
    op->context.winograd.added = values[layer->inputs[EXECUTORCH_ADDED]].data;
    return;
  }
  void* const params = op->ukernel.type == xnn_microkernel_type_igemm
                           ? (void*)&op->context.igemm.igemm.params
                           : (void*)&op->context.gemm.gemm.gemm.params;
  _Static_assert(sizeof(op->context.igemm.igemm.params) >= sizeof(struct executorch_adding), "");
  _Static_assert(sizeof(op->context.gemm.gemm.gemm.params) >= sizeof(struct executorch_adding), "");
  const uintptr_t added = (uintptr_t)values[layer->inputs[EXECUTORCH_ADDED]].data;
  const ptrdiff_t distance = (ptrdiff_t)(added - (uintptr_t)values[layer->outputs[0]].data);
  memcpy((char*)params + offsetof(struct executorch_adding, added), &distance, sizeof(distance));
}
#endif
