# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A backend whose payload is a program of its own (`ExecutorBackend`)."""
