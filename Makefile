# Everything a person types here; `make` alone lists it.
PYTHON ?= python3
PORT ?= 8000
PY := .venv/bin/python
RUN := .venv/.installed-to-run
DEV := .venv/.installed-to-develop
DOCS := .venv/.installed-for-docs
PACKAGES := .venv/.installed-for-packages

# The shell reads them from its environment, so that spaces and quotes in a path stay what they are.
export STORE TRACES PORT

# Tests start hundreds of processes: each would compile all of Inspector, where the environment says not to keep what is compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv dev run test test-slow test-postgres test-all judges programs faults reliability fuzz check format bench docs reference scale screenshots lock vulnerabilities sbom clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo '  STORE=PATH and TRACES=PATH choose what `make run` shows, PORT=8000 where; PYTHON=python3 makes .venv'

venv: $(RUN) ## Make .venv with what running needs

dev: $(DEV) ## Make .venv with what tests and checks need too

run: $(RUN) ## Show a store (make run STORE=PATH [TRACES=PATH]), or the demo
	@$(PY) manage.py migrate --verbosity 0
	@if [ -n "$$STORE" ]; then $(PY) manage.py import_source "$$STORE" $${TRACES:+"$$TRACES"}; else $(PY) manage.py demo; fi
	@exec $(PY) manage.py serve --port "$$PORT"

# A process for each core; every test has its own files, database and ports. `make test ARGS='-n 0'` runs them in one, with a debugger if you like.
PARALLEL := -n auto --dist worksteal
ELSEWHERE := and not corpus and not judges and not programs

test: $(DEV) ## Run the tests that need neither Chromium nor a server (under four minutes)
	@$(PY) -m pytest $(PARALLEL) -m 'not slow and not browser and not postgres $(ELSEWHERE)' $(ARGS)

# Playwright keeps an event loop in the thread of the tests, and Django would refuse its database there.
test-slow: $(DEV) ## Run the slow tests, and those in Chromium where there is one
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 $(PY) -m pytest $(PARALLEL) -m '(slow or browser) and not postgres $(ELSEWHERE)' $(ARGS)

test-postgres: $(DEV) ## Run the tests of PostgreSQL stores, and those that use our own database, on a private PostgreSQL
	@$(PY) -m tests.postgres.run $(PY) -m pytest $(PARALLEL) -m '(database and not slow or postgres) and not browser $(ELSEWHERE)' $(ARGS)

test-all: test test-slow test-postgres ## Run all tests

judges: $(DEV) ## Install the real judges of histories (npm, pip) and ask them again; INSPECTOR_JUDGES=FOLDER
	@PYTHON="$(PYTHON)" sh tests/judges/install.sh
	@$(PY) -m pytest -m judges -rs tests/judges $(ARGS)

programs: $(DEV) ## Install the programs that keep sessions (npm, 2.4 GB) and let them read again; INSPECTOR_PROGRAMS=FOLDER
	@sh tests/published_programs/install.sh
	@$(PY) -m pytest -m programs -rs tests/published_programs $(ARGS)

faults: $(DEV) ## Kill, cut and fill the disk at every write of a repair and its undo (a C compiler; half an hour)
	@$(PY) -m tests.faults.run $(ARGS)

reliability: $(DEV) ## Try attacks and faults, and print what held (half an hour; ARGS=--write puts the table into the docs)
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 $(PY) -m tests.reliability $(ARGS)

fuzz: $(DEV) ## Mutate what reads stores, streams, texts and addresses, by what it reaches (Linux; an hour; ARGS='--seconds 60 capture')
	@$(PY) -m tests.fuzz.run $(ARGS)

CSS := .venv/bin/css-beautify --indent-size=2 --end-with-newline

check: $(DEV) ## Check format, lint, types, imports, settings and migrations
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/djlint templates --check --quiet
	@for file in static/*.css; do $(CSS) $$file | cmp -s - $$file || { echo "$$file is not formatted: make format"; exit 1; }; done
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) manage.py check_settings
	$(PY) manage.py makemigrations --check --dry-run

format: $(DEV) ## Format code, templates and styles, and repair what ruff can
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	.venv/bin/djlint templates --reformat --quiet || true
	@for file in static/*.css; do $(CSS) --replace $$file >/dev/null; done

bench: $(DEV) ## Measure speed and memory next to their goals (half an hour; ARGS='--quick' or '--only ROW')
	@$(PY) -m bench.run $(ARGS)

scale: $(DEV) ## Walk through a session of 1,000,000 entries in Chromium (a quarter of an hour; INSPECTOR_SCALE=50000 for fewer)
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 INSPECTOR_SCALE=$${INSPECTOR_SCALE:-1000000} $(PY) -m pytest -n 0 -s -m scale $(ARGS)

docs: $(DOCS) ## Build the documentation site into var/docs/; every warning is an error
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict $(ARGS)
	@echo 'The documentation is in var/docs/index.html; with search: $(PY) -m http.server --directory var/docs'

reference: $(RUN) ## Generate the reference pages from the catalogues, commands and settings
	@$(PY) tools/reference.py

screenshots: $(DEV) ## Draw the pictures of the documentation again
	@$(PY) tools/screenshots.py $(ARGS)

lock: $(PACKAGES) ## Write the locks of requirements*.txt: all packages with their versions and hashes
	@for file in requirements requirements-dev requirements-docs requirements-packages; do \
	    .venv/bin/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header $$file.txt -o $$file.lock $(ARGS) || exit 1; done

vulnerabilities: $(PACKAGES) ## Ask PyPI for known vulnerabilities of what is installed
	@for file in requirements*.lock; do .venv/bin/pip-audit --requirement $$file --no-deps --disable-pip --progress-spinner off $(ARGS) || exit 1; done

sbom: $(PACKAGES) ## Write what running Inspector needs as a CycloneDX file, var/sbom.json
	@mkdir -p var && .venv/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible -o var/sbom.json
	@echo 'The packages are in var/sbom.json.'

clean: ## Remove .venv and caches; var/ with your data stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN): requirements.lock
	@$(make_venv)
	@$(install) -r requirements.lock
	@touch $@

$(DEV): requirements-dev.lock $(RUN)
	@$(install) -r requirements-dev.lock
	@touch $@

$(DOCS): requirements-docs.lock $(RUN)
	@$(install) -r requirements-docs.lock
	@touch $@

$(PACKAGES): requirements-packages.lock $(RUN)
	@$(install) -r requirements-packages.lock
	@touch $@

# Nothing is installed but what the locks name by its hash.
install = $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes

define make_venv
command -v "$(PYTHON)" >/dev/null || { echo 'There is no $(PYTHON) here: install Python 3.11 or newer, or name one with PYTHON=...' >&2; exit 1; }; \
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo '$(PYTHON) is older than Python 3.11: name a newer one with PYTHON=...' >&2; exit 1; }; \
"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo '$(PYTHON) cannot make a virtualenv: on Debian, apt-get install python3-venv.' >&2; exit 1; }; \
"$(PYTHON)" -m venv .venv
endef
