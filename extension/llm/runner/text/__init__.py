# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runner of language models that read text. Its headers are in the folder above."""
