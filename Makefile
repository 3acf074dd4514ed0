# Everything that the README and .ci/run promise.  Needs Python >= 3.11 with its headers, make and a C++17 compiler;
# all else (cmake and ninja included) comes from pip into $(VENV).
#
#   make demo     make the environment, install darter, run its main job
#   make test     the test suite                         (PYTEST_ARGS="-k name" narrows it)
#   make lint     layers, ruff, mypy, clang-format, clang-tidy
#   make torch    add torch to the environment, so that its tests run too
#   make cuda-tools  add NVIDIA's assemblers and libdevice, so that tests of GPU code assemble it; needs no GPU
#   make test-sanitize, make fuzz, make bench-instructions, make bench-matrix, make clean

SHELL := /bin/bash
PYTHON ?= $(shell .ci/find-python 3.11 3.12 3.13)
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Two processes: the machines that this runs on have two cores or more.
WORKERS ?= 2

SOURCES := $(shell find src native -type f -not -name '*.so' -not -path '*/__pycache__/*') \
           pyproject.toml CMakeLists.txt README.md LICENSE
TIDY_SOURCES := $(wildcard native/*.cpp native/*/*.cpp)
CXX_SOURCES := $(TIDY_SOURCES) $(wildcard native/*/*.hpp)

.PHONY: demo test test-sanitize lint lint-python lint-cxx torch cuda-tools fuzz bench-instructions bench-matrix clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(BIN)/darter demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

lint: lint-python lint-cxx

lint-python: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

# -Werror is for the compiler that builds: what clang warns of in the C++ library's own headers is not for us to mend.
lint-cxx: $(VENV)/.lint build/tidy/compile_commands.json
	$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)
	printf '%s\n' $(TIDY_SOURCES) | xargs -P $(WORKERS) -n 1 $(BIN)/clang-tidy -p build/tidy --quiet --removed-arg=-Werror \
	    --removed-arg=-fno-tree-loop-distribute-patterns --extra-arg=-idirafter$$(dirname $$($${CXX:-c++} -print-file-name=include/omp.h))

torch: $(VENV)/.torch

cuda-tools: $(VENV)/.cuda-tools

# What runs native code: the module's own tests, guards, properties of keys, binder and launch programs, real calls.  The
# rest of the suite is Python, LLVM's work, or processes of its own; SANITIZE_TESTS=tests runs all of it.
SANITIZE_TESTS ?= tests/unit/native tests/unit/capture tests/unit/launch tests/property/test_lean_key.py \
                  tests/property/test_binder.py tests/property/test_native_key.py tests/property/test_launch_programs.py \
                  tests/cases/test_bad_input.py tests/cases/test_what_calls_promise.py tests/cases/test_b_calls.py \
                  tests/cases/test_e_f_launch.py

# AddressSanitizer has to be the first library of the process, hence LD_PRELOAD; CPython's own arenas hide errors from it,
# hence PYTHONMALLOC.  Leaks are not looked for: the interpreter keeps what it likes at exit.
test-sanitize:
	$(MAKE) VENV=.venv-sanitize BUILD_ARGS="-C cmake.define.DARTER_SANITIZE=ON -C build-dir=build/sanitize" .venv-sanitize/.test
	env LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc \
	    DARTER_SANITIZED=1 .venv-sanitize/bin/python -m pytest -n $(WORKERS) $(SANITIZE_TESTS) $(PYTEST_ARGS)

fuzz: $(VENV)/.test
	DARTER_HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n $(WORKERS) tests/property tests/examples $(PYTEST_ARGS)

bench-instructions: $(VENV)/.test
	$(BIN)/python -m benchmarks.instructions $(BENCH_ARGS)

# Minutes: the comparison of two trees, on this tree and itself 20 times over, and on a copy that is slower.
bench-matrix: $(VENV)/.test
	$(BIN)/python -m benchmarks.hotpath_replay.selfcheck $(BENCH_ARGS)

clean:
	rm -rf build dist .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/darter/*.so

# -- the environment: one, filled as far as a target needs ---------------------------------------------------------------

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11, 3.12 or 3.13 found; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(VENV)/bin/python
	@echo "building darter and installing it with what it needs into $(VENV): a minute or two"
	@$(BIN)/python -m pip install --quiet $(BUILD_ARGS) .
	@touch $@

$(VENV)/.test: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python .ci/extra.py test)
	@touch $@

$(VENV)/.lint: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python .ci/extra.py lint)
	@touch $@

$(VENV)/.torch: | $(VENV)/.test
	$(BIN)/python -m pip install --quiet --only-binary=:all: torch==2.13.0
	@touch $@

# Without what they depend on: the assemblers alone, of one CUDA version.
$(VENV)/.cuda-tools: | $(VENV)/.test
	$(BIN)/python -m pip install --quiet --only-binary=:all: --no-deps nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
	    nvidia-nvjitlink==13.5.37
	@touch $@

build/tidy/compile_commands.json: CMakeLists.txt $(TIDY_SOURCES) | $(VENV)/.lint
	PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B build/tidy -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > build-tidy.log \
	    || { cat build-tidy.log; rm -f build-tidy.log; exit 1; }
	@rm -f build-tidy.log; touch $@
