# Two commands do everything: `make run` and `make test`; `make check` is for the daily round. Windows without make: see README.md.
# `make run ARGS="--port 8600"` gives options to `wayfare up`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Every step prints its number, what it does, how long it takes and what comes next. A step that was done before is skipped.
STEPS := $(if $(filter test check,$(MAKECMDGOALS)),4,3)
tell = printf '\n%s/$(STEPS)  %s\n     %s\n'
say = @$(tell)

# What `make check` runs: formulas, tables, contracts, routers, formats, rules, the frame of the pages, Route, Compare, some commands.
QUICK := $(addprefix tests/,contracts decisions domain importers lint network routers \
  dashboard/test_app.py dashboard/test_route_page.py dashboard/test_compare_page.py cli/test_lists.py cli/test_route.py cli/test_wrong_use.py)
WORKERS := -n 2 --dist worksteal

.PHONY: run test check coverage lint bench papers model catalog clean

run: $(VENV)/.installed
	$(say) 3 'Starting the console: a few seconds, up to a minute the first time.' 'Next: open the address below in a browser.'
	@$(BIN)/wayfare up $(ARGS)

# three workers on two cores: the one that drives a Chromium often waits for it
test: lint
	$(say) 4 'All tests on three workers, eight to twenty minutes. Those in a browser are skipped where there is no Chromium, required where CI=true.' 'Next: nothing, this is the last step.'
	@$(BIN)/python -m pytest -n 3 --dist worksteal --durations=20

check: $(VENV)/.installed-dev
	$(say) 3 'Style, import rules, and the types of the files that you changed: half a minute.' 'Next: the quickest tests that tell most.'
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports
	@changed=$$(git diff --name-only --diff-filter=d HEAD -- 'core/*.py' 'dashboard/*.py'; git ls-files --others --exclude-standard -- 'core/*.py' 'dashboard/*.py'); \
	if [ -n "$$changed" ]; then $(BIN)/pyright $$changed; fi
	$(say) 4 'Quick tests on two workers: about a minute and a half.' 'Next: nothing. `make test` runs everything, before a merge.'
	@$(BIN)/python -m pytest $(WORKERS) $(QUICK)

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.installed-dev
	$(say) 3 'Style, types and import rules: about a minute.' 'Next: the tests (`make lint` ends here).'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright & oldest=$$!; $(BIN)/pyright --pythonversion 3.14; newest=$$?; wait $$oldest && exit $$newest
	$(BIN)/lint-imports

# what a language model does is measured with the one that WAYFARE_LLM_MODEL names, or else with the one that `make model` has fetched
bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks.bench $(ARGS)

# what the Papers page shows, made again: a few minutes; rows that need a model ask the one that WAYFARE_LLM_MODEL names
papers: $(VENV)/.installed
	$(BIN)/wayfare papers --poisoned tests/lint/data/poisoned.jsonl $(ARGS)

# a small language model for benchmarks, 1.2 GB in .model, served until Ctrl+C; `make model ARGS="--size 0.5b --threads 1"`
model:
	@$(PYTHON) tests/benchmarks/model.py $(ARGS)

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
