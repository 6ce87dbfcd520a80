# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Short names for documented builds; everything else is CMake's (CMakePresets.json).
.PHONY: help llama-cpu
help:
	@echo "make llama-cpu   build cmake-out/examples/models/llama/llama_main, and install the package into cmake-out"
llama-cpu:
	cmake --workflow llm-release
	cmake -S examples/models/llama -B cmake-out/examples/models/llama -DCMAKE_BUILD_TYPE=Release
	cmake --build cmake-out/examples/models/llama
