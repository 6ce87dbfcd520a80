# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators of language models: attention over a cache, and writing the cache."""
