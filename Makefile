# Set-up happens in .venv, once, and again only when what it depends on changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -qq --constraint constraints.txt
PLUGINS := $(sort $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)))
PLUGIN_MODULES := $(sort $(patsubst %/__init__.py,%,$(wildcard plugins/*/cltr_*/__init__.py)))
REQUIREMENTS := constraints.txt pyproject.toml $(wildcard plugins/*/pyproject.toml)

# Two workers for two cores; each worker computes with one thread (tests/conftest.py).
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n $(WORKERS) --dist worksteal -p no:benchmark --ignore=tests/benchmarks

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench science docs release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## train PRPO over DR on the embedded data and show what it did
	$(BIN)/cltr train --estimator prpo --reward dr

test: lint ## lint, then the whole suite but for the slow checks
	$(PYTEST) $(PARALLEL) -m "not slow"

lint: $(VENV)/installed-test ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy cltr $(PLUGIN_MODULES)
	$(BIN)/lint-imports

bench: $(VENV)/installed-bench ## every stage against its natural rival: one table, one JSON
	@mkdir -p .benchmarks
	$(PYTEST) tests/benchmarks -p no:xdist -q -o python_files='bench_*.py' \
	  -o python_functions='bench_*' --benchmark-quiet --benchmark-json=.benchmarks/latest.json

science: $(VENV)/installed-test ## long statistical checks, and laws on many more examples
	$(PYTEST) $(PARALLEL) -m slow
	$(PYTEST) $(PARALLEL) -k law --hypothesis-profile search

docs: $(VENV)/installed-docs ## build the site into site/, with search that works offline
	$(BIN)/python docs/reference_pages.py
	$(BIN)/python -m zensical build --strict

release: $(VENV)/installed-test ## build the wheels of all packages and try them (SOURCE=https://…)
	@$(BIN)/python .ci/release.py --source "$(SOURCE)"

clean: ## remove caches and what builds leave behind (.venv stays)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache
	rm -rf build dist site .cache *.egg-info plugins/*/build plugins/*/dist plugins/*/*.egg-info
	find cltr plugins tests -name __pycache__ -type d -prune -exec rm -rf {} +

# torch first and by its exact version: a range could draw in another, far larger build.
$(VENV)/base: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) setuptools
	$(PIP) torch==2.13.0
	@touch $@

$(VENV)/installed: $(VENV)/base $(REQUIREMENTS)
	$(PIP) --no-build-isolation --editable . $(addprefix --editable ./,$(PLUGINS))
	@echo "compiling kernels, once"
	@rm -rf $(VENV)/first-run
	@$(BIN)/cltr train -n 100 --no-skyline -o training.epochs=1 -o production.epochs=1 \
	  --out $(VENV)/first-run > /dev/null 2>&1
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-test
	$(PIP) --no-build-isolation --editable '.[bench]'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@
