# Two commands do everything: `make run` and `make test`. Windows without make: see README.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test coverage lint bench catalog clean

run: $(VENV)/.installed
	$(BIN)/wayfare up

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not browser"
	$(BIN)/python -m pytest tests/browser

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks.bench

catalog: $(VENV)/.installed
	$(BIN)/python -m sample_catalog.build

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Wayfare needs Python 3.11 or newer; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .coverage
