# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose undelegated operators of the dialect `channels_last` to permute, ATen's operator and permute."""

from __future__ import annotations

from typing import Any

from executorch.backends.transforms import channels_last_ops  # noqa: F401  (registers the dialect)
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass, NodeMetadata

_aten: Any = ops.edge.aten
_channels_last: Any = ops.edge.channels_last
_TO_CHANNELS_FIRST = [0, 3, 1, 2]
_TO_CHANNELS_LAST = [0, 2, 3, 1]

_DECOMPOSITIONS = {
    _channels_last.convolution.default: _aten.convolution.default,
    _channels_last.avg_pool2d.default: _aten.avg_pool2d.default,
    _channels_last.adaptive_avg_pool2d.default: _aten._adaptive_avg_pool2d.default,
    _channels_last.upsample_bilinear2d.default: _aten.upsample_bilinear2d.vec,
    _channels_last.upsample_nearest2d.default: _aten.upsample_nearest2d.vec,
    _channels_last.max_pool2d_with_indices.default: _aten.max_pool2d_with_indices.default,
    _channels_last.grid_sampler_2d.default: _aten.grid_sampler_2d.default,
}


class DecomposeChannelsLastPass(ExportPass):
    """Replaces every operator of the dialect `channels_last`."""

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata) -> Any:
        if op is _channels_last.permute_copy.default:
            return super().call_operator(_aten.permute_copy.default, args, kwargs, meta)
        if op not in _DECOMPOSITIONS:
            return super().call_operator(op, args, kwargs, meta)
        images = self._permuted(args[0], _TO_CHANNELS_FIRST, meta)
        result = super().call_operator(_DECOMPOSITIONS[op], (images, *args[1:]), kwargs, meta)
        if not isinstance(result.data, (tuple, list)):
            return self._permuted(result, _TO_CHANNELS_LAST, meta)
        parts = [self.call_getitem(result, index, meta) for index in range(len(result.data))]
        return tuple(self._permuted(part, _TO_CHANNELS_LAST, meta) for part in parts)

    def call_getitem(self, value: Any, key: int, meta: NodeMetadata) -> Any:
        # `call_operator` returns the results of a decomposed operator as a tuple; no node has to be indexed.
        return value[key] if isinstance(value, tuple) else super().call_getitem(value, key, meta)

    def _permuted(self, value: Any, dims: list[int], meta: NodeMetadata) -> Any:
        return super().call_operator(_aten.permute_copy.default, (value, dims), {}, meta)
