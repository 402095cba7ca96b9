package dryrun

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"
)

// reporting returns a Report at a time, with metrics.
func reporting(t *testing.T) (*Report, *testingclock.FakePassiveClock, metrics.KubeRegistry) {
	t.Helper()
	registry, counted := metrics.NewKubeRegistry(), NewMetrics()
	if err := counted.Register(func(m metrics.Registerable) error { return registry.Register(m) }); err != nil {
		t.Fatal(err)
	}
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return New(clock, counted), clock, registry
}

func page(t *testing.T, r *Report, query string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", Path+query, nil))
	return answer.Body.String()
}

//proves:90
func TestReport_SaysWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	r, clock, _ := reporting(t)
	ctx := t.Context()
	r.Preview(ctx, Service{Namespace: "shop", Name: "cart", Outcome: Changed, Steps: []string{"listener TCP/443: allowed_cidrs [] → [10.0.0.0/8]"}, Address: "changes: 203.0.113.4 → 203.0.113.5"})
	r.Preview(ctx, Service{Namespace: "default", Name: "web", Outcome: Unchanged})
	clock.SetTime(clock.Now().Add(time.Hour))
	r.Preview(ctx, Service{Namespace: "default", Name: "old", Outcome: Refused, Reason: "invalid", Text: "there is no network 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f", Notes: []string{"LoadBalancerSettingIgnored: loadbalancer.openstack.org/timeout-client-data: \"soon\" is invalid; using the default of the cloud's operator"}})
	r.Preview(ctx, Service{Namespace: "default", Name: "web", Outcome: Unchanged})
	r.Would(ctx, "node node-3", "delete: its server is gone")
	r.Would(ctx, "node node-3", "delete: its server is gone")
	r.Withheld(Write{Verb: "create", Resource: "configmaps", Namespace: "kube-system", Name: "openstack-cloud"})
	r.Withheld(Write{Verb: "patch", Resource: "services/status", Namespace: "default", Name: "web", Patch: "{}"})
	want := `Dry run since 2026-03-01T12:00:00Z: nothing was written
Services: 1 would be refused, 1 would change, 1 no change

default/old would be refused (since 2026-03-01T13:00:00Z)
  why   there is no network 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f
  note  LoadBalancerSettingIgnored: loadbalancer.openstack.org/timeout-client-data: "soon" is invalid; using the default of the cloud's operator

shop/cart would change (since 2026-03-01T12:00:00Z)
  step     listener TCP/443: allowed_cidrs [] → [10.0.0.0/8]
  address  changes: 203.0.113.4 → 203.0.113.5

Other changes
  configmaps kube-system/openstack-cloud  since 2026-03-01T13:00:00Z  create
  node node-3                             since 2026-03-01T13:00:00Z  delete: its server is gone
`
	if diff := cmp.Diff(want, page(t, r, "")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if docs, err := os.ReadFile("../../docs/commands.md"); err != nil || !strings.Contains(string(docs), want) {
		t.Errorf("docs/commands.md shows another report (%v)", err)
	}
	var state State
	if err := json.Unmarshal([]byte(page(t, r, "?output=json")), &state); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.State(), state); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if state.Changes[1].Times != 2 || !state.Services[2].Since.Equal(state.Started) || state.Services[2].Checked.Equal(state.Started) {
		t.Errorf("since when, and how often, is not told: %+v", state)
	}
	if text := page(t, r, "?output=yaml"); !strings.Contains(text, "allowed are text and json") {
		t.Errorf("another format is answered with %q", text)
	}
}

//proves:90
func TestReport_CountsServicesByOutcomeAndWithheldWrites(t *testing.T) {
	t.Parallel()
	r, _, registry := reporting(t)
	for _, s := range []Service{{Name: "a", Outcome: Changed}, {Name: "b", Outcome: Unchanged}, {Name: "c", Outcome: Unknown}, {Name: "a", Outcome: Unchanged}} {
		r.Preview(t.Context(), s)
	}
	r.Forget(types.NamespacedName{Name: "c"})
	r.Withheld(Write{Verb: "patch", Resource: "services", Name: "a"})
	r.Withheld(Write{Verb: "patch", Resource: "services", Name: "a"})
	want := `
# HELP cloudprovider_openstack_dry_run_services [ALPHA] Services by outcome: unchanged, changed, refused, deleted, unknown. Only with --dry-run.
# TYPE cloudprovider_openstack_dry_run_services gauge
cloudprovider_openstack_dry_run_services{outcome="changed"} 0
cloudprovider_openstack_dry_run_services{outcome="deleted"} 0
cloudprovider_openstack_dry_run_services{outcome="refused"} 0
cloudprovider_openstack_dry_run_services{outcome="unchanged"} 2
cloudprovider_openstack_dry_run_services{outcome="unknown"} 0
# HELP cloudprovider_openstack_dry_run_withheld_writes_total [ALPHA] Writes to the API server that were not sent. Only with --dry-run.
# TYPE cloudprovider_openstack_dry_run_withheld_writes_total counter
cloudprovider_openstack_dry_run_withheld_writes_total{resource="services",verb="patch"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if state := r.State(); len(state.Changes) != 0 || len(r.Open()) != 0 {
		t.Errorf("there is more to be done than is so: %+v", state)
	}
}

// A change that is no longer requested was made by the active controller, or is not needed.
func TestReport_DropsWhatIsNotAskedForAnyMore(t *testing.T) {
	t.Parallel()
	r, clock, _ := reporting(t)
	r.Would(t.Context(), "node node-1", "initialize")
	r.Would(t.Context(), "node node-2", "delete")
	clock.SetTime(clock.Now().Add(changeAge))
	r.Would(t.Context(), "node node-2", "delete")
	clock.SetTime(clock.Now().Add(time.Second))
	if state := r.State(); len(state.Changes) != 1 || state.Changes[0].Object != "node node-2" {
		t.Errorf("changes: %+v", state.Changes)
	}
}
