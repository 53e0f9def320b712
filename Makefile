# The README's two commands are `make demo` and `make test`. Everything they need is installed here, into folders of this checkout.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
PYTHON ?= python3
PIP := -m pip --disable-pip-version-check --no-input
BIN := .venv/bin
STAGE := bash .ci/stage
# Processes of the tests that may run side by side. Those with locks, kills and deadlines of their own run alone.
JOBS ?= 2
LOCK := --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header
# A user's settings must not reach the proofs.
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: vsix unit-extension help demo test stress lint format unit unit-worker e2e e2e-extension workbench e2e-workbench locks sizes clean system

help: ## what there is to run
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

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

.worker-newest/ready: requirements/worker.txt requirements/constraints-newest.txt .ci/environment
	@PYTHON="$(PYTHON)" bash .ci/environment .worker-newest
	.worker-newest/bin/python $(PIP) install -q --require-hashes -r requirements/worker.txt
	.worker-newest/bin/python $(PIP) install -q --no-deps -c requirements/constraints-newest.txt torch triton
	@touch $@

.worker%/ready-test: .worker%/ready requirements/worker-test.txt
	.worker$*/bin/python $(PIP) install -q --require-hashes -r requirements/worker-test.txt
	@touch $@

.worker/ready-test: .worker/ready requirements/worker-test.txt
	.worker/bin/python $(PIP) install -q --require-hashes -r requirements/worker-test.txt
	@touch $@

node_modules/ready: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# ------------------------------------------------------------------ the two commands
sizes: ## what `make demo` downloads
	@PYTHON="$(PYTHON)" bash .ci/sizes

demo: sizes .venv/ready .worker/ready ## optimize an example on this machine, with or without a GPU
	$(BIN)/kernelband optimize examples/layer_norm.py --python .worker/bin/python --gpu h100 --trials 8 --seconds 120 --seed 0

test: ## everything that .ci/run runs; prints seconds per stage
	@$(STAGE) environments $(MAKE) -s .venv/ready-test .worker/ready-test .worker-newest/ready-test node_modules/ready system
	@$(STAGE) lint $(MAKE) -s lint
	@$(STAGE) unit $(MAKE) -s unit
	@$(STAGE) unit-extension $(MAKE) -s unit-extension
	@$(STAGE) unit-worker $(MAKE) -s unit-worker
	@$(STAGE) e2e $(MAKE) -s e2e
	@$(STAGE) e2e-extension $(MAKE) -s e2e-extension
	@$(STAGE) workbench $(MAKE) -s e2e-workbench

lint: .venv/ready-test .worker/ready node_modules/ready ## ruff and pyright strict
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	npx --no-install --loglevel=error pyright
	npx --no-install --loglevel=error pyright -p server/pyrightconfig.json
	npm run -s --loglevel=error check -w vscode-extension

format: .venv/ready-test ## rewrite in the house style
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

vsix: .venv/ready node_modules/ready ## the VS Code extension: vscode-extension/dist/kernelband.vsix
	$(BIN)/python vscode-extension/scripts/bundle.py
	cd vscode-extension && npm run -s --loglevel=error package

unit-extension: node_modules/ready ## the extension's pure parts
	npm test -s --loglevel=error -w vscode-extension

unit: .venv/ready-test ## fast and pure
	$(BIN)/python -m pytest -q -n $(JOBS) tests/unit

unit-worker: .worker/ready-test .worker-newest/ready-test ## the worker's insides, on both Tritons
	PYTHONPATH=server .worker/bin/python -m pytest -q -n $(JOBS) tests/unit_worker
	PYTHONPATH=server .worker-newest/bin/python -m pytest -q -n $(JOBS) tests/unit_worker

e2e: OTHERS = --ignore tests/e2e/extension --ignore tests/e2e/workbench
e2e: .venv/ready-test .worker/ready system ## real processes
	$(BIN)/python -m pytest -q -n $(JOBS) tests/e2e/strategies tests/e2e/lsp -m "not stress and not alone"
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile tests/e2e tests/gpu --ignore tests/e2e/strategies --ignore tests/e2e/lsp $(OTHERS) -m "not stress and not alone"
	$(BIN)/python -m pytest -q tests/e2e $(OTHERS) -m "alone and not stress"

e2e-extension: .venv/ready-test vsix ## what the .vsix holds, and its server on every Python that is found
	$(BIN)/python -m pytest -q tests/e2e/extension

workbench: ## VS Code in a browser, for the tests: Node 24, code-server, Chromium
	@bash .ci/workbench

e2e-workbench: ## the extension in a real VS Code; SKIP_WORKBENCH=1 leaves it out
	@if [ "$${SKIP_WORKBENCH:-}" = 1 ]; then echo "Left out: SKIP_WORKBENCH is 1."; exit 0; fi; \
	$(MAKE) -s workbench .venv/ready-workbench .worker/ready && $(BIN)/python -m pytest -q --timeout 900 tests/e2e/workbench

stress: .venv/ready-test .worker/ready system ## the long proofs
	$(BIN)/python -m pytest -q -s tests/stress -m stress

system: ## the Debian packages that the tests need
	@bash tests/e2e/install_system_packages.sh

# ------------------------------------------------------------------ upkeep
locks: .venv/ready-test ## compile requirements/*.txt anew
	cd requirements && for name in engine engine-test worker worker-test search workbench; do ../$(BIN)/uv pip compile -q --universal --python-version 3.10 $(LOCK) $$name.in -o $$name.txt; done
	cd requirements && ../$(BIN)/uv pip compile -q --python-version 3.10 --no-emit-package pip --no-emit-package tzdata $(LOCK) server.in -o server.txt
	cd tests/e2e/workbench/programs && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved=true --loglevel=error

clean: ## remove what make installed
	rm -rf .venv .worker .worker-newest node_modules
