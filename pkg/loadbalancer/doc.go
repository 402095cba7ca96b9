// Package loadbalancer brings the load balancer in OpenStack to the state that a Service of type
// LoadBalancer requires. reconcile.go has all of it on one screen:
//
//	Service, Nodes, Config ──goal──▶ desired ──┐
//	                                           ├─plan──▶ steps ──apply──▶ OpenStack
//	state, OpenStack ──observe────▶ observed ──┘                           │
//	     ▲                                                                 │
//	     └──────────────────────────commit─────────────────────────────────┘
//
// A Service has one round at a time; rounds of different Services are concurrent, and share one
// watcher to wait for load balancers.
//
//	reconciler.go   the methods that other packages call
//	services.go     their questions about a Service that need no request
//	rounds.go       what rounds share
//	serve.go        a round: a Service gets its request, keeps its state while that is refused, or is deleted
//	unmanaged.go    a round of a Service with managed: "false"
//	routed.go       the goal of a round, by the provider of the Service
//	lastgood.go     the last accepted settings of a refused Service
//	reconcile.go    a pursuit: the stages of one goal
//	conditions.go   conditions after a round, and by the health that package drift reads
//	drift.go, garbage.go, quota.go   the work at intervals
//	preview.go, rehearsal.go         previews
//	metrics.go, traced.go            metrics and spans
//
// # Previews
//
// Preview is serve, the code of a round to its end, on an engine with replaced writers
// (rehearsal.go, goal.Engine.Rehearsing).
//
// # Metrics
//
// Requests, calls and changes of the configuration are counted when they happen. The state of all Services
// at a time (phases, ages, states of load balancers, rounds) is counted at each scrape (countedGauge), from
// state.Store.Census, the last snapshot, the dispatcher and the watcher: no counter must be kept
// consistent, and no request is necessary. tests/checks/monitoring has a query for each metric, and generates
// docs/metrics.md and the dashboard from that table and the registrations.
//
// # Tests
//
// The tests of this package run the engine against the simulator over HTTP, by resulting state and number
// of requests: costs (cost_test.go), life (lifecycle_test.go), safety (safety_test.go: the process killed
// around every write, lost responses, two clusters), refusals (badinput_test.go, and freeze_test.go: every
// refusal against nodes, address and deletion).
package loadbalancer
