# Everything runs from a fresh clone with python3, gcc and make; `make help` lists the targets.
# ARGS= is passed on: make serve ARGS='--listen 0.0.0.0:50051', make test ARGS='-k hints -x'.

PYTHON ?= python3
JOBS ?= auto
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q
CYTHON := $(shell find engine ai lab service -name '*.pyx' -o -name '*.pxd')
PROTOS := $(wildcard proto/croupier/v1/*.proto)
GIVING_WAY := $(if $(shell command -v chrt),chrt --idle 0,nice -n 19)
FOLDERS := ai cli croupier engine lab service tests

.DEFAULT_GOAL := help
.PHONY: help build tools serve test soak check format bench arena records coverage sanitize wheel constraints clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1 \2/p' $(MAKEFILE_LIST) | while read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

build: .venv/compiled .venv/linked ## make .venv, generate the stubs, compile the extensions

tools: build .venv/tools ## also install what tests, checks and measures

serve: build ## run the server
	.venv/bin/croupier serve $(ARGS)

# Searches give way to everything else, so the tests beside them must not come first.
test: tools ## run the tests
	$(GIVING_WAY) $(PY) -m pytest $(if $(REWRITE),,-n $(JOBS) --dist worksteal) $(ARGS)

soak: tools ## the long form of the tests that repeat: long memories, searches given up, endings, crashes, races
	CROUPIER_HABITS=300 $(PY) -m pytest -o faulthandler_timeout=0 -n $(JOBS) tests/engine/test_sampler.py -k has_worlds $(ARGS)
	CROUPIER_SOAK=10000 $(PY) -m pytest tests/service/searching/test_analysis.py -k leave_nothing $(ARGS)
	CROUPIER_ENDINGS=300 $(PY) -m pytest tests/ai/test_endings.py -k naive_solver $(ARGS)
	CROUPIER_KILLS=200 CROUPIER_RACES=5000 $(PY) -m pytest -s -o faulthandler_timeout=0 \
		tests/service/test_crashes.py tests/service/test_races.py $(ARGS)

check: tools ## run every linter and the type checker; changes nothing
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	PATH="$(CURDIR)/.venv/bin:$$PATH" cython-lint $(CYTHON)
	.venv/bin/buf format -d --exit-code
	$(PY) setup.py -q build_proto --build-lib build/stubs --image build/croupier.binpb
	.venv/bin/buf lint build/croupier.binpb --config buf.yaml --path croupier
	$(if $(LAST_TAG),$(BREAKING))

format: tools ## rewrite Python and proto files in the house format
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .
	.venv/bin/buf format -w

bench: tools ## speed and fingerprint of the search, random self-play in numbers, what calls cost
	$(PY) -m lab.search_bench $(ARGS)
	$(PY) -m lab.self_play
	$(PY) -m lab.service_bench

arena: tools ## play matches: make arena ARGS='search:ms=100 uct:ms=100 --game all'
	.venv/bin/croupier arena $(ARGS)

records: tools ## verify a thousand records and find every change of whole ones (half an hour)
	CROUPIER_RECORDS=1000 $(PY) -m pytest -o faulthandler_timeout=0 tests/service/hosting/test_records.py $(ARGS)

# Traced searches are a hundred times as slow, and a test that waits for one can fail: what was
# covered is told all the same.
coverage: build/coverage ## line coverage, Cython included (hours: a traced build in build/coverage; ARGS= picks tests)
	cd $< && CROUPIER_COVERAGE=1 $(IN_PLACE)
	cd $< && { CROUPIER_COVERAGE=1 nice -n 19 $(CURDIR)/$(PY) -m coverage run -m pytest -n $(JOBS) \
		--dist worksteal -o faulthandler_timeout=0 $(ARGS); echo $$? > status; }
	cd $< && $(CURDIR)/$(PY) -m coverage combine -q
	cd $< && $(CURDIR)/$(PY) -m coverage report --skip-covered
	cd $< && $(CURDIR)/$(PY) -m coverage report --include='*.pyx' | awk 'END { if ($$1 != "TOTAL" || $$2 == 0) { print "no line of Cython was traced"; exit 1 } }'
	@exit $$(cat $</status)

sanitize: build/sanitize ## test what is compiled under the address and undefined-behaviour sanitizers
	cd $< && CROUPIER_SANITIZE=1 $(IN_PLACE)
	cd $< && $(SANITIZER) $(CURDIR)/$(PY) -m pytest --capture=no $(SANITIZED) $(ARGS)

wheel: tools ## sdist and wheel in dist/
	$(PY) -m build -q --no-isolation

constraints: build ## pin the newest versions that pyproject.toml allows
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	$(call LISTED,build-system.requires) | build/constraints/bin/pip install -q -r /dev/stdin '.[dev,postgres]'
	{ sed -n '/^#/p' constraints.txt; build/constraints/bin/pip freeze --all --exclude pip --exclude croupier; } > build/constraints.txt
	mv build/constraints.txt constraints.txt

clean: ## remove everything that was built
	rm -rf .venv build dist buf *.egg-info .coverage .*_cache
	rm -f croupier/v1/*_pb2*
	find ai engine lab service '(' -name '*.c' -o -name '*.so' ')' -delete
	find $(FOLDERS) -name __pycache__ -prune -exec rm -rf {} +

# --- how ---

# The requirements under a key of pyproject.toml, one a line.
LISTED = $(PY) -c 'import functools, operator, sys, tomllib; \
	print(*functools.reduce(operator.getitem, sys.argv[1].split("."), \
	tomllib.load(open("pyproject.toml", "rb"))), sep="\n")' $(1)

# A copy of the sources to build in another way, so that the normal build stays as it is.
build/coverage build/sanitize: .FORCE | tools
	rm -rf $@ && mkdir -p $@
	$(PY) setup.py -q sdist --formats=tar -d build/sdist
	tar -xf build/sdist/*.tar --strip-components=1 -C $@

IN_PLACE := $(CURDIR)/$(PY) setup.py -q build_proto --inplace build_ext --inplace
SANITIZED = tests/engine tests/service/wire/test_wire.py tests/ai/test_search.py tests/ai/test_endings.py
SANITIZER = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc

# Clients of the last release must still be understood.
LAST_TAG := $(shell git describe --tags --abbrev=0 2>/dev/null)
define BREAKING
rm -rf build/last && mkdir -p build/last && git archive $(LAST_TAG) | tar -x -C build/last
cd build/last && $(CURDIR)/$(PY) setup.py -q build_proto --image $(CURDIR)/build/last.binpb
.venv/bin/buf breaking build/croupier.binpb --against build/last.binpb --config buf.yaml --path croupier
endef

.venv/compiled: .venv/installed $(PROTOS) $(CYTHON) setup.py
	@echo 'Compiling the schemas and the extensions.'
	$(IN_PLACE)
	@touch $@

# After the extensions, so that an error in one of them is shown as it is, without pip's wrapping.
.venv/linked: .venv/installed pyproject.toml setup.py | .venv/compiled
	$(PIP) install --no-build-isolation -c constraints.txt -e '.[postgres]'
	@touch $@

.venv/tools: .venv/linked
	@echo 'Installing what the tests need into .venv; this takes a minute.'
	$(call LISTED,project.optional-dependencies.dev) | $(PIP) install -c constraints.txt -r /dev/stdin
	@touch $@

.venv/installed: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Croupier needs Python 3.11 or newer: install one and run make PYTHON=python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { echo 'Python has no venv: install the package python3-venv' >&2; exit 1; }
	@command -v gcc >/dev/null || { echo 'no C compiler: install the package gcc' >&2; exit 1; }
	@echo '#include <Python.h>' | gcc -E -x c -I"$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')" - >/dev/null 2>&1 || { echo 'no C headers: install the packages python3-dev and libc6-dev' >&2; exit 1; }
	@echo 'Installing what Croupier needs into .venv; this takes a minute.'
	$(PYTHON) -m venv --clear .venv
	$(call LISTED,build-system.requires) | $(PIP) install -c constraints.txt -r /dev/stdin
	@touch $@

.PHONY: .FORCE
.FORCE:
