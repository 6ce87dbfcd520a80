# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Code generation for kernel libraries: yaml → typed declarations and a registration table. Depends on PyYAML alone."""
