# The two commands: `make up` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# npm reads the machine's settings (registry, certificates) from beside the Node that runs it: the machine's own.
NPM := PATH="$(subst $(CURDIR)/node_modules/.bin:,,$(PATH))" npm
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NODE := node_modules/.bin/node --disable-warning=ExperimentalWarning
JEST := $(NODE) --experimental-vm-modules node_modules/jest/bin/jest.js

node_modules/.installed: package-lock.json package.json $(wildcard proto/package.json services/*/package.json services/kit/*/package.json gateway/package.json tests/package.json)
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer (it brings npm); the project installs its own Node 26." >&2; exit 1; }
	@echo "npm ci"; $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: install
install: node_modules/.installed ## Install what the project needs

.PHONY: up
up: install ## Run the platform with a headset and an integrator's server (STACK=real: MongoDB and Kafka; PROCESSES=one: all services in one process on them; DATA_DIR, PORT, HEADSET_TLS=1; SETTINGS=file of KEY=VALUE lines for all services)
	@STACK=$(STACK) exec $(NODE) services/demo/src/up/main.ts

.PHONY: prepare
prepare: install ## Make all indexes and topics in the stores that MONGODB_URI and KAFKA_BROKERS name
	@exec $(NODE) services/prepare/src/main.ts

.PHONY: raise
raise: install ## After a restore from a backup, before services start: raise what others remember (MONGODB_URI, or DATA_DIR of the embedded stores; ARGS=--dry-run)
	@exec $(NODE) $(if $(MONGODB_URI),services/prepare,services/standalone)/src/raise-main.ts $(ARGS)

.PHONY: test
test: install ## Every check that CI runs
	@exec $(NODE) tests/run/main.ts

.PHONY: test-long
test-long: install ## All of make test and what takes hours: before a release (TEST_KUBE_* as for test-charts)
	@exec $(NODE) tests/run/main.ts long

.PHONY: check
check: install ## Format, lint, types, cycles, generated code, unit and architecture tests: about 70 s on two cores
	@exec $(NODE) tests/run/main.ts check

.PHONY: unit
unit: install ## Unit tests only (ARGS=path to choose)
	$(JEST) $(ARGS)

.PHONY: e2e
e2e: install ## End-to-end suite (STACK=embedded or real; on the real one INSTANCES of every service, or PROCESSES=one)
	STACK=$(STACK) $(JEST) -c tests/jest.e2e.config.js --runInBand $(ARGS)

.PHONY: faults
faults: install ## Crash test (STACK, ROUNDS=300, SEED=…, INSTANCES, FAULTS)
	@STACK=$(STACK) exec $(NODE) tests/faults/main.ts

.PHONY: mixed
mixed: install ## Processes of the last release beside today's: rolled under load, then the end-to-end suite (RELEASE, SUITE=each, PARTS, ARGS; tests/mixed/README.md)
	@exec $(NODE) tests/mixed/main.ts

.PHONY: conformance
conformance: install ## Judge a headset client against the protocol page (HEADSET='command that starts it'; tests/conformance/README.md)
	@exec $(NODE) tests/conformance/main.ts

.PHONY: audit
audit: install ## Known vulnerabilities of what runs, as the registry tells them
	@exec $(NODE) tests/audit/main.ts

.PHONY: schemathesis
schemathesis: install ## API fuzz test: random calls generated from the OpenAPI document (STACK, SECONDS=60, SEED=…); needs Python 3.10 or newer
	@STACK=$(STACK) exec $(NODE) tests/schemathesis/main.ts

.PHONY: fuzz
fuzz: install ## Fuzz test of the listeners: what is right, changed by a seed (LISTENER=tokens, json, messages, stream, urls, webhooks or packages, SECONDS=10, SEED=…, ONLY=n, STACK, CAN_FAIL=1)
	@STACK=$(STACK) exec $(NODE) tests/fuzz/$(if $(filter packages,$(LISTENER)),packages,listeners/main).ts

.PHONY: fuzz-packages
fuzz-packages: ## The same as make fuzz LISTENER=packages
	@$(MAKE) --no-print-directory fuzz LISTENER=packages

.PHONY: bench
bench: install ## Speed and memory against their baselines (STACK)
	@STACK=$(STACK) exec $(NODE) tests/bench/main.ts

SITE_PORT ?= 8090
# Gatsby 5.16 runs on Node below 26: docs-site brings its own Node 24 for the build; the server runs on the project's.
SITE_BUILD := cd docs-site && PATH="$(CURDIR)/docs-site/node_modules/.bin:$$PATH" GATSBY_TELEMETRY_DISABLED=1 NODE_OPTIONS="--disable-warning=DEP0040 --disable-warning=MODULE_TYPELESS_PACKAGE_JSON"

docs-site/node_modules/.installed: docs-site/package-lock.json docs-site/package.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer." >&2; exit 1; }
	@echo "npm ci (docs-site)"; cd docs-site && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: site-build
site-build: install docs-site/node_modules/.installed ## Build the documentation site into docs-site/dist
	$(SITE_BUILD) gatsby build

.PHONY: site
site: site-build ## Build the documentation site and serve it (SITE_PORT=8090)
	@SITE_LISTEN=127.0.0.1:$(SITE_PORT) ADMIN_LISTEN=127.0.0.1:$$(($(SITE_PORT) + 1020)) exec $(NODE) --max-semi-space-size=1 docs-site/dist/server.mjs

.PHONY: site-dev
site-dev: install docs-site/node_modules/.installed ## The documentation site for authors: changes appear at once, drafts are shown
	$(SITE_BUILD) exec gatsby develop --host 127.0.0.1 --port $(SITE_PORT)

.PHONY: site-test
site-test: install docs-site/node_modules/.installed ## Build the documentation site and run its checks (ARGS=part of a file's path)
	@exec $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON docs-site/tests/main.ts --build $(ARGS)

.PHONY: site-breaks
site-breaks: site-build ## Try seeded breaks and mutants on checks of the site, and report the checks that none makes fail (ARGS=part of a file's path)
	@exec $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON docs-site/tests/breaks/main.ts $(ARGS)

.PHONY: site-samples
site-samples: install docs-site/node_modules/.installed ## Run every sample of the guides against a platform of their own (curl, Node, Python)
	@exec $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON docs-site/tests/samples/main.ts $(ARGS)

.PHONY: bench-site
bench-site: install docs-site/node_modules/.installed ## Speed of the documentation site: build, server, beside Redoc, three times the document
	@exec $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON docs-site/bench/main.ts

.PHONY: site-pictures
site-pictures: ## Take a picture of every route of the built site: three widths, both themes (FOLDER=…)
	@exec $(NODE) docs-site/tests/pictures.ts $(FOLDER)

.PHONY: image
image: install $(if $(SITE),site-build) ## Image of all processes as an archive (TAG, OUT; SITE=1: of the site; TEST=1: with simulators; DEV=1: for skaffold dev; BASE; charts/image/README.md)
	@TAG="$(TAG)" OUT="$(OUT)" SITE="$(SITE)" TEST="$(TEST)" DEV="$(DEV)" BASE="$(BASE)" exec $(NODE) charts/image/main.ts

.PHONY: skaffold-image
skaffold-image: install $(if $(SITE),site-build) ## The same for Skaffold, which names it (skaffold.yaml)
	@SITE="$(SITE)" TEST="$(TEST)" DEV="$(DEV)" BASE="$(BASE)" exec $(NODE) charts/image/skaffold.ts

.PHONY: protocol
protocol: ## What a device engineer needs, as dist/headset-protocol.tar: the protocol page and its .proto files
	@mkdir -p dist && tar -cf dist/headset-protocol.tar -C proto device_link/v1/README.md device_link/v1/device_link.proto device_link/v1/catalog.proto && echo dist/headset-protocol.tar

.PHONY: hc-package
hc-package: install ## hc for integrators, as an npm package without dependencies (OUT=dist)
	@OUT="$(OUT)" exec $(NODE) services/hc/src/package/main.ts

.PHONY: image-base
image-base: install ## Make the images' base anew, from Debian's newest packages
	@exec $(NODE) charts/image/main.ts base

.PHONY: test-charts
test-charts: install $(if $(wildcard docs-site/dist/server.mjs),,site-build) ## Images and charts (ARGS=path to choose)
	$(JEST) -c tests/jest.charts.config.js --runInBand $(ARGS)

.PHONY: generate
generate: install ## Generate proto/gen, docs/configuration.md, tests/specification/README.md, tests/security/README.md, tests/conformance/RULES.md, and the chart's schema and README
	cd proto && buf generate
	$(NODE) tests/architecture/configuration.ts
	$(NODE) tests/specification/document.ts
	$(NODE) tests/security/document.ts
	$(NODE) tests/conformance/table.ts
	$(NODE) tests/charts/headset-cloud/schema.ts
	$(NODE) tests/charts/headset-cloud/readme.ts

.PHONY: contract-release
contract-release: install ## Keep the OpenAPI documents, protocols and databases' steps of a release; later changes must not break them
	$(NODE) tests/architecture/breaking/releases.ts

.PHONY: fix
fix: install ## Format and fix what can be fixed
	biome check --write .

.PHONY: clean
clean: ## Remove the state of make up
	@if [ -f .data/up.pid ] && kill -0 $$(cat .data/up.pid) 2>/dev/null; then echo "The platform is running (process $$(cat .data/up.pid)): stop it first." >&2; exit 1; fi
	rm -rf .data

.PHONY: help
help:
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 25
