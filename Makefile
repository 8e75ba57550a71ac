# Two commands do everything: `make run` and `make test`. Windows without make: see README.md.
# `make run ARGS="--port 8600"` gives options to `wayfare up`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Every step prints its number, what it does, how long it takes and what comes next. A step that was done before is skipped.
STEPS := $(if $(filter test,$(MAKECMDGOALS)),5,3)
tell = printf '\n%s/$(STEPS)  %s\n     %s\n'
say = @$(tell)

.PHONY: run test coverage lint bench papers catalog clean

run: $(VENV)/.installed
	$(say) 3 'Starting the console: a few seconds, up to a minute the first time.' 'Next: open the address below in a browser.'
	@$(BIN)/wayfare up $(ARGS)

# the browser tests run in any case: what failed before them does not hide what they find
test: lint
	$(say) 4 'Tests on two workers: unit, property, contract, documents, pages. Several minutes.' 'Next: the whole job in a real Chromium.'
	@failed=0; \
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not browser" --durations=20 || failed=1; \
	$(tell) 5 'Browser tests: skipped where there is no Chromium, required where CI=true.' 'Next: nothing, this is the last step.'; \
	$(BIN)/python -m pytest tests/browser --durations=20 || failed=1; \
	exit $$failed

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.installed-dev
	$(say) 3 'Style, types and import rules: about a minute.' 'Next: the tests (`make lint` ends here).'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks.bench

# what the Papers page shows, made again: a few minutes; rows that need a model ask the one that WAYFARE_LLM_MODEL names
papers: $(VENV)/.installed
	$(BIN)/wayfare papers --poisoned tests/lint/data/poisoned.jsonl $(ARGS)

catalog: $(VENV)/.installed
	$(BIN)/python -m sample_catalog.authoring.build

# a newer pip: the one that comes with Python 3.11 shows no progress while it unpacks
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Wayfare needs Python 3.11 or newer; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(say) 1 'Making a virtual environment in $(VENV) with a current pip: up to 20 seconds.' 'Next: the packages.'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --upgrade pip || true

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(say) 2 'Installing Wayfare and about 130 packages into $(VENV): 2.5 GB on disk, 2 to 6 minutes.' 'pip shows below how far it is. Next: the console.'
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(say) 2 'Installing Wayfare, its packages and those of its tests into $(VENV): 3 GB on disk, 3 to 7 minutes.' 'pip shows below how far it is. Next: style and types.'
	@$(PIP) install --editable ".[dev]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .coverage .import_linter_cache
