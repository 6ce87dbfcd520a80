# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graph transformations, one a file. Their order is in `executorch.exir.program.pipeline`."""

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.aten_to_edge_pass import AtenToEdgePass
from executorch.exir.passes.cancel_rearrangements_pass import CancelRearrangementsPass
from executorch.exir.passes.const_prop_pass import ConstPropPass
from executorch.exir.passes.cse_pass import CSEPass
from executorch.exir.passes.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.passes.debug_handle_generator_pass import DebugHandleGeneratorPass
from executorch.exir.passes.debug_pass import DebugPass
from executorch.exir.passes.fold_quantization_pass import FoldQuantizationPass
from executorch.exir.passes.functional_views_pass import FunctionalViewsPass
from executorch.exir.passes.insert_write_back_for_buffers_pass import insert_write_back_for_buffers_pass
from executorch.exir.passes.legalize_portable_dim_order_pass import LegalizePortableDimOrderPass
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass
from executorch.exir.passes.normalize_views_pass import NormalizeViewsPass
from executorch.exir.passes.promote_dtypes_pass import PromoteDtypesPass
from executorch.exir.passes.prune_empty_tensors_pass import PruneEmptyTensorsPass
from executorch.exir.passes.quant_fusion_pass import QuantFusionPass
from executorch.exir.passes.remove_graph_asserts_pass import RemoveGraphAssertsPass
from executorch.exir.passes.remove_noop_pass import RemoveNoopPass, RemoveToCopyPass
from executorch.exir.passes.remove_unused_parameters_pass import remove_unused_parameters_pass
from executorch.exir.passes.replace_aten_with_edge_pass import OpReplacePass
from executorch.exir.passes.replace_sym_ops_pass import ReplaceSymOpsPass
from executorch.exir.passes.replace_sym_size_op_pass import ReplaceSymSizeOpPass
from executorch.exir.passes.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass
from executorch.exir.passes.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.spec_prop_pass import SpecPropPass
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.passes.to_device_pass import ToDevicePass
from executorch.exir.passes.to_out_var_pass import ToOutVarPass


def dead_code_elimination_pass(graph_module: fx.GraphModule) -> PassResult:
    """Façade: `DeadCodeEliminationPass` under its documented name."""
    result = DeadCodeEliminationPass().call(graph_module)
    graph_module.recompile()
    return result


__all__ = [
    "ExportPass",
    "ConstPropPass",
    "insert_write_back_for_buffers_pass",
    "PruneEmptyTensorsPass",
    "QuantFusionPass",
    "RemoveToCopyPass",
    "remove_unused_parameters_pass",
    "OpReplacePass",
    "ReplaceSymSizeOpPass",
    "ToDevicePass",
    "dead_code_elimination_pass",
    "AtenToEdgePass",
    "CSEPass",
    "CancelRearrangementsPass",
    "ConstraintBasedSymShapeEvalPass",
    "DeadCodeEliminationPass",
    "DebugHandleGeneratorPass",
    "DebugPass",
    "FoldQuantizationPass",
    "FunctionalViewsPass",
    "HintBasedSymShapeEvalPass",
    "LegalizePortableDimOrderPass",
    "MemoryFormatOpsPass",
    "MemoryPlanningPass",
    "NormalizeViewsPass",
    "PromoteDtypesPass",
    "RemoveGraphAssertsPass",
    "RemoveNoopPass",
    "ReplaceSymOpsPass",
    "ReplaceViewCopyWithViewPass",
    "ScalarToTensorPass",
    "SpecPropPass",
    "ToOutVarPass",
]
