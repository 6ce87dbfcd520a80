# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graph transformations, one a file. Their order is in `executorch.exir.program.pipeline`."""

from executorch.exir.passes.aten_to_edge_pass import AtenToEdgePass
from executorch.exir.passes.cancel_rearrangements_pass import CancelRearrangementsPass
from executorch.exir.passes.cse_pass import CSEPass
from executorch.exir.passes.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.passes.debug_handle_generator_pass import DebugHandleGeneratorPass
from executorch.exir.passes.debug_pass import DebugPass
from executorch.exir.passes.fold_quantization_pass import FoldQuantizationPass
from executorch.exir.passes.functional_views_pass import FunctionalViewsPass
from executorch.exir.passes.legalize_portable_dim_order_pass import LegalizePortableDimOrderPass
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass
from executorch.exir.passes.normalize_views_pass import NormalizeViewsPass
from executorch.exir.passes.promote_dtypes_pass import PromoteDtypesPass
from executorch.exir.passes.remove_graph_asserts_pass import RemoveGraphAssertsPass
from executorch.exir.passes.remove_noop_pass import RemoveNoopPass
from executorch.exir.passes.replace_sym_ops_pass import ReplaceSymOpsPass
from executorch.exir.passes.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass
from executorch.exir.passes.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.spec_prop_pass import SpecPropPass
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.passes.to_out_var_pass import ToOutVarPass

__all__ = [
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
