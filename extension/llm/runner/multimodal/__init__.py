# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runner of language models that also read images and audio. Its headers are in the folder above."""
