# Every target does its own set-up; a second call reuses it. Needs only Python 3.11+, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest test-kills test-models check format bench docs clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

# uv is used as the installer because it takes seconds where pip takes a minute.
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Searchmark needs Python 3.11 or newer; say which with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable . --group dev
	@touch $@

# REPO=path takes another repository, of which the newest hundred cases are used.
DEMO := demo-output
DEMO_AGENTS := keyword bm25 fts5 semantic hybrid path-match popular random
DEMO_REPO := $(if $(REPO),$(REPO),larder=$(DEMO)/repository)

demo: $(READY)  ## mine a repository (an example, or REPO=path), compare eight agents on it, reports in demo-output/
ifndef REPO
	rm -rf $(DEMO)/repository
	$(BIN)/python -B examples/demo/make_repository.py $(DEMO)/repository
endif
	$(BIN)/searchmark generate --repo "$(DEMO_REPO)" -o $(DEMO)/gold_set.json $(if $(REPO),--max-cases 100)
	$(BIN)/searchmark compare --gold-set $(DEMO)/gold_set.json --repo "$(DEMO_REPO)" --agents $(DEMO_AGENTS) \
	  --baseline bm25 --brief -m nDCG@10 -m Success@5 --config examples/demo/searchmark.yaml --journal $(DEMO)/journal \
	  -o $(DEMO)/comparison.md -o $(DEMO)/comparison.json
	$(BIN)/searchmark compare --gold-set $(DEMO)/gold_set.json --repo "$(DEMO_REPO)" --agents bm25 \
	  --snapshot parent --snapshot head --brief -m nDCG@10 --num-runs 1 --journal $(DEMO)/journal -o $(DEMO)/snapshots.md
	@echo
	@echo "The cases are in $(DEMO)/gold_set.json. Read $(DEMO)/comparison.md for all comparisons, case by case, and"
	@echo "$(DEMO)/snapshots.md for what goes wrong when today's files are searched instead of those that the authors saw."

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -n 2

test-oldest: $(READY)  ## run the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-oldest
	$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable . --group dev
	$(VENV)-oldest/bin/python -m pytest -n 2

test-kills: $(READY)  ## kill the runner a hundred times and resume each time
	SEARCHMARK_TEST_KILLS=100 $(BIN)/python -m pytest tests/running/test_resume.py

test-models: $(READY)  ## run the tests that need a real transformer; installs it (5 GB with torch), fails without it
	$(PYTHON) -m venv $(VENV)-models
	$(BIN)/uv pip install --quiet --python $(VENV)-models/bin/python --editable '.[transformers]' --group dev --group models
	$(VENV)-models/bin/python -m pytest -m models -W 'default::DeprecationWarning' tests/models

check: $(READY)  ## lint, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## format, and apply safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)  ## regenerate the generated parts of the docs
	$(BIN)/python -m tests.generated_docs

bench: $(READY)  ## compare speed and memory with other tools, side by side
	-$(BIN)/uv pip install --quiet --python $(BIN)/python --group bench
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/verdicts.py
	$(BIN)/python benchmarks/running.py
	$(BIN)/python benchmarks/snapshots.py
	$(BIN)/python benchmarks/time_travel.py
	$(BIN)/python benchmarks/mining.py
	$(BIN)/python benchmarks/semantic.py
	$(BIN)/python benchmarks/agents.py
	$(BIN)/python benchmarks/public_collections.py

clean:  ## remove the virtual environment and everything generated
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-models demo-output benchmarks/data .mypy_cache .pytest_cache .ruff_cache .hypothesis
