# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Whether the runtime under test was built with XNNPACK, which brings the backend and the thread pool's workers."""

import pytest

from executorch.runtime import Runtime

HAS_XNNPACK = "XnnpackBackend" in Runtime.get().backend_registry.registered_backend_names
needs_xnnpack = pytest.mark.skipif(not HAS_XNNPACK, reason="this runtime was built without XNNPACK")
