# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Detect whether the tested runtime includes XNNPACK, which provides the backend and the thread pool's workers."""

import pytest

from executorch.runtime import Runtime

HAS_XNNPACK = "XnnpackBackend" in Runtime.get().backend_registry.registered_backend_names
needs_xnnpack = pytest.mark.skipif(not HAS_XNNPACK, reason="this runtime was built without XNNPACK")
