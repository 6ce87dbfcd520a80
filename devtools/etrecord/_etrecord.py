# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: names that scripts import from this module of ExecuTorch 1.4."""

from enum import Enum

from executorch.devtools.etrecord.generate import generate_etrecord, parse_etrecord
from executorch.devtools.etrecord.record import ETRecord

__all__ = ["ETRecord", "ETRecordReservedFileNames", "generate_etrecord", "parse_etrecord"]


class ETRecordReservedFileNames(str, Enum):
    """Entries of a record's file, which further programs may not have in their names."""

    ETRECORD_IDENTIFIER = "ETRECORD_V0"
    EXPORTED_PROGRAM = "exported_program"
    EXPORT_GRAPH_ID = "export_graph_id"
    EDGE_DIALECT_EXPORTED_PROGRAM = "edge_dialect_exported_program"
    ET_DIALECT_GRAPH_MODULE = "et_dialect_graph_module"
    DEBUG_HANDLE_MAP_NAME = "debug_handle_map"
    DELEGATE_MAP_NAME = "delegate_map"
    INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME = "instruction_id_to_num_outs_map"
    REFERENCE_OUTPUTS = "reference_outputs"
    REPRESENTATIVE_INPUTS = "representative_inputs"

    def __str__(self) -> str:
        return self.value
