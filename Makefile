# One command a habit. Each works from a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HOME_READY := $(VENV)/.home-ready
DEV_READY := $(VENV)/.dev-ready
PEERS ?= .venv-peers
INSTALL_HERE := bin/python -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(VENV)/$(INSTALL_HERE)
RUN_TESTS := $(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder

# A suite starts hundreds of processes: none shall compile again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup peers demo test check fix types bench validity chaos lock

setup: $(DEV_READY)

$(HOME_READY): pyproject.toml requirements/build.txt requirements/home.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
	  { echo "infranoise needs Python 3.12 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --require-hashes --requirement requirements/build.txt --requirement requirements/home.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_READY): $(HOME_READY) requirements/dev.txt
	$(INSTALL) --require-hashes --requirement requirements/dev.txt
	@touch $@

# Harbor and Inspect in a Python of their own, for the round-trip tests of the importers.
peers: $(PEERS)/.ready

$(PEERS)/.ready: pyproject.toml requirements/build.txt requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/$(INSTALL_HERE) --require-hashes --requirement requirements/build.txt --requirement requirements/peers.txt
	$(PEERS)/$(INSTALL_HERE) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(HOME_READY)
	$(BIN)/infranoise demo

test: setup
	$(RUN_TESTS)

types: setup
	$(BIN)/mypy

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(RUN_TESTS)

fix: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python benchmarks/run_all.py

validity: setup
	$(BIN)/python benchmarks/validity.py --out validity.json

# Pin every dependency by hash. No index address is written into the files.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml

chaos: setup
	PYTHONPATH=tests/services $(BIN)/python -m chaos

lock: setup
	echo 'setuptools>=77' | $(subst pyproject.toml,-,$(COMPILE)) --output-file requirements/build.txt
	$(COMPILE) --extra home --extra kubernetes --extra gateway --extra agents --group dev --output-file requirements/dev.txt
	$(COMPILE) --extra home --output-file requirements/home.txt
	$(COMPILE) --output-file requirements/node.txt
	$(COMPILE) --extra kubernetes --output-file requirements/kubernetes.txt
	printf 'harbor\ninspect-ai\npandas\npyarrow\n' | $(COMPILE) - --output-file requirements/peers.txt
