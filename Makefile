# The README's two commands are `make demo` and `make test`. Everything they need is installed here, into folders of this checkout.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
PYTHON ?= python3
PIP := -m pip --disable-pip-version-check --no-input
BIN := .venv/bin
STAGES := bare-debian lint unit unit-extension unit-worker unit-worker-newest e2e e2e-extension workbench
STAGE ?= $(STAGES)
# The longest first, so that they aren't waited for in the end.
LONGEST := e2e workbench
# These begin while packages for the longest are being installed, and leave them a place; others wait until those have what they need.
EARLY := bare-debian unit-extension unit
# Test processes of a stage, and stages side by side: the tests wait more than they compute, those of e2e most of all.
JOBS ?= $(shell nproc)
E2E_JOBS ?= $(shell [ $(JOBS) -gt 1 ] && echo $$(($(JOBS) + 2)) || echo 1)
SIDE ?= $(shell [ $(JOBS) -gt 1 ] && echo 3 || echo 1)
PYTEST := -m pytest -q --junitxml
RESULTS := .cache/test
VSIX := vscode-extension/dist/kernelband.vsix
SOURCES := $(shell git ls-files -co --exclude-standard server examples requirements vscode-extension LICENSE 2>/dev/null | xargs ls -d 2>/dev/null)
LOCK := --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header
# Without bytecode each of a thousand processes compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test stress format vsix locks sizes clean system programs $(STAGES) $(STAGES:%=stage-%) $(STAGES:%=ready-%)

help: ## what there is to run
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 20

# ------------------------------------------------------------------ environments
.venv/ready: requirements/engine.txt pyproject.toml .ci/environment
	@PYTHON="$(PYTHON)" bash .ci/environment .venv
	$(BIN)/python $(PIP) install -q --require-hashes -r requirements/engine.txt
	$(BIN)/python $(PIP) install -q --no-deps --no-build-isolation -e .
	@touch $@

.venv/ready-test: .venv/ready requirements/engine-test.txt
	$(BIN)/python $(PIP) install -q --require-hashes -r requirements/engine-test.txt
	@touch $@

.venv/ready-workbench: .venv/ready-test requirements/workbench.txt
	$(BIN)/python $(PIP) install -q --require-hashes -r requirements/workbench.txt
	@touch $@

.worker/ready: requirements/worker.txt requirements/constraints.txt .ci/environment
	@PYTHON="$(PYTHON)" bash .ci/environment .worker
	.worker/bin/python $(PIP) install -q --require-hashes -r requirements/worker.txt
	.worker/bin/python $(PIP) install -q --no-deps -c requirements/constraints.txt torch triton
	@touch $@

# The newest Triton before all that .worker has: torch is the same, and half a minute's work to install.
.worker-newest/ready: .worker/ready requirements/constraints-newest.txt
	@PYTHON="$(PYTHON)" bash .ci/environment .worker-newest
	.worker-newest/bin/python $(PIP) install -q --no-deps -c requirements/constraints-newest.txt triton
	.worker/bin/python -c 'import site; print(*site.getsitepackages(), sep="\n")' >"$$(echo .worker-newest/lib/python3*/site-packages)/worker.pth"
	@touch $@

.worker-newest/ready-test: .worker-newest/ready .worker/ready-test
	@touch $@

.worker/ready-test: .worker/ready requirements/worker-test.txt
	.worker/bin/python $(PIP) install -q --require-hashes -r requirements/worker-test.txt
	@touch $@

node_modules/ready: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

system: # the Debian packages that the tests need
	@bash .ci/system

programs: # VS Code in a browser, for the tests: Node 24, code-server, Chromium
	@[ "$${SKIP_WORKBENCH:-}" = 1 ] || bash .ci/workbench

# ------------------------------------------------------------------ the two commands
sizes: ## what `make demo` downloads
	@PYTHON="$(PYTHON)" bash .ci/sizes

demo: sizes .venv/ready .worker/ready ## optimize an example on this machine, with or without a GPU
	$(BIN)/kernelband optimize examples/layer_norm.py --python .worker/bin/python --gpu h100 --trials 8 --seconds 120 --seed 0

test: ## everything that CI runs, to its end; `make test STAGE="unit e2e"` runs those
	@rm -rf $(RESULTS)
	@mkdir -p $(RESULTS)
	@bash .ci/downloads $(STAGE)
	@$(MAKE) -s -k -j$(SIDE) $(addprefix stage-,$(filter $(LONGEST),$(STAGE)) $(filter-out $(LONGEST),$(STAGE))) || true
	@left=$$(for s in $(filter-out $(LONGEST),$(STAGE)); do [ -e $(RESULTS)/$$s.end ] || echo stage-$$s; done); \
		[ -z "$$left" ] || $(MAKE) -s -k -j$(SIDE) LONGEST= $$left || true  # they waited for what could not be installed
	@python3 .ci/table.py $(STAGE)

$(STAGES:%=stage-%): stage-%: ready-%
	@bash .ci/stage $* $(MAKE) -s $*

$(addprefix stage-,$(filter-out $(LONGEST) $(EARLY),$(STAGES))): | $(addprefix ready-,$(filter $(LONGEST),$(STAGE)))

# ------------------------------------------------------------------ the stages
# What a stage needs is installed before it begins, by one make for all of them, so that no two install the same.
lint ready-lint: .venv/ready-test .worker/ready node_modules/ready
unit ready-unit: .venv/ready-test
unit-extension ready-unit-extension: node_modules/ready
unit-worker ready-unit-worker: .worker/ready-test
unit-worker-newest ready-unit-worker-newest: .worker-newest/ready-test
e2e ready-e2e: .venv/ready-test .worker/ready-test .worker-newest/ready system
e2e-extension ready-e2e-extension: .venv/ready-test $(VSIX)
workbench: programs  # while other stages run
workbench ready-workbench: .venv/ready-workbench .worker/ready $(VSIX)

bare-debian: ## the environment on a python3 with neither ensurepip nor pip, and no uv
	@bash .ci/bare_debian

lint: ## ruff and pyright strict
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	NODE_OPTIONS=--max-semi-space-size=64 npx --no-install --loglevel=error pyright  # with less its time goes into collecting garbage
	NODE_OPTIONS=--max-semi-space-size=64 npx --no-install --loglevel=error pyright -p server/pyrightconfig.json
	npm run -s --loglevel=error check -w vscode-extension

unit: ## fast and pure
	$(BIN)/python $(PYTEST) $(RESULTS)/$@.xml -n $(JOBS) tests/unit tests/redteam/test_corpus.py tests/redteam/test_gate.py

unit-extension: ## the extension's pure parts
	RESULTS=$(CURDIR)/$(RESULTS)/$@.xml npm test -s --loglevel=error -w vscode-extension

unit-worker: ## the worker's insides
	PYTHONPATH=server .worker/bin/python $(PYTEST) $(RESULTS)/$@.xml -n $(JOBS) tests/unit_worker

unit-worker-newest: ## the same on the newest Triton, without what hangs on our own comparing, judging, storing and stopping only
	PYTHONPATH=server .worker-newest/bin/python $(PYTEST) $(RESULTS)/$@.xml -n $(JOBS) tests/unit_worker \
		$(addprefix --ignore tests/unit_worker/cases/test_,stress.py hidden.py tolerances.py rounding.py turns.py defences.py provoke.py own_stop.py \
		faults.py zones.py choose.py policy.py reports.py values.py guessing.py arguments.py)

# A file is one process's, and the first of these takes longest: in the end all others would wait for it.
e2e: ## real processes
	$(BIN)/python $(PYTEST) $(RESULTS)/$@.xml -n $(E2E_JOBS) --dist loadfile --no-loadscope-reorder tests/redteam/test_final.py tests/e2e tests/gpu -m "not stress" \
		--ignore tests/e2e/extension --ignore tests/e2e/workbench

e2e-extension: ## what the .vsix holds, and its server on every Python that is found
	$(BIN)/python $(PYTEST) $(RESULTS)/$@.xml tests/e2e/extension

workbench: ## the extension in a real VS Code; SKIP_WORKBENCH=1 leaves it out
	@if [ "$${SKIP_WORKBENCH:-}" = 1 ]; then echo "Left out: SKIP_WORKBENCH is 1."; exit 0; fi; \
	$(BIN)/python $(PYTEST) $(RESULTS)/$@.xml -n $(JOBS) --dist loadfile --timeout 900 tests/e2e/workbench

stress: .venv/ready-test .worker/ready system ## the long proofs
	$(BIN)/python -m pytest -q -s tests/stress -m stress

vsix: $(VSIX) ## the VS Code extension: vscode-extension/dist/kernelband.vsix

$(VSIX): .venv/ready node_modules/ready $(SOURCES)
	@$(BIN)/python vscode-extension/scripts/bundle.py
	@cd vscode-extension && npm run -s --loglevel=error package
	@touch $@

# ------------------------------------------------------------------ upkeep
format: .venv/ready-test ## rewrite in the house style
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

locks: .venv/ready-test ## compile requirements/*.txt anew
	cd requirements && for name in engine engine-test worker worker-test search workbench; do ../$(BIN)/uv pip compile -q --universal --python-version 3.10 $(LOCK) $$name.in -o $$name.txt; done
	cd requirements && ../$(BIN)/uv pip compile -q --python-version 3.10 --no-emit-package pip --no-emit-package tzdata $(LOCK) server.in -o server.txt
	cd tests/e2e/workbench/programs && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved=true --loglevel=error

clean: ## remove what make installed
	rm -rf .venv .worker .worker-newest node_modules .cache
