# Everything sets itself up: a .venv with the versions of constraints.txt. Needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-extras test-old-tools test-avalanche test-many test-ecosystem kill-nodes check format generated docs bench fuzz release clean

help:  ## Show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Perdure needs Python 3.11 or newer; found $$($(PYTHON) --version). Try: make PYTHON=python3.12 …"; exit 1; }
	@echo "Setting up $(VENV) (once, about a minute) …"
	@$(PYTHON) -m venv $(VENV)

# Python compiles a module at its first import; pip would compile all of them.
$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --no-compile --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed  ## Run the main job on the embedded default, and write what it found to demo/
	@$(BIN)/perdure demo --into demo

test: $(VENV)/installed-dev  ## Run the tests on two cores
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

test-slow: $(VENV)/installed-dev  ## Run the tests that take long
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

$(VENV)/installed-extras: $(VENV)/installed-dev constraints-cpu.txt
	@echo "Adding PyTorch, Stable-Baselines3, Ray and an S3 server …"
	@$(BIN)/python -m pip install --quiet --constraint constraints-cpu.txt --editable '.[dev,sb3,ray,remote]'
	@PIP_CONSTRAINT= $(BIN)/python -m pip install --quiet --constraint constraints-cpu.txt 'moto[server]==5.2.5'  # for tests alone; its needs are held by nobody
	@touch $@

RAY_TESTS := tests/faults/test_ray.py tests/gather/test_on_ray.py
test-extras: $(VENV)/installed-extras  ## Run the tests that need PyTorch, Stable-Baselines3 or Ray
	@# In a process of their own: Ray forks, which JAX's threads do not survive. Ray's client server may miss its own 30 s
	@# to start, and what follows in the process fails with it: such tests run once more.
	@$(BIN)/python -m pytest $(RAY_TESTS) || $(BIN)/python -m pytest --last-failed $(RAY_TESTS)
	@$(BIN)/python -m pytest -k 's3 or ppo or sb3 or torch' tests/runner tests/learners tests/classic/matrix tests/log tests/tasks tests/test_docs.py
	@$(BIN)/python -m pytest tests/runner/test_runner.py -k ray

OLD := .venv-old-tools
$(OLD)/installed: $(VENV)/installed-dev old-tools.txt
	@echo "Setting up $(OLD) with l2metrics, l2logger and tella as they were (once, about a minute) …"
	@$(BIN)/python -m pip install --quiet --editable '.[pandas]' pandas==3.1.1
	@test -x $(OLD)/bin/python || $(PYTHON) -m venv $(OLD)
	@PIP_CONSTRAINT= $(OLD)/bin/python -m pip install --quiet --requirement old-tools.txt && touch $@ \
	  || echo "The old tools cannot be had here; their tests will be skipped."

test-old-tools: $(OLD)/installed  ## Run the tests beside l2metrics, l2logger and tella themselves
	@$(BIN)/python -m pytest -rs tests/classic/l2metrics tests/classic/tella/test_against_tella.py tests/classic/test_l2logger.py tests/test_docs.py -k 'l2 or tella'

AVALANCHE := .venv-avalanche
$(AVALANCHE)/installed: pyproject.toml constraints.txt avalanche.txt
	@echo "Setting up $(AVALANCHE) with Avalanche and PyTorch (once, about three minutes) …"
	@test -x $(AVALANCHE)/bin/python || $(PYTHON) -m venv $(AVALANCHE)
	@$(AVALANCHE)/bin/python -m pip install --quiet --editable . pytest hypothesis
	@$(AVALANCHE)/bin/python -m pip install --quiet --requirement avalanche.txt \
	  && $(AVALANCHE)/bin/python -m pip install --quiet --no-deps avalanche-lib==0.6.0 && touch $@ \
	  || echo "Avalanche cannot be had here; its tests will be skipped."

test-avalanche: $(AVALANCHE)/installed  ## Run the tests that need Avalanche
	@$(AVALANCHE)/bin/python -m pytest -rs tests/integrations/test_avalanche.py

test-many: $(VENV)/installed-dev  ## Run the property tests with a thousand examples each
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m hypothesis --hypothesis-profile many

kill-nodes: $(VENV)/installed-extras  ## Kill nodes of a Ray cluster fifty times, and compare the records (a quarter of an hour)
	@$(BIN)/python bench/kill_nodes.py 50

check: $(VENV)/installed-dev  ## Lint, format check, types, and warnings about words
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python scripts/words.py

format: $(VENV)/installed-dev  ## Put the code into shape
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

generated: $(VENV)/installed-dev  ## Write anew what is made from the code: schemas, strings, the notebooks' outputs
	@$(BIN)/python scripts/schemas.py
	@$(BIN)/python scripts/strings.py
	@$(BIN)/python scripts/notebooks.py

docs: $(VENV)/installed-dev  ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/installed-dev  ## Measure against peers, side by side, and write bench/RESULTS.md (half an hour)
	@$(BIN)/python bench/peers.py

test-ecosystem: $(VENV)/installed-extras  ## Run the tests against trackers and trainers, in an environment of their own
	@$(PYTHON) -m venv .venv-ecosystem
	@PIP_CONSTRAINT= .venv-ecosystem/bin/pip install --quiet --constraint constraints-cpu.txt --editable '.[dev,torch,wandb,mlflow]' tensorboard lightning transformers accelerate
	@PIP_CONSTRAINT= .venv-ecosystem/bin/pip install --quiet aim || echo "Aim cannot be installed here; its test is skipped"
	@.venv-ecosystem/bin/python -m pytest -rs -W default tests/ecosystem

RELEASE_PYTHONS ?= $(PYTHON)
release:  ## Try wheel and sdist in clean environments, lowest and newest dependencies (RELEASE_PYTHONS="python3.11 python3.13")
	@$(PYTHON) -m venv .venv-release && PIP_CONSTRAINT= .venv-release/bin/pip install --quiet build uv
	@PIP_CONSTRAINT= .venv-release/bin/python scripts/release.py $(foreach one,$(RELEASE_PYTHONS),--python $(one))

FUZZ_SECONDS ?= 3600
fuzz: $(VENV)/installed-dev  ## Damage inputs of every kind for an hour, and keep in tests/corpus what is not answered in words
	@$(BIN)/python scripts/fuzz.py --seconds $(FUZZ_SECONDS) $(FUZZ)

clean:  ## Remove what was made
	rm -rf $(VENV) $(OLD) $(AVALANCHE) .bench demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
