# Two commands on a fresh machine: `make lab` (learn) and `make test` (check). They need Python >= 3.10 and make; everything
# else goes into .venv. `make help` lists the rest. Works with GNU make 3.81 (macOS) and newer.
#
#   PYTHON=python3.12     which Python makes the environment      PORT=8899       where JupyterLab listens
#   PIP_FLAGS="..."       extra flags for pip install             LANG=en|zh      language of the notebooks
#   PYTEST_FLAGS="..."    extra flags for pytest                  BENCH=codec     one benchmark instead of all
#   JOBS=2                test files that run at the same time (0: all in one process)

.DEFAULT_GOAL := help
.PHONY: help lab test build bench clean
.SUFFIXES:

VENV := .venv
PY := $(VENV)/bin/python
PIP_FLAGS ?=
PYTEST_FLAGS ?=
JOBS ?= 2
PORT ?=
BENCH ?= *

# LANG is nearly always set: zh_CN.UTF-8, zh_TW, zh ... mean Chinese, en_US.UTF-8, C.UTF-8 and all others English.
EDITION := $(if $(filter zh%,$(LANG)),zh,en)

# The first of these that is at least 3.10 and can make an environment; a release newer than we test is the last resort.
FIND_PYTHON = for newest in 13 99; do for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	"$$p" -c "import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, $$newest))" >/dev/null 2>&1 \
	&& { echo "$$p"; exit; }; done; done; true

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'
	@echo "  variables: PYTHON= PORT= LANG=en|zh PIP_FLAGS= PYTEST_FLAGS= JOBS= BENCH= (see the top of the Makefile)"

lab: $(VENV)/lab.stamp ## open JupyterLab on the learner notebooks (PORT=8899, LANG=zh)
	@$(PY) -m fp8lab.cli lab --lang $(EDITION) $(if $(PORT),--port "$(PORT)")

test: $(VENV)/test.stamp ## run every test
	@echo "==> running the tests"
	@$(PY) -m pytest -n $(JOBS) --dist loadfile $(PYTEST_FLAGS)

build: $(VENV)/test.stamp ## regenerate notebooks/, solutions/*/*.ipynb and the packaged lessons from solutions/*.md
	@echo "==> building the lessons"
	@$(PY) -m fp8lab.cli build

bench: $(VENV)/test.stamp ## run the benchmarks (BENCH=codec for benchmarks/codec.py alone)
	@set -e; for script in benchmarks/$(BENCH).py; do echo "==> $$script"; PYTHONPATH=tests $(PY) "$$script"; done

clean: ## remove the environment and everything that tools left behind (never a notebook)
	@echo "==> removing $(VENV), build, dist and caches"
	@rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache fp8lab.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@set -e; python="$(PYTHON)"; [ -n "$$python" ] || python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "fp8lab needs Python 3.10 or newer with the venv module, and none was found." >&2; \
		echo "  Debian, Ubuntu: sudo apt-get install python3 python3-venv    macOS: brew install python@3.12" >&2; \
		echo "  or name one:    make $(or $(MAKECMDGOALS),lab) PYTHON=/path/to/python3.12" >&2; exit 1; fi; \
	if ! "$$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))" 2>/dev/null; then \
		echo "PYTHON=$$python is missing, older than 3.10, or has no venv module (Debian: apt-get install python3-venv)." >&2; \
		exit 1; fi; \
	echo "==> making the environment $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/lab.stamp: pyproject.toml constraints.txt | $(PY)
	@echo "==> installing fp8lab with JupyterLab into $(VENV) (the first time this loads PyTorch: some minutes)"
	@$(PY) -m pip install --disable-pip-version-check $(PIP_FLAGS) --constraint constraints.txt --editable ".[lab]"
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt | $(PY)
	@echo "==> installing fp8lab and all that its tests need into $(VENV) (the first time this loads PyTorch: some minutes)"
	@$(PY) -m pip install --disable-pip-version-check $(PIP_FLAGS) --constraint constraints.txt --editable ".[test]"
	@rm -rf $(VENV)/nbgrader
	@$(PY) -m pip install --disable-pip-version-check $(PIP_FLAGS) --constraint constraints.txt --quiet --no-deps \
		--target $(VENV)/nbgrader nbgrader alembic SQLAlchemy RapidFuzz Mako # its own place: tests/nbgrader_course.py
	@touch $@
