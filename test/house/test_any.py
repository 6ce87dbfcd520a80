# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The compiler uses `Any` only for values whose type torch, or a part that is loaded by name, leaves open."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "exir"

# Reason → files of exir.
ALLOWED = {
    "arguments of a node and values of its metadata: torch.fx.node.Argument is a union of twenty types": """
        backend/canonical_partitioners/largest_partitions.py backend/test/demo_payload.py decompose/call_body.py
        decompose/flex_attention.py emit/graph.py
        passes/edge/memory_format_ops_pass.py passes/edge/replace_sym_ops_pass.py
        passes/edge/scalar_to_tensor_pass.py passes/memory/to_out_var_pass.py
        passes/quantized/fold_quantization_pass.py passes/quantized/fuse_integer_products.py
        passes/quantized/fuse_quantized_layers.py passes/quantized/fuse_quantized_pools.py
        passes/quantized/fuse_quantized_tables.py passes/quantized/quant_fusion_pass.py
        passes/quantized/quantized_rows.py passes/simplify/cancel_rearrangements_pass.py
        passes/simplify/fold_batch_norm.py passes/simplify/fold_constants.py
        passes/simplify/lower_permute_rank_pass.py passes/simplify/recompose_activations.py
        passes/standalone/prune_empty_tensors_pass.py passes/standalone/quantize_io_pass.py
        passes/state/mutable_calls.py passes/state/reinplace.py
        passes/views/replace_view_copy_with_view_pass.py rewrite/fake_values.py rewrite/fusion_site.py
        rewrite/node_rewrite.py rewrite/program_signature.py rewrite/quantized_values.py rewrite/slice_writes.py
    """,
    "parameters that a call passes on to an operator of torch": """
        decompose/operators/extra_decompositions.py decompose/operators/randomness.py dialects/dim_order_ops.py
        operator/quantized.py operator/quantized_fused.py
    """,
    "results of calls, attributes and classes that torch types as Any": """
        decompose/aliased_buffers.py dialects/edge/_ops.py dialects/edge/schema.py graph_module.py
        lowered_backend_module.py program/single_program.py serde/program_bytes.py verification/verifier.py
        passes/standalone/to_device_pass.py
    """,
    "values and passes of the documented interfaces of torch.fx passes": """
        pass_base.py pass_manager.py passes/standalone/const_prop_pass.py program/transform.py rewrite/proxy_value.py
    """,
    "parts that are loaded by name, and results whose type the first argument selects": """
        backend/backend_api.py plugins/registry.py program/executorch_manager.py tensor.py
    """,
}


def _uses_any(path: Path) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(path.read_text())))


def test_any_stands_only_in_the_listed_files() -> None:
    allowed = {name for files in ALLOWED.values() for name in files.split()}
    found = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if _uses_any(path)}
    assert not found - allowed, "use object, a union, a Protocol, a TypedDict or a NewType instead of Any"
    assert not allowed - found, "remove files that no longer use Any"
