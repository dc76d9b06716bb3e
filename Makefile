PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := plot,torch,dev,docs,dask,ray,parquet,sb3,web

# Without bytecode files every process compiles the package again: a second for each of the hundreds that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all coverage check types types-of-tests check-js format browser screenshots docs notebooks agents results seeds bench mutants clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo ## install the package and explain a decision of a shipped agent
	$(BIN)/paretofoil agents
	$(BIN)/paretofoil explain deep-sea-treasure --command 8,-8 --at 5 --foil down --plot demo.png

# Two processes share two cores: a thread pool in each of them would only slow both down.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal
# Only long tests need the plugin, which takes half a second to import in each process.
QUICK = -m "not long" -p no:schemathesis

test: $(VENV)/tested ## run the quick tests (5 minutes on 2 cores)
	$(PYTEST) $(QUICK)

test-all: $(VENV)/tested ## run all tests, including those marked `long`
	$(PYTEST)

coverage: $(VENV)/tested ## run the quick tests and fail if they cover less than pyproject.toml demands
	$(PYTEST) $(QUICK) --cov --cov-report=term:skip-covered --cov-report=xml

check: $(VENV)/tested ## check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --jobs 2 --output-sync types types-of-tests

# Other settings make mypy discard its cache: with one for each, both run at the same time, and again in seconds.
types: $(VENV)/tested
	$(BIN)/mypy

types-of-tests: $(VENV)/tested
	$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests

check-js: ## check the page's scripts with eslint and the TypeScript compiler (needs npm)
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-audit --no-fund && npm run --silent lint && npm run --silent types; \
	else echo "npm is not installed: the page's scripts were not checked."; fi

format: $(VENV)/tested ## format the code and fix lint errors where possible
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

AXE := .tools/axe.js
AXE_VERSION := 4.14.0

browser: $(AXE) ## install what the browser tests need: Chromium (a system package, as root) and axe-core
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	  { [ "$$(id -u)" = 0 ] && apt-get update --quiet && \
	    apt-get install --yes --quiet --no-install-recommends chromium; } || \
	  echo "Chromium was not installed: the browser tests will be skipped. Install it, or run make browser as root."

$(AXE):
	@mkdir -p $(@D)
	@{ npm pack --silent --pack-destination $(@D) axe-core@$(AXE_VERSION) > /dev/null && \
	  tar -xzOf $(@D)/axe-core-$(AXE_VERSION).tgz package/axe.min.js > $@ && rm $(@D)/*.tgz; } || \
	  { rm -f $@; echo "axe-core was not installed: the accessibility tests will be skipped. They need npm."; }

screenshots: $(VENV)/tested browser ## take the screenshots of the page in docs/images
	$(BIN)/python website/screenshots.py

# The variable silences the theme's announcement of MkDocs 2.
docs: $(VENV)/tested ## build the documentation into site/ (open site/index.html)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(VENV)/tested ## run the notebooks in docs/notebooks and store their output
	$(BIN)/python website/run_notebooks.py

SHIPPED := src/paretofoil/agents/shipped
TRAIN = $(BIN)/paretofoil train $(1) --name $(2) --out $(SHIPPED)/$(2) --overwrite $(3)

# Rule for the seed of a shipped agent: 0, or the next seed if that one misses a point of the known front (none has yet). The front of
# Minecart is not known: there it is the seed from 0 to 3 with the largest hypervolume. In the shipped walkroom-3, dimensions 1 and 2 were exchanged
# after the training (see its provenance); this target trains it anew.
agents: $(VENV)/tested ## train the shipped agents again (minutes)
	$(call TRAIN,branch-path,branch-path)
	$(call TRAIN,collect-two,collect-two)
	$(call TRAIN,reward-line,reward-line)
	$(call TRAIN,deep-sea-treasure,deep-sea-treasure)
	$(call TRAIN,deep-sea-treasure,deep-sea-treasure-early,--steps 4000 --set polish_rounds=0)
	$(call TRAIN,breakable-bottles,breakable-bottles)
	$(call TRAIN,breakable-bottles,breakable-bottles-realised,--returns realised)
	$(call TRAIN,resource-gathering,resource-gathering)
	$(call TRAIN,resource-gathering,resource-gathering-realised,--returns realised)
	$(call TRAIN,fruit-tree,fruit-tree)
	$(call TRAIN,minecart,minecart,--seed 3)
	$(call TRAIN,minecart,minecart-early,--steps 2000000 --set polish_rounds=3)
	$(call TRAIN,water-reservoir,water-reservoir)
	$(call TRAIN,walkroom-2,walkroom-2)
	$(call TRAIN,walkroom-3,walkroom-3)
	$(call TRAIN,three-tree,three-tree)
	$(call TRAIN,four-room,four-room)
	$(call TRAIN,mountain-car,mountain-car)

RESULTS := paper/results

results: $(VENV)/tested ## reproduce the paper's tables and figures in paper/results (an hour on 2 cores)
	$(BIN)/paretofoil reproduce all --out $(RESULTS) --log $(RESULTS)/rows/reproduce.log
	for study in $(RESULTS)/rows/*.sqlite; do $(BIN)/paretofoil study export $$study --format parquet; done

seeds: $(VENV)/tested ## train five agents per environment and run the stress test on them (hours; resumable)
	$(BIN)/paretofoil reproduce agents --out $(RESULTS) --log $(RESULTS)/rows/seeds.log
	for study in $(RESULTS)/rows/seeds/*.sqlite; do $(BIN)/paretofoil study export $$study --format parquet --no-answers; done

bench: $(VENV)/tested ## run the quick benchmarks
	$(BIN)/python benchmarks/minecart_steps.py
	$(BIN)/python benchmarks/cf_zoo_speed.py

mutants: $(VENV)/tested ## run mutation tests of proof/, search/ and explanation/ with mutmut (hours)
	$(BIN)/pip install --quiet --constraint constraints.txt mutmut
	$(BIN)/mutmut run
	$(BIN)/mutmut results

clean: ## remove the virtual environment and all build results
	rm -rf $(VENV) .tools site mutants coverage.xml .coverage .pytest_cache .mypy_cache .ruff_cache

$(VENV)/created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/demo: $(VENV)/created pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[plot]"
	@touch $@

$(VENV)/tested: $(VENV)/created pyproject.toml constraints.txt paper/pyproject.toml
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]" --editable "paper[art]"
	@touch $@
