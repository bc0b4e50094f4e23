# Thin wrappers; each first makes the machine ready (tools/setup.sh, a no-op when nothing changed).
PYTHON := .venv/bin/python
BUILD := build/release
FUZZ_SECONDS ?= 600

.PHONY: help setup build demo demo-decompose test test-unit test-python check format format-check tidy bench fuzz clean

help:  ## this list
	@grep -hE '^[a-z%-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## install packages, the virtual environment and ONNX Runtime's headers
	@tools/setup.sh

build: setup  ## build the command line, the library, the tests and the benchmarks
	@cmake --preset release >build/cmake.log || { cat build/cmake.log; exit 1; }
	@ninja -C $(BUILD)

demo: build  ## quantize real pretrained models and show float and INT8 accuracy
	@$(PYTHON) examples/demo.py

demo-decompose: build  ## decompose a trained network in PyTorch, ONNX and TensorFlow
	@$(PYTHON) examples/demo_decompose.py

test: build test-unit test-python  ## all tests

test-unit: build
	@ctest --test-dir $(BUILD) --output-on-failure -j2

test-python: build
	@$(PYTHON) -m pytest tests/python -q

check: test format-check tidy  ## tests, format, clang-tidy, include and size rules
	@$(PYTHON) tools/check_includes.py
	@$(PYTHON) tools/check_sizes.py

format:  ## rewrite the sources in the project's format
	@git ls-files '*.cpp' '*.h' | xargs .venv/bin/clang-format -i

format-check: setup
	@git ls-files '*.cpp' '*.h' | xargs .venv/bin/clang-format --dry-run -Werror

tidy: setup
	@tools/tidy.sh

bench: build  ## every speed, memory and accuracy ratio; bench-NAME runs one group
	@$(PYTHON) benchmarks/run.py

bench-%: build
	@$(PYTHON) benchmarks/run.py $*

fuzz: setup  ## FUZZ_SECONDS of libFuzzer on each parser
	@tools/fuzz.sh $(FUZZ_SECONDS)

clean:  ## remove what was built (not .venv)
	rm -rf build out
