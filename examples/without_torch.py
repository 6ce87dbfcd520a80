# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runs a program with only numpy: ``python without_torch.py PROGRAM.pte``; torch is never imported."""

import sys

import numpy as np

from executorch.runtime import Runtime

program = Runtime.get().load_program(sys.argv[1])
for name in sorted(program.method_names):
    metadata = program.metadata(name)
    inputs = [metadata.input_tensor_meta(i) for i in range(metadata.num_inputs())]
    print(name, "takes", [(tuple(t.sizes()), t.dtype()) for t in inputs])
outputs = program.load_method("forward").execute([np.ones((1, 64), dtype=np.float32)])
print("outputs:", [(type(o).__name__, o.shape, o.dtype) for o in outputs])
assert "torch" not in sys.modules
