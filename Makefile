# `make help` lists the targets. Everything is installed into .venv; nothing outside the project is touched.

PYTHON ?= python3
VENV := .venv
MUTANTS ?= .mutants
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Tests of one file stay in one process, which shares what they set up.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile

# Tests start many processes: what is compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo demo-collect test test-quick test-slow test-mutations lint bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

demo: $(INSTALLED)  ## collect, learn and audit on an embedded example
	$(BIN)/graphveil demo

demo-collect: $(INSTALLED)  ## a collector, 1,000 devices and two studies over HTTP
	$(BIN)/graphveil collect demo

test: lint  ## linters, types, tests and the examples in docstrings
	$(BIN)/python -m pytest -q --doctest-modules src
	$(BIN)/python -m pytest -q $(PARALLEL)

test-quick: $(INSTALLED)  ## the core promises of every room, in 90 seconds
	$(BIN)/python -m pytest -q $(PARALLEL) @tests/quick.txt

test-slow: $(INSTALLED)  ## the tests that take minutes; PART=audits runs one part, AGAIN=1 what has passed too
	$(BIN)/python -m pytest -q tests/slow --part "$(PART)" $(if $(AGAIN),--again)

test-mutations: $(INSTALLED)  ## how many of 300 small mistakes the tests see; kept in MUTANTS=folder
	$(BIN)/python -m tests.mutation $(MUTANTS)

lint: $(INSTALLED)  ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(INSTALLED)  ## speed and memory, as ratios to a reference in the same run
	$(BIN)/python -m benchmarks

clean:  ## remove the virtual environment, builds and caches
	rm -rf $(VENV) .slow .mutants build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installs again only when a dependency has changed; the stamp is written last, so a failed install is repeated.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "graphveil needs Python 3.11 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)." \
	       "Name another one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@
