# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Short names for documented builds; everything else is CMake's (CMakePresets.json).
.PHONY: help llama-cpu executor-runner-xnnpack clean
help:
	@echo "make llama-cpu                build cmake-out/examples/models/llama/llama_main, and install the package into cmake-out"
	@echo "make executor-runner-xnnpack  build cmake-out/executor_runner"
	@echo "make clean                    remove cmake-out"
llama-cpu:
	cmake --workflow --preset llm-release
	cd examples/models/llama && cmake --workflow --preset llama-release
executor-runner-xnnpack:
	cmake --workflow --preset executor-runner-xnnpack
clean:
	rm -rf cmake-out
