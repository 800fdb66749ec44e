# What a person types. Everything else is in deploy/; nothing here overrides a variable of the environment.
.DEFAULT_GOAL := help
.PHONY: help install install-dev run cluster test check mutants bench faults fuzz load requirements docs

# The first interpreter that runs and is 3.11 or later.
ifndef PYTHON
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
endif
BIN := .venv/bin

help: ## This list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

install:
	@[ -n "$(PYTHON)" ] || { echo "Galley needs Python 3.11 or later." >&2; exit 1; }
	@$(PYTHON) deploy/bootstrap.py requirements.txt

install-dev:
	@[ -n "$(PYTHON)" ] || { echo "Galley needs Python 3.11 or later." >&2; exit 1; }
	@$(PYTHON) deploy/bootstrap.py requirements-dev.txt

run: install ## Migrate, seed the demo once, start the server and the worker
	@exec $(BIN)/python deploy/run.py

cluster: install-dev ## Two web nodes and two workers behind nginx, on PostgreSQL, Redis and an object store
	@exec $(BIN)/python deploy/cluster.py

test: install-dev ## The whole test suite, on SQLite and on PostgreSQL
	@$(BIN)/python -m pytest -n 4

check: install-dev ## Formatter, linter, types, import contracts, security
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/bandit --quiet --recursive --severity-level high app config.py wsgi.py gunicorn.conf.py deploy migrations
	@$(BIN)/python deploy/audit.py

mutants: install-dev ## Every guard disabled in turn; the authorization table must notice
	@$(BIN)/python -m pytest -s --show-capture=no tests/mutants.py

bench: install-dev ## The benchmarks, printing ratios
	@$(BIN)/python -m pytest -s tests/bench

faults: install-dev ## Kills, cuts and stalls, and what is promised after each
	@$(BIN)/python -m pytest -n 3 --dist loadgroup tests/faults

fuzz: install-dev ## Requests from the OpenAPI document and mutated ones, at least 120,000 a store
	@GALLEY_LONG=1 $(BIN)/python -m pytest -s -p no:logging tests/fuzz

docs: install-dev ## The documentation site, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

load: install-dev ## Mixed traffic, then three times what the service can do, then recovery
	@$(BIN)/python -m pytest -s -p no:logging tests/load

requirements: ## Lock requirements*.in with hashes, for every platform
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && $(PYTHON) -m venv "$$tmp" && \
	"$$tmp/bin/pip" install --quiet --disable-pip-version-check uv && \
	lock="$$tmp/bin/uv pip compile --quiet --universal --upgrade --generate-hashes --no-header --python-version 3.11" && \
	$$lock requirements.in -o requirements.txt && \
	$$lock requirements-otel.in -c requirements.txt -o requirements-otel.txt && \
	$$lock requirements-dev.in -c requirements.txt -o requirements-dev.txt
