# Everything here needs Go, git and make; the rest is built from source and cached.
.DEFAULT_GOAL := help

GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.1.4
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BIN := bin
FUZZTIME ?= 1m
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/openstack-ccm
GOLANGCI_LINT := $(CACHE)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# grpcnotrace leaves out a page of gRPC that nobody can reach. It is made of templates, which
# call methods by name: with it the linker has to keep every method there is, half as much
# program again.
BUILDFLAGS := -trimpath -tags=grpcnotrace

# Everything has these flags (tests/lib/gobuild too), so that what programs and tests share, and
# checkouts in other directories, is compiled once.
FLAGS := GOFLAGS='$(GOFLAGS) $(BUILDFLAGS)'
GO := CGO_ENABLED=0 $(FLAGS) go
GOBUILD := $(GO) run ./tests/lib/gobuild/cmd/gobuild
FEATURES := out/features

.PHONY: build
build: ## Build the controller and the simulator into bin/
	CGO_ENABLED=0 go build $(BUILDFLAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: controlplane
controlplane: ## Build the test control plane (some minutes, once)
	@$(GOBUILD) -name 'the starter of the test control plane' -o out/controlplane ./tests/controlplane/cmd/controlplane
	@out/controlplane --build --kubectl --helm --helm-cli

.PHONY: oldest
oldest: controlplane ## Start everywhere on the oldest supported Kubernetes (builds it, many minutes)
	@out/controlplane --build --oldest
	$(GO) test -count=1 -v ./tests/startmatrix -oldest

.PHONY: demo
demo: ## See it work: a Service becomes a load balancer (a minute once built)
	@echo 'Building the demo, Kubernetes, the simulator and the controller, as far as they are not built yet'
	@echo '(four to seven minutes on two cores the first time), then a Service from its creation to its deletion.'
	@$(GOBUILD) -name 'the demo' -o out/demo ./tests/demo
	@out/demo

.PHONY: playground
playground: ## Start a cluster on a simulated cloud and let it stay, for docs/tutorial.md
	@$(GOBUILD) -name 'the demo' -o out/demo ./tests/demo
	@out/demo --playground=out/playground

# Tests with upstream's service controller in the same process, which has a data race of
# its own.
WITHOUT_RACE := ^(TestServiceController_IsNotHeldUpByStuckLoadBalancers|TestServiceController_WarnsOfNothingForTwoHundredServicesAtOnce|TestServiceController_AppliesNodeChangesBesideSlowNewService)$$

# They run first, three packages at a time, as much of their time is waiting. vet is a target
# of its own, and a rarer garbage collection takes a tenth off the CPU of what they do.
LONGEST := ./pkg/loadbalancer ./tests/e2e ./tests/cluster ./tests/startmatrix

.PHONY: test
test: controlplane $(FEATURES) ## Run all tests with the race detector
	@echo 'Running all tests with the race detector: about twelve minutes on two cores, and the time to compile them'
	@GOGC=400 $(FLAGS) $(FEATURES) test -race -vet=off -p 3 -timeout 25m $(LONGEST) ./...
	$(GO) test -timeout 25m ./pkg/loadbalancer -run '$(WITHOUT_RACE)'

.PHONY: $(FEATURES)
$(FEATURES):
	@$(GOBUILD) -name 'the reporter of features' -o $@ ./tests/checks/features/cmd/features

.PHONY: verify
verify: ## Check form, go.mod, generated files and what ships beside the program; the other tests are not run
	@.ci/each tidy:5 vet:10 generated:15 shipped:15 lint:30

.PHONY: tidy
tidy: ## Check that go.mod and go.sum name what is used
	go mod tidy -diff

.PHONY: vet
vet:
	$(GO) vet ./...

# The packages whose tests compare a page or golden files with what they are made from.
GENERATED := $(addprefix ./,cmd/openstack-cloud-controller-manager pkg/reason pkg/config pkg/cli/check pkg/cli/plan pkg/cli/status pkg/loadbalancer pkg/loadbalancer/spec/annotation pkg/loadbalancer/driver pkg/loadbalancer/spec/settings \
	pkg/loadbalancer/plan pkg/loadbalancer/spec/desire manifests/admission tests/checks/layers tests/checks/monitoring tests/checks/release tests/examples)
REFERENCES := Reference|Golden

.PHONY: generated
generated: ## Check that generated files are what `make generate` writes
	$(GO) test $(GENERATED) -run '$(REFERENCES)'
	$(GO) test ./tests/checks/layers ./tests/checks/features ./tests/checks/prose

# What ships beside the program, with the tests that hold it to the program: chart and recipes;
# metrics, alerts and dashboard; image and release; documentation and its examples.
SHIPPED := ./manifests ./tests/checks/monitoring ./tests/checks/release ./tests/checks/site ./tests/examples

.PHONY: shipped
shipped: ## Check chart, recipes, metrics, alerts, dashboard, tracing, image, release and documentation
	$(GO) test $(SHIPPED)
	$(GO) test ./pkg/loadbalancer ./pkg/instances ./pkg/routes ./pkg/cloudprovider -run '^Test(Tracing|Log)_'

.PHONY: docs
docs: ## Make a site of the documentation, with search, in out/site
	@$(GO) run ./tests/checks/site

.PHONY: features
features: $(FEATURES) ## Write docs/internals/features.md from the results of the last make test
	@$(FEATURES) page

.PHONY: prove
prove: $(FEATURES) ## Break each feature, and see its tests fail (ROWS=25,31 for some; JOBS at a time)
	@$(FEATURES) prove -rows '$(ROWS)' -jobs $(or $(JOBS),2)

.PHONY: mutate
mutate: ## Change the engine in COUNT small ways, sampled by SEED, and see which ones no test notices
	@$(GO) run ./tests/checks/mutate -seed $(or $(SEED),1) -count $(or $(COUNT),200) $(MUTATE) $(or $(PACKAGES),./pkg/loadbalancer/...)

.PHONY: sweep
sweep: ## Fail every request of every scenario in every way (SHARE=0.1 SEED=2 for a part, RUN=NAME for one)
	@$(GO) test -c -o out/sweep ./tests/sweep
	@cd tests/sweep && ../../out/sweep -test.timeout 0 -seed $(or $(SEED),1) -share $(or $(SHARE),1) -all -only '$(RUN)' $(if $(LOG),-log)

# What walk passes on.
WALKS = $(GO) test -c -o out/walk ./tests/walk && cd tests/walk && \
	exec ../../out/walk -test.timeout 0 -test.run '^TestWalk_' -walk '$(WALK)' -start '$(START)' -current ../../out/walk.txt $(if $(LOG),-test.v)

.PHONY: walk
walk: ## Take STEPS=10000 random steps of users, faults and other clients, chosen by SEED=1 (0: until it is stopped; WALK='...' for one, START=router for one start)
	@$(WALKS) -steps $(or $(STEPS),10000) -seed $(or $(SEED),1)

.PHONY: soak
soak: ## Let SERVICES=200 live for HOURS=168 of accelerated clock, and see that nothing grows
	@$(GO) test -c -o out/soak.test ./tests/soak
	@cd tests/soak && exec ../../out/soak.test -test.timeout 0 -test.run '^TestSoak_' -test.v -hours $(or $(HOURS),168) \
		-services $(or $(SERVICES),200) -seed $(or $(SEED),1) -picture ../../out/soak.svg

.PHONY: e2e
e2e: ## Run the suite on a real OpenStack, which comes up for it (Debian 12, root; RELEASE=trixie: 2025.1), or on E2E_CLOUD
	tests/e2e/e2e.sh

.PHONY: e2e-run e2e-up e2e-down
e2e-run: ## Run RUN=PROVIDER/SCENARIO of the suite on the OpenStack of e2e-up, or of E2E_KEEP=failed make e2e
	@tests/e2e/e2e.sh '$(or $(RUN),$(error RUN=amphora/Life, for example))'
e2e-up: ## Bring up the OpenStack of the suite
	tests/e2e/openstack/up.sh
e2e-down: ## Take it down, and remove its state
	tests/e2e/openstack/down.sh --purge

.PHONY: e2e-amphora
e2e-amphora: ## Run the scenarios with traffic on an OpenStack 2025.1 with real amphorae, which comes up for it (Debian 12, root)
	AMPHORA=real tests/e2e/e2e.sh

.PHONY: e2e-amphora-udp
e2e-amphora-udp: ## Run the scenario with UDP on an OpenStack 2025.1 with emulated amphorae, which comes up for it (Debian 12, root)
	AMPHORA=tcg tests/e2e/e2e.sh

.PHONY: e2e-upstream
e2e-upstream: ## Run Kubernetes' specs of load balancers with kubelets on an OpenStack 2025.1, which comes up for it (Debian 12, root; FOCUS=REGEXP for some)
	KUBELETS=real FOCUS='$(FOCUS)' tests/e2e/e2e.sh

.PHONY: fuzz
fuzz: ## Fuzz what users write and clouds answer, a minute for each target there is
	@set -e; grep -rn --include='*_test.go' '^func Fuzz' pkg tests | sed -E 's|^(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | sort | while read -r folder target; do \
		echo "$$folder $$target"; \
		go test "./$$folder" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x < /dev/null; \
	done

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Check the code's form
	$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	GOBIN=$(dir $@) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the program calls (asks vuln.go.dev)
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) -tags=grpcnotrace ./cmd/openstack-cloud-controller-manager

.PHONY: generate
generate: ## Write what is made from the code: pages (but features.md) and golden files
	$(GO) test -p 1 $(GENERATED) -run '$(REFERENCES)' -update # one after the other: several write docs/commands.md
	$(GO) test ./manifests -run '$(REFERENCES)' -update # of what the first has written

.PHONY: image
image: ## Build the container image
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t openstack-cloud-controller-manager:$(VERSION) .

# VERSION of a release is a tag; IMAGE is the repository that the image is pushed to.
RELEASER = $(GO) run ./tests/checks/release -version '$(VERSION)' -out out/release $(if $(IMAGE),-image '$(IMAGE)') $(if $(CA_FILE),-ca-file '$(CA_FILE)')

.PHONY: release
release: ## Make release VERSION=v1.2.3 in out/release: programs, image, chart, install.yaml, SBOM, provenance, notes
	$(RELEASER)

.PHONY: verify-release
verify-release: ## Build the programs of that release, which is made if it is missing, again elsewhere: they must be the same bytes
	$(RELEASER) -verify

# cosign signs with the identity of the workflow, or with the key in COSIGN_KEY.
.PHONY: sign
sign: ## Sign what make release has made (needs cosign)
	cd out/release && for file in SHA256SUMS provenance.intoto.json install.yaml *.spdx.json *.tgz *.tar.gz; do \
		cosign sign-blob --yes $(if $(COSIGN_KEY),--key '$(COSIGN_KEY)') --bundle "$$file.sigstore.json" "$$file" || exit 1; done

.PHONY: publish
publish: ## Push the image and the chart of out/release to IMAGE, and sign them (needs skopeo, helm, cosign)
	skopeo copy --all --preserve-digests oci-archive:out/release/image.tar 'docker://$(IMAGE):$(VERSION)'
	chart=$$(helm push out/release/*.tgz 'oci://$(dir $(IMAGE))charts' 2>&1 | tee /dev/stderr | sed -n 's/^Digest: //p') && \
		cosign sign --yes $(if $(COSIGN_KEY),--key '$(COSIGN_KEY)') "$(dir $(IMAGE))charts/openstack-cloud-controller-manager@$$chart"
	digest=$$(cat out/release/image.digest) && cosign sign --yes $(if $(COSIGN_KEY),--key '$(COSIGN_KEY)') "$(IMAGE)@$$digest" && \
		for bom in out/release/*.spdx.json; do cosign attest --yes $(if $(COSIGN_KEY),--key '$(COSIGN_KEY)') --type spdxjson --predicate "$$bom" "$(IMAGE)@$$digest" || exit 1; done

.PHONY: clean
clean: ## Remove what build made
	rm -rf $(BIN)

.PHONY: bench
bench: ## Count what everything costs, beside the least that Octavia allows
	@$(GO) test -c -o out/bench.test ./tests/bench
	@cd tests/bench && exec ../../out/bench.test -test.timeout 0 -test.run '^TestBench_' -full -json ../../out/bench.json

# What make load passes on. S, P and N are Services, ports and nodes.
LOAD := $(if $(S)$(P)$(N),--size=$(or $(S),100)x$(or $(P),3)x$(or $(N),100)$(if $(MAX_MEMBERS),/$(MAX_MEMBERS))) \
	$(if $(PHASES),--phases=$(PHASES)) $(if $(REPEAT),--repeat=$(REPEAT)) $(if $(SPEED),--speed=$(SPEED)) \
	$(if $(PROFILE),--profile=$(PROFILE)) $(if $(LOAD_GOMAXPROCS),--gomaxprocs=$(LOAD_GOMAXPROCS)) \
	$(if $(LOAD_GOMEMLIMIT),--gomemlimit=$(LOAD_GOMEMLIMIT)) $(LOAD_FLAGS)

.PHONY: load
load: ## Measure the controller with S Services, P ports, N nodes; all standard sizes without (hours)
	@$(GOBUILD) -name 'the load test' -o out/loadtest ./tests/load
	@out/loadtest $(LOAD)
