# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Code generation for kernel libraries: yaml → typed declarations and a registration table of selected operators.

``select_operators`` collects the operators (and dtypes) of programs, lists and yaml files. ``bind_kernels`` writes the
C++ of a library that registers them. ``python -m executorch.codegen`` and the CMake functions ``gen_selected_ops``,
``generate_bindings_for_kernels`` and ``gen_operators_lib`` call these two. The only dependency is PyYAML.
"""

from executorch.codegen.binding import Library, bind_kernels
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.selection import Selection, select_operators

__all__ = ["CodegenError", "Library", "Selection", "bind_kernels", "select_operators"]
