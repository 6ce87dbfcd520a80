# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planning algorithms as `MemoryPlanningPass` takes them, called with (alignment, specs, graph_module, graph_signature,
extra_padding). They give the tensors' problems to the solvers of `exir/memory/solve`.
"""
