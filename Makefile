# Everything runs from a fresh clone with python3, gcc and make; `make help` lists the targets.
# ARGS= is passed on: make serve ARGS='--listen 0.0.0.0:50051', make test ARGS='-k hints -x'.

PYTHON ?= python3
# Many tests wait for processes, disks and clocks.
JOBS ?= $(shell expr 2 '*' $$(nproc) || echo auto)
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q
PYTEST := $(PY) -m pytest
SOURCES := setup.py clients/python/build_proto.py $(wildcard proto/croupier/v1/*.proto) $(shell find engine wire games ai lab -name '*.pyx' -o -name '*.pxd')
export PYTHON JOBS ARGS
# Searches take what others leave, and parts beside each other leave nothing.
test browser conformance examples check-csharp games: export SEARCH_PRIORITY := normal

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1 \2/p' $(MAKEFILE_LIST) | while read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done

build: .venv/compiled .venv/linked ## make .venv, generate the stubs, compile the extensions

web: build ## build the web app (with a Node.js from PyPI if there is none)
	scripts/web.sh build

tools: build .venv/tools ## also install the packages for tests, checks and measurements

serve: web ## run the server
	.venv/bin/croupier serve $(ARGS)

test: tools ## run the tests, and list the slowest twenty
	scripts/web.sh test
	$(PYTEST) --durations 20 -o faulthandler_exit_on_timeout=true $(if $(REWRITE),,-n $(JOBS) --dist worksteal) $(ARGS)

browser: web ## play whole matches in the web app in Chromium (SHORT=1 for fewer; apt-get install chromium)
	scripts/web.sh browser

soak: tools ## run the long form of the tests that repeat something: random matches, samplers, snapshots, endings, crashes, races
	scripts/soak.sh $(ARGS)

disturb: tools ## run the tests on a machine that is busy, stops their processes, and has a slow disk
	$(PY) scripts/disturb.py

disturb-processes: tools ## run all tests that start processes ten times, disturbed like that
	$(PY) scripts/disturb.py --times 10 -- $(PYTEST) -n $(JOBS) --dist worksteal \
		$$(grep -lrE 'subprocess|Server(Process|s)|[Rr]eplica|ServeCommand|[Cc]luster|postgres|planted_games' tests --include='test_*.py') $(ARGS)

simulate: tools ## run the whole service in simulated worlds, whose seeds replay them (ARGS=--help; SHORT=1 for few; ARGS=--mutants plants faults, ARGS=--seams changes what is told)
	$(PY) -m tests.simulation $(if $(SHORT),--seed 1000 --seeds 3 --hours 0.25) $(ARGS)
	$(if $(SHORT),$(PY) -m tests.simulation --seams --sample 100)

alerts: tools ## scrape real servers with Prometheus, evaluate the dashboard and the rules, and plant outages (SHORT=1 for fewer)
	$(PY) -m tests.monitoring.alerts $(ARGS)

conformance: tools ## run Connect's conformance suite against the web gateway; needs Go
	scripts/conformance.sh $(ARGS)

proxies: tools ## play 200 matches through each of nginx, HAProxy and Envoy while servers behind them die
	scripts/proxies.sh $(ARGS)

docs: web .venv/docs ## build the site of the documentation in build/site (ARGS=8000 to serve it on this port)
	scripts/web.sh pictures
	$(PY) scripts/build_docs.py
	scripts/web.sh site
	$(if $(ARGS),$(PY) -m http.server --directory build/site --bind 127.0.0.1 $(ARGS))

terminal-picture: tools ## draw the README's picture of the terminal client anew, docs/terminal.svg
	$(PY) -m scripts.draw_terminal docs/terminal.svg

check-csharp: tools ## play all games with the client in C# while the server dies and lines are cut (SHORT=1 for fewer; apt-get, root)
	$(PY) -m tests.csharp.check $(ARGS)

examples: tools ## build the clients in examples/ and play all games with each while their server dies (SHORT=1 for fewer)
	$(PY) -m scripts.examples $(ARGS)

check: tools ## run every linter and type checker; changes nothing
	scripts/check.sh

lines: ## count what is written by hand, by folder, and compare it with the budget in scripts/budget.toml
	@$(PYTHON) scripts/count_code.py

release-check: tools web ## check what `.ci/run` leaves out, as it takes an hour: run it before a release, and when a change touches it
	$(PY) scripts/run_parts.py --beside 2 check-image check-wheel examples check-csharp check-godot games browser docs \
	    check-deploy alerts 'simulate SHORT=1' 'leaks SHORT=1' 'fuzz ARGS="--share 0.01"' \
	    'overload ARGS="--attacks long_hints watchers unread_streams --by key --seconds 5"'

check-godot: tools ## play whole matches with the addon for Godot while the server dies and lines are cut (SHORT=1 for fewer; root)
	$(PY) -m scripts.check_godot $(ARGS)

check-deploy: tools .venv/deploy ## validate the files for Docker Compose and Kubernetes in deploy/
	scripts/check_deploy.sh $(ARGS)

format: tools ## rewrite Python and proto files in the house format
	$(PY) -m ruff format . && $(PY) -m ruff check --fix .
	.venv/bin/buf format -w

bench: tools ## measure the speed and fingerprint of the search, and the cost of actions
	$(PY) -m lab.search_bench $(ARGS)
	$(PY) -m lab.service_bench

memory: tools ## measure what connections, streams, matches, hints and reviews take of a server's memory
	$(PY) -m lab.service_bench.memory $(ARGS)

arena: tools ## play matches: make arena ARGS='search:ms=100 skilled --game all'
	.venv/bin/croupier arena $(ARGS)

overload: tools ## attack a server as one caller while others play: make overload ARGS='--attacks watchers'
	$(PY) -m lab.overload $(ARGS)

records: tools ## verify a thousand records, and test every change of whole records (half an hour)
	TEST_RECORDS=1000 $(PYTEST) -o faulthandler_timeout=0 --timeout 0 tests/service/hosting/test_records.py $(ARGS)

coverage: tools ## measure line coverage, Cython included, in a build of its own (ARGS= picks tests)
	scripts/coverage.sh $(ARGS)

sanitize: tools ## test compiled code under the address and undefined-behaviour sanitizers (ARGS= names parts)
	scripts/sanitize.sh $(ARGS)

fuzz: tools ## fuzz the decoders and a server over the wire (hours; ARGS='--share 0.01' takes minutes)
	scripts/fuzz.sh $(ARGS)

leaks: tools ## play pairs of matches that differ in hidden cards only, and compare all that is sent (half an hour; SHORT=1 for less)
	TEST_LEAK_PAIRS=$(if $(SHORT),3,60) $(PYTEST) -s -n $(JOBS) -o faulthandler_timeout=0 --timeout 0 tests/service/test_leak_pairs.py $(ARGS)

wheel: tools web ## build the sdists and the wheels of the server and of the client in dist/, and an index of them for pip in build/index/
	PYTHON=$(PY) scripts/build_packages.sh dist
	$(PY) scripts/write_index.py dist build/index

release: tools web ## build the packages, the Helm chart, bills of materials, VEX document and SHA256SUMS of a release in an empty dist/
	rm -rf dist
	PYTHON=$(PY) scripts/build_packages.sh dist
	scripts/build_chart.sh dist
	$(PY) scripts/pack_unity.py dist
	$(PY) scripts/pack_godot.py dist
	scripts/describe_release.sh dist
	$(PY) scripts/write_index.py dist build/index

verify-release: tools web ## verify a release: ARGS='FOLDER [KEY [BUILT]]' (apt-get install minisign)
	PYTHON=$(PY) scripts/verify_release.sh $(ARGS)

check-wheel: tools web ## build the packages twice and compare them; install them; play
	$(PY) scripts/check_wheels.py

games: tools web ## install the games in examples/games/ beside the wheel of the server, test them and play them (SHORT=1: one)
	$(PY) scripts/check_games.py $(ARGS)

image: ## build the container image, and write its bill of materials to build/image/
	scripts/build_image.sh $(ARGS)

check-image: tools ## build the image and run it read-only, without rights, with 512 MB (apt-get; root)
	$(PY) scripts/check_image.py $(ARGS)

constraints: build ## pin the newest versions that pyproject.toml allows
	scripts/renew_constraints.sh

clean: ## remove everything that was built
	scripts/clean.sh

# Each of these files marks a finished step of the build.

.venv/installed: constraints.txt
	scripts/make_venv.sh
	@touch $@

.venv/compiled: .venv/installed $(SOURCES)
	@echo 'Compiling the schemas and the extensions.'
	$(PY) setup.py -q build_proto --inplace build_ext --inplace && touch $@

# This follows the extensions, so that a compiler error appears without pip's wrapping.
.venv/linked: .venv/installed pyproject.toml setup.py clients/python/pyproject.toml clients/python/setup.py | .venv/compiled
	@rm -rf croupier_server.egg-info  # An old one beside the sources would hide the games of the new one.
	$(PIP) install --no-build-isolation -c constraints.txt -e clients/python -e '.[jwt,postgres,webhooks]'
	@touch $@

.venv/tools: .venv/linked
	@echo 'Installing the packages for tests into .venv. This takes a minute.'
	scripts/install_packages.sh dependency-groups.dev $(addprefix project.optional-dependencies.,mcp openspiel otel pettingzoo)
	@touch $@

.venv/deploy: .venv/tools
	scripts/install_packages.sh dependency-groups.deploy
	@touch $@

.venv/docs: .venv/linked
	scripts/install_packages.sh dependency-groups.docs
	@touch $@
