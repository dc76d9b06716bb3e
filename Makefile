PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,docs,dask,ray,parquet,sb3,web

# Without bytecode files every process compiles the package again: a second for each of the hundreds that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all check format browser screenshots docs notebooks agents results seeds bench mutants clean
.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/installed ## set up, and see the main job work
	$(BIN)/paretofoil agents
	$(BIN)/paretofoil explain deep-sea-treasure --command 8,-8 --at 5 --foil down --plot demo.png

PYTEST = $(BIN)/pytest -n 2 --dist worksteal

test: $(VENV)/tested ## run the quick tests (about 5 minutes on 2 cores)
	$(PYTEST) -m "not long"

test-all: $(VENV)/tested ## run all tests, including those marked `long`
	$(PYTEST)

check: $(VENV)/tested ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/tested ## format and repair what can be repaired
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

screenshots: $(VENV)/tested browser ## pictures of the page for docs/images
	$(BIN)/python benchmarks/screenshots.py --out docs/images

# The theme tells of its successor on every build; nothing is to be done about it until then.
docs: $(VENV)/tested ## build the site into site/ (offline; open site/index.html)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(VENV)/tested ## run the notebooks of the documentation again, and keep what they show
	$(BIN)/python website/run_notebooks.py

SHIPPED := src/paretofoil/agents/shipped
TRAIN = $(BIN)/paretofoil train $(1) --name $(2) --out $(SHIPPED)/$(2) --overwrite $(3)

# Shipped is seed 0, or the next one if it misses a point of the front that exhaustive search finds (none has yet). Nobody
# knows the front of Minecart: there it is the seed with the largest hypervolume of 0 to 3.
agents: $(VENV)/installed ## train the shipped agents again (some minutes)
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

RESULTS := paper/results

results: $(VENV)/tested ## reproduce the paper's tables and figures into paper/results (within an hour on 2 cores)
	$(BIN)/paretofoil reproduce all --out $(RESULTS) --log $(RESULTS)/rows/reproduce.log
	for study in $(RESULTS)/rows/*.sqlite; do $(BIN)/paretofoil study export $$study --format parquet; done

seeds: $(VENV)/tested ## train five agents of each environment, and ask all of them every question (hours; goes on if stopped)
	$(BIN)/paretofoil reproduce seeds --out $(RESULTS) --log $(RESULTS)/rows/seeds.log
	for study in $(RESULTS)/rows/seeds/*.sqlite; do $(BIN)/paretofoil study export $$study --format parquet --no-answers; done

bench: $(VENV)/installed ## the quick benchmarks: ratios, measured side by side (paper/results has the long ones)
	$(BIN)/python benchmarks/minecart_steps.py
	$(BIN)/python benchmarks/cf_zoo_speed.py

mutants: $(VENV)/tested ## mutation testing of proof/, search/ and explanation/ with mutmut (hours)
	$(BIN)/pip install --quiet --constraint constraints.txt mutmut
	$(BIN)/mutmut run
	$(BIN)/mutmut results

clean: ## remove the environment and what was built in it
	rm -rf $(VENV) site mutants .pytest_cache .mypy_cache .ruff_cache

# torch comes first and with its version, so that a CPU build is taken where one is offered.
$(VENV)/torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "$$(grep '^torch==' constraints.txt)"
	@touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/tested: $(VENV)/installed paper/pyproject.toml
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]" --editable "paper[art]"
	@touch $@
