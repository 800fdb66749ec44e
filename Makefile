# Commands for developers and operators. The scripts are in deploy/. No target overrides an environment variable.
.DEFAULT_GOAL := help
.PHONY: help install install-dev run cluster test quick coverage clients check structure mutants bench faults fuzz load requirements reference docs

# The first interpreter that runs and is 3.11 or later.
ifndef PYTHON
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
endif
BIN := .venv/bin

help: ## List of the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

install:
	@[ -n "$(PYTHON)" ] || { echo "Galley needs Python 3.11 or later." >&2; exit 1; }
	@$(PYTHON) deploy/bootstrap.py requirements.txt requirements-previews.txt

install-dev:
	@[ -n "$(PYTHON)" ] || { echo "Galley needs Python 3.11 or later." >&2; exit 1; }
	@$(PYTHON) deploy/bootstrap.py requirements-dev.txt

run: install ## Migrate, seed the demo once, start the server and the worker
	@exec $(BIN)/python deploy/run.py

cluster: install-dev ## Two web nodes and two workers behind nginx, on PostgreSQL, Redis and an object store
	@exec $(BIN)/python deploy/cluster.py

test: install-dev ## Complete test suite, on SQLite and on PostgreSQL
	@$(BIN)/python tests/run.py

quick: install-dev ## Unit and route tests on SQLite, without servers and long examples
	@$(BIN)/python tests/run.py quick

coverage: install-dev ## The test suite once, with the branch coverage of its SQLite half
	@$(BIN)/python tests/run.py coverage

check: install-dev ## Formatter, linters, types, import contracts, unused code, dependencies, security, last coverage
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python .ci/word_lint.py --check
	@$(BIN)/python .ci/unused.py
	@$(BIN)/python .ci/regex_lint.py
	@$(BIN)/deptry --no-ansi .
	@$(BIN)/bandit --quiet --recursive --severity-level high app config.py wsgi.py gunicorn.conf.py deploy migrations
	@$(BIN)/python deploy/audit.py
	@cat .coverage-figure 2>/dev/null || echo "Coverage: not measured in this checkout. make coverage measures it."

structure: install-dev ## Figures of the structure: sizes of modules, imports, one-line functions
	@$(BIN)/python .ci/structure.py

mutants: install-dev ## The authorization table with each guard disabled in turn
	@$(BIN)/python -m pytest -s --show-capture=no tests/mutants.py

bench: install-dev ## Benchmarks as ratios
	@$(BIN)/python -m pytest -s tests/bench

faults: install-dev ## Failures of processes, networks and dependencies, and the guaranteed outcomes
	@$(BIN)/python -m pytest -n 3 --dist loadgroup tests/faults

clients: install-dev ## Clients that generators make from the OpenAPI document, its linter, and the TypeScript of the guide
	@$(BIN)/python -m pytest -s tests/generated

fuzz: install-dev ## At least 120,000 generated and mutated requests per database
	@GALLEY_LONG=1 $(BIN)/python -m pytest -s -p no:logging tests/fuzz

reference: install-dev ## Write .env.example, the settings of docs/deployment.md and docs/errors.md from the declarations
	@$(BIN)/python -m app.settings.reference
	@$(BIN)/python deploy/error_page.py

docs: install-dev ## Documentation site in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

load: install-dev ## Mixed traffic, then three times the capacity of the service, then recovery
	@$(BIN)/python -m pytest -s -p no:logging tests/load

requirements: ## Lock requirements*.in with hashes, for every platform
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && $(PYTHON) -m venv "$$tmp" && \
	"$$tmp/bin/pip" install --quiet --disable-pip-version-check uv && \
	lock="$$tmp/bin/uv pip compile --quiet --universal --upgrade --generate-hashes --no-header --python-version 3.11" && \
	$$lock requirements.in -o requirements.txt && \
	$$lock requirements-otel.in -c requirements.txt -o requirements-otel.txt && \
	$$lock requirements-assets.in -c requirements.txt -o requirements-assets.txt && \
	$$lock requirements-previews.in -c requirements.txt -o requirements-previews.txt && \
	$$lock requirements-dev.in -c requirements.txt -o requirements-dev.txt
