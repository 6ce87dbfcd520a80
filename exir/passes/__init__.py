# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graph transformations, one in each file. Their order is in `executorch.exir.program.pipeline`.

`edge`, `simplify`, `quantized`, `state`, `views` and `memory` hold the pipeline's passes, `standalone` those that only
users run. `documented` holds the module paths of ExecuTorch.
"""

import sys

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.documented import register_modules
from executorch.exir.passes.edge.aten_to_edge_pass import AtenToEdgePass
from executorch.exir.passes.edge.debug_handle_generator_pass import DebugHandleGeneratorPass
from executorch.exir.passes.edge.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.edge.promote_dtypes_pass import PromoteDtypesPass
from executorch.exir.passes.edge.remove_graph_asserts_pass import RemoveGraphAssertsPass
from executorch.exir.passes.edge.replace_sym_ops_pass import ReplaceSymOpsPass
from executorch.exir.passes.edge.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.passes.memory.spec_prop_pass import SpecPropPass
from executorch.exir.passes.memory.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.passes.memory.to_out_var_pass import ToOutVarPass
from executorch.exir.passes.quantized.fold_quantization_pass import FoldQuantizationPass
from executorch.exir.passes.quantized.quant_fusion_pass import QuantFusionPass
from executorch.exir.passes.simplify.cancel_rearrangements_pass import CancelRearrangementsPass
from executorch.exir.passes.simplify.cse_pass import CSEPass
from executorch.exir.passes.simplify.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.passes.simplify.remove_noop_pass import RemoveNoopPass, RemoveToCopyPass
from executorch.exir.passes.standalone.const_prop_pass import ConstPropPass
from executorch.exir.passes.standalone.debug_pass import DebugPass
from executorch.exir.passes.standalone.legalize_portable_dim_order_pass import LegalizePortableDimOrderPass
from executorch.exir.passes.standalone.prune_empty_tensors_pass import PruneEmptyTensorsPass
from executorch.exir.passes.standalone.remove_unused_parameters_pass import remove_unused_parameters_pass
from executorch.exir.passes.standalone.to_device_pass import ToDevicePass
from executorch.exir.passes.state.insert_write_back_for_buffers_pass import insert_write_back_for_buffers_pass
from executorch.exir.passes.views.functional_views_pass import FunctionalViewsPass
from executorch.exir.passes.views.normalize_views_pass import NormalizeViewsPass
from executorch.exir.passes.views.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass

# Documented names of two passes.
OpReplacePass = AtenToEdgePass
ReplaceSymSizeOpPass = ReplaceSymOpsPass


def dead_code_elimination_pass(graph_module: fx.GraphModule) -> PassResult:
    """Façade: `DeadCodeEliminationPass` under its documented name."""
    return DeadCodeEliminationPass()(graph_module)


register_modules(sys.modules[__name__])

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
