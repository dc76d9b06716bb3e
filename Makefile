PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev

.PHONY: help demo test check format bench clean
.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/installed ## set up, and see the main job work
	$(BIN)/paretofoil envs
	$(BIN)/paretofoil envs branch-path --render branch-path.png

test: $(VENV)/tested ## set up, and run the tests
	$(BIN)/pytest

check: $(VENV)/tested ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/tested ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed ## the benchmarks: ratios, measured side by side in one run
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean: ## remove the environment and what was built in it
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache

# torch comes first and with its version, so that a CPU build is taken where one is offered.
$(VENV)/torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "$$(grep '^torch==' constraints.txt)"
	@touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	@touch $@
