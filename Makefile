# Each target sets up what it needs in .venv first, with uv where it is on PATH, else with venv and pip. Nothing but
# Python >= 3.11 and make has to be there. The first time takes a minute or two, later times no time.
#
#   make demo  [ARGS="--store redis://127.0.0.1:6379"]     the incident desk, see README.md
#   make test  [ARGS="-k sqlite"]                          all tests; a Redis server is found or brought along
#   make check                                             formatting, lint, types, who imports whom, the house rules
#   make simulate [SEEDS=100000]                           the store's promises under faults, seed by seed
#   make storm [ARGS="model kills-redis"]                  the long runs of the tests: up to an hour
#   make bench [ARGS="--help"]                             the ratios against their floors, and to what else is installed
#   make bench-langgraph [ARGS="--only chat"]              the same for LangGraph's checkpointers, side by side
#   make clean                                             remove what these targets made

BIN := .venv/bin
ifndef UV
UV := $(shell command -v uv 2>/dev/null)
endif
# CrewAI does not run on 3.14 yet.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for p in python3 python3.12 python3.13 python3.11; do $$p -c '$(FITS)' 2>/dev/null && echo $$p && break; done)
SEEDS ?= 100000
# Tests often wait, for a lease to expire, a process or a disk: four more at once than there are cores, up to six.
AT_ONCE ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 3 ? n + 4 : 6)))
PACKAGES := adapters api contracts coordinator examples workers
QUIET_FRAMEWORKS := CREWAI_DISABLE_TELEMETRY=true CREWAI_TRACING_ENABLED=false CREWAI_DISABLE_VERSION_CHECK=true \
	LANGSMITH_TRACING=false

.DELETE_ON_ERROR:
.PHONY: demo test check format lint mypy pyright imports layout simulate storm bench bench-langgraph clean setup always

demo: setup
	@$(BIN)/batonpass demo $(ARGS)

test: setup
	@$(QUIET_FRAMEWORKS) $(BIN)/python -m pytest --numprocesses $(AT_ONCE) --dist worksteal $(ARGS)

check: format lint mypy pyright imports layout

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

mypy: setup
	$(BIN)/mypy

pyright: setup
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: setup
	$(BIN)/lint-imports --no-logo --no-cache

layout: setup
	$(BIN)/python -m pytest --quiet tests/house/test_layout.py

simulate: setup
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(ARGS)

storm: setup
	@$(QUIET_FRAMEWORKS) $(BIN)/python -m tests.storm $(ARGS)

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

bench-langgraph: setup
	@$(BIN)/python -m benchmarks.langgraph_saver $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis batonpass-demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup: build/linked

# The installed package is a tree of links to the files here. It has to be made again when files come or go:
# .venv/files is touched exactly then.
build/linked: .venv/installed .venv/files
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --reinstall --editable .
else
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
endif
	@touch $@

.venv/files: always | .venv/installed
	@find $(PACKAGES) -type f ! -name '*.pyc' ! -path '*/.*' | sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.venv/installed: pyproject.toml
	@echo "Setting up .venv: a minute or two, once."
ifdef UV
	@test -x $(BIN)/python || { rm -rf .venv && $(UV) venv --quiet --python "$(or $(PYTHON),3.12)" .venv; }
	@$(UV) pip install --quiet --python $(BIN)/python --group dev --editable '.[all]'
else
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed: install one, or say PYTHON=/path/to/python"; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-compile --group dev --editable '.[all]'
endif
	@touch $@
