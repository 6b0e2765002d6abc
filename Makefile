# On a fresh machine: `make demo` and `make test`. Everything lives in .venv/ and build/.
READY := .venv/.ready
RUN := . scripts/environment.sh &&
# Every core has a worker: threads of numpy's products would only wait for cores.
TEST := $(RUN) OPENBLAS_NUM_THREADS=1 python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder
ARCHS :=

.PHONY: help demo test test-gate test-all lint format generate check isa build smoke docs docs-site bench clean
.DEFAULT_GOAL := help

help: ## list these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml scripts/setup.sh
	@scripts/setup.sh

demo: $(READY) ## generate, build for the host and for AMD, prove the instances on real layers
	@$(RUN) scripts/demo.sh

test: $(READY) ## the quick tests, in 10 minutes: all that compiles nothing, and proofs of a library of set quick
	@$(TEST) -m "quick or not compiles"

test-gate: $(READY) ## all tests but sweeps (further cases of other tests); machine code of set quick on the emulator
	@$(TEST) -m "not sweep"
	@$(RUN) ckgen smoke --platform amd --emulate --set quick --brief

test-all: $(READY) ## every test, and the machine code of set ci for five AMD architectures on the emulator
	@$(TEST)
	@$(RUN) ckgen smoke --platform amd --emulate --set ci --brief
	@$(RUN) python scripts/emulator_table.py --check --collect build/ci/emulated

lint: $(READY) ## ruff, mypy --strict, clang-format, shellcheck, size budgets
	@$(RUN) scripts/lint.sh

format: $(READY) ## rewrite Python and C++ in the project's style
	@$(RUN) scripts/lint.sh --fix

generate: $(READY) ## bring generated/ up to date with instances.yaml
	@$(RUN) ckgen generate

check: $(READY) ## fail if generated/, tables, docs/ or the schema drifted from what they are made from
	@$(RUN) ckgen check && $(RUN) ckgen tune --check && $(RUN) python scripts/docs.py --check

isa: $(READY) ## hold the AMD machine code of set ci (ARCHS="gfx942 ...") against the limits of instances.yaml and docs/isa/
	@$(RUN) ckgen isa --set ci --check $(addprefix --arch ,$(ARCHS))

build: $(READY) ## the host library of set ci
	@$(RUN) ckgen build --platform host --set ci

smoke: $(READY) ## prove every instance of set ci on the host
	@$(RUN) ckgen smoke --platform host --set ci

docs: $(READY) ## rewrite the generated pages and tables
	@$(RUN) python scripts/docs.py

docs-site: $(READY) ## the documentation as a site, build/site; fails for a wrong link or reference
	@$(RUN) python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@$(RUN) NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

bench: $(READY) ## the numbers: generator speed, start-up, AMD build cost
	@$(RUN) env -u CMAKE_CXX_COMPILER_LAUNCHER scripts/bench.sh

clean: ## remove build/, caches and .venv/
	rm -rf build dist .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
