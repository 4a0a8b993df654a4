# Every target does its own set-up; a second call reuses it. Needs only Python 3.11+, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# Without bytecode every process of the tests, and there are hundreds, would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help models-env servers-env scale-env demo quality test test-oldest test-models test-browser test-servers test-scale test-semantic-real test-slow test-hostile test-install check format bench soak docs site lock dist clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

# Every version and hash comes from locks/. uv is used as the installer because it takes seconds where pip takes a minute.
UV_INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes
OURSELVES := --quiet --no-deps --no-build-isolation --editable .

$(READY): pyproject.toml locks/installer.txt locks/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Searchmark needs Python 3.11 or newer; say which with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/installer.txt
	$(UV_INSTALL) --python $(BIN)/python -r locks/dev.txt
	$(BIN)/uv pip install --python $(BIN)/python $(OURSELVES)
	@touch $@

# REPO=path takes another repository, of which the newest hundred cases are used.
demo: $(READY)  ## the main job in five commands (on an example, or REPO=path), in under a minute; reports in demo-output/
	$(BIN)/searchmark demo -o demo-output $(if $(REPO),--repo "$(REPO)")

quality: $(READY)  ## run the gates and audits of all built-in suites, reports in quality-output/
	rm -rf quality-output
	$(BIN)/python tests/quality.py quality-output

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-oldest: $(READY)  ## run the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-oldest
	$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable . --group dev
	$(VENV)-oldest/bin/python -m pytest -n 2 --dist loadfile

# Environments with more than most tests need.
models-env: $(READY)
	$(PYTHON) -m venv $(VENV)-models
	$(UV_INSTALL) --python $(VENV)-models/bin/python -r locks/models.txt
	$(BIN)/uv pip install --python $(VENV)-models/bin/python $(OURSELVES)

servers-env: $(READY)
	$(PYTHON) -m venv $(VENV)-servers
	$(UV_INSTALL) --python $(VENV)-servers/bin/python -r locks/servers.txt
	$(BIN)/uv pip install --python $(VENV)-servers/bin/python $(OURSELVES)

scale-env: $(READY)
	$(PYTHON) -m venv $(VENV)-scale
	$(UV_INSTALL) --python $(VENV)-scale/bin/python -r locks/scale.txt
	$(BIN)/uv pip install --python $(VENV)-scale/bin/python $(OURSELVES)

test-models: models-env  ## run the tests that need a real transformer; installs it (5 GB with torch), fails without it
	$(VENV)-models/bin/python -m pytest -m models -W 'default::DeprecationWarning' tests/models

# CHROMIUM=path takes another one than that of the machine.
test-browser: $(READY)  ## drive the page of a report in a real Chromium (Debian: apt install chromium), fails without it
	$(PYTHON) -m venv $(VENV)-browser
	$(UV_INSTALL) --python $(VENV)-browser/bin/python -r locks/browser.txt
	$(BIN)/uv pip install --python $(VENV)-browser/bin/python $(OURSELVES)
	$(VENV)-browser/bin/python -m pytest -m browser tests/browser

# Groonga (Debian: groonga-server-http) and Node.js with npm come from the machine; everything else is installed here.
test-servers: servers-env  ## ask real search systems: Datasette, Chroma, Groonga, PostgreSQL, MCP servers; fails without them
	npm ci --silent --no-audit --no-fund --prefix tests/servers
	$(VENV)-servers/bin/python -m pytest -m servers -W 'default::DeprecationWarning' tests/servers

test-scale: scale-env  ## run work on real Dask clusters of this machine, and end their parts meanwhile
	$(VENV)-scale/bin/python -m pytest -m scale tests/scale

test-semantic-real: test-models  ## run semantic search with real embeddings (all-MiniLM-L6-v2), as CI does on pull requests and on main

test-slow: $(READY)  ## what takes long: sessions of pytest, sandboxes, faults of agents, fuzzed files, hostile text, histories, charts, killed sweeps, and properties on 60 examples
	SEARCHMARK_TEST_EXAMPLES=60 $(BIN)/python -m pytest -n 2 --dist loadfile -m 'slow or (hypothesis and not hostile)'

test-hostile: $(READY)  ## attack it: agents, kills, full disks, repositories, fuzzed files (under ten minutes)
	$(BIN)/python -m pytest -n 2 -m hostile tests/hostile
	SEARCHMARK_TEST_KILLS=100 $(BIN)/python -m pytest tests/running/test_resume.py

# PYTHONS="python3.11 python3.12" takes others; those that are not on this machine are named.
PYTHONS := python3.11 python3.12 python3.13 python3.14

test-install: dist  ## install the built package with pip into new environments, one per Python, and run it
	$(BIN)/python tests/install.py $(PYTHONS)

check: $(READY)  ## lint, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## format, and apply safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

site: $(READY)  ## build the documentation as a site, site-output/html/index.html; fails on a link that leads nowhere
	rm -rf site-output
	$(BIN)/python site/stage.py site-output/pages
	$(PYTHON) -m venv $(VENV)-site
	$(UV_INSTALL) --python $(VENV)-site/bin/python -r locks/site.txt
	$(VENV)-site/bin/zensical build --strict --clean -f mkdocs.yml

docs: $(READY)  ## regenerate the generated parts of the docs
	$(BIN)/python -m tests.generated_docs

bench: models-env servers-env scale-env  ## compare speed and memory with other tools, side by side
	-$(UV_INSTALL) --python $(BIN)/python -r locks/bench.txt
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/reports.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/frames.py
	$(BIN)/python benchmarks/trends.py
	$(BIN)/python benchmarks/recommendations.py
	$(BIN)/python benchmarks/verdicts.py
	$(BIN)/python benchmarks/gates.py
	$(BIN)/python benchmarks/gate_self_test.py
	$(BIN)/python benchmarks/running.py
	$(BIN)/python benchmarks/outside_command.py
	$(BIN)/python benchmarks/outside_http.py
	$(BIN)/python benchmarks/snapshots.py
	$(BIN)/python benchmarks/time_travel.py
	$(BIN)/python benchmarks/mining.py
	$(BIN)/python benchmarks/semantic.py
	$(BIN)/python benchmarks/vectors.py
	$(VENV)-servers/bin/python benchmarks/ann.py
	$(VENV)-models/bin/python benchmarks/embedders.py
	$(BIN)/python benchmarks/sweeps.py
	$(BIN)/python benchmarks/labelling.py
	$(BIN)/python benchmarks/agents.py
	$(BIN)/python benchmarks/public_collections.py
	$(BIN)/python benchmarks/load.py
	$(VENV)-scale/bin/python benchmarks/scale.py

soak: $(READY)  ## a million searches, and what memory does meanwhile
	$(BIN)/python benchmarks/soak.py

# A lock is for every platform and for Python 3.11 and later.
LOCK := UV_CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate $(LOCK_OPTIONS)

lock: $(READY)  ## renew the locked versions and hashes (LOCK_OPTIONS=--upgrade takes newer ones)
	$(LOCK) --group installer -o locks/installer.txt
	$(LOCK) pyproject.toml --group dev -o locks/dev.txt
	$(LOCK) pyproject.toml --group dev --group bench -c locks/dev.txt -o locks/bench.txt
	$(LOCK) pyproject.toml --group dev --group browser -c locks/dev.txt -o locks/browser.txt
	$(LOCK) pyproject.toml --group dev --group servers -c locks/dev.txt -o locks/servers.txt
	$(LOCK) pyproject.toml --group dev --group scale -c locks/dev.txt -o locks/scale.txt
	$(LOCK) pyproject.toml --group dev --group models --extra transformers -c locks/dev.txt -o locks/models.txt
	$(LOCK) pyproject.toml -c locks/dev.txt -o locks/runtime.txt
	$(LOCK) --group site -o locks/site.txt
	$(LOCK) --group build --group release -c locks/dev.txt -o locks/release.txt

# The parts are those of an environment that holds the package and what it needs, and nothing else.
dist: $(READY)  ## build wheel and source archive into dist/, with the list of all parts (SBOM, CycloneDX)
	rm -rf dist $(VENV)-release $(VENV)-package
	$(PYTHON) -m venv $(VENV)-release
	$(UV_INSTALL) --python $(VENV)-release/bin/python -r locks/release.txt
	$(BIN)/uv build --quiet --no-build-isolation --python $(VENV)-release/bin/python --out-dir dist
	$(PYTHON) -m venv --without-pip $(VENV)-package
	$(UV_INSTALL) --python $(VENV)-package/bin/python -r locks/runtime.txt
	$(BIN)/uv pip install --quiet --python $(VENV)-package/bin/python --no-deps --no-index --find-links dist --pre searchmark
	$(VENV)-release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
	  -o dist/searchmark.cdx.json $(VENV)-package/bin/python

clean:  ## remove the virtual environment and everything generated
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-models $(VENV)-browser $(VENV)-servers $(VENV)-scale tests/servers/node_modules $(VENV)-release $(VENV)-package $(VENV)-site dist demo-output quality-output site-output .cache benchmarks/data .mypy_cache .pytest_cache .ruff_cache .hypothesis
