# One environment in .venv, made on first use and renewed when pyproject.toml or constraints.txt
# change. Nothing here needs git. `make help` lists the targets.

VENV ?= .venv
CONFIG ?= CartPole-v1:ppo
ARGS ?=
TEST_JOBS ?= 2

# Extras: what training and watching need, and what the test suite and the checks need on top,
# every family of environments among it.
TRAIN_EXTRAS := box2d,image
FAMILIES := atari,dm-control,minigrid,mujoco,retro,vizdoom
DEV_EXTRAS := $(TRAIN_EXTRAS),$(FAMILIES),diffusion,minari,evolution,inspect,monitor,sweeps,hub,onnx,tensorboard,trackio,wandb,peers,dev

# PYTHON=/path/to/python forces an interpreter; otherwise the first suitable one of these is used.
PYTHON ?=
PYTHON_CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
IS_SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

BIN := $(VENV)/bin
CREATED := $(VENV)/.created
TRAIN_READY := $(VENV)/.ready-train
DEV_READY := $(VENV)/.ready-dev
REQUIREMENTS := pyproject.toml constraints.txt
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup train test test-all lint fmt type check smoke bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "  variables: CONFIG=$(CONFIG)  ARGS='--seed 1'  PYTHON=python3.12  TEST_JOBS=$(TEST_JOBS)"

setup: $(DEV_READY)  ## make .venv with everything that development needs

train: $(TRAIN_READY)  ## make .venv and train CONFIG (default CartPole-v1:ppo)
	$(BIN)/python train.py $(CONFIG) $(ARGS)

test: $(DEV_READY)  ## run the unit tests (no learning runs)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n $(TEST_JOBS) $(ARGS)

test-all: $(DEV_READY)  ## run every test, the learning runs too
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_JOBS) $(ARGS)

lint: $(DEV_READY)  ## ruff: rules and format, changing nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

fmt: $(DEV_READY)  ## ruff: format and mend what can be mended safely
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

type: $(DEV_READY)  ## mypy over the strictly typed packages
	$(BIN)/mypy

check: lint type test  ## all that a commit must pass

smoke: $(DEV_READY)  ## build, step and briefly train every configured environment
	OMP_NUM_THREADS=1 $(BIN)/python scripts/smoke_test_envs.py $(ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python scripts/smoke_train_envs.py $(ARGS)

bench: $(DEV_READY)  ## speed of vector envs, collectors, loaders and buffers, peers beside them
	$(BIN)/python scripts/benchmark_vecenv_fps.py $(ARGS)
	$(BIN)/python scripts/benchmark_collectors.py $(ARGS)
	$(BIN)/python scripts/benchmark_dataloaders.py $(ARGS)
	$(BIN)/python scripts/benchmark_replay.py $(ARGS)
	$(BIN)/python scripts/benchmark_replay_training.py $(ARGS)
	$(BIN)/python scripts/benchmark_world_models.py $(ARGS)
	$(BIN)/python scripts/benchmark_env_families.py $(ARGS)
	$(BIN)/python scripts/benchmark_atari_training.py $(ARGS)

clean:  ## remove caches and build output; keeps runs/ and .venv
	rm -rf .pytest_cache .ruff_cache .mypy_cache .numba_cache build dist *.egg-info
	find . -path ./$(VENV) -prune -o -path ./runs -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

# A candidate counts only if it runs: version managers leave launchers that do not.
$(CREATED):
	@for python in $(PYTHON_CANDIDATES); do \
	  if "$$python" -c "$(IS_SUITABLE)" >/dev/null 2>&1; then \
	    echo "Making $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv $(VENV) && touch $@ && exit 0; \
	    exit 1; \
	  fi; \
	done; \
	echo "No suitable Python among: $(PYTHON_CANDIDATES). Install Python 3.11 or newer with its venv" \
	  "module, or name one: make PYTHON=/path/to/python3.12 <target>" >&2; \
	exit 2

$(TRAIN_READY): $(CREATED) $(REQUIREMENTS)
	@echo "Installing into $(VENV); the first time takes a few minutes"
	@$(PIP_INSTALL) -e ".[$(TRAIN_EXTRAS)]"
	@touch $@

$(DEV_READY): $(CREATED) $(REQUIREMENTS)
	@echo "Installing into $(VENV) with the development tools; the first time takes a few minutes"
	@$(PIP_INSTALL) -e ".[$(DEV_EXTRAS)]"
	@touch $(TRAIN_READY) $@
