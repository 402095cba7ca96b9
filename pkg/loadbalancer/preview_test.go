package loadbalancer_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// stepLog is a log of the applied steps of a round.
type stepLog struct {
	mu    sync.Mutex
	steps []string
}

// logged returns a context in which rounds log their steps, and the log.
func logged(ctx context.Context) (context.Context, *stepLog) {
	log := &stepLog{}
	return klog.NewContext(ctx, logr.New(log)), log
}

func (*stepLog) Init(logr.RuntimeInfo)            {}
func (*stepLog) Enabled(level int) bool           { return level <= 1 }
func (*stepLog) Error(error, string, ...any)      {}
func (s *stepLog) WithValues(...any) logr.LogSink { return s }
func (s *stepLog) WithName(string) logr.LogSink   { return s }

func (s *stepLog) Info(_ int, msg string, values ...any) {
	if at := slices.Index(values, any("step")); msg == "Changed the cloud" && at >= 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.steps = append(s.steps, values[at+1].(string))
	}
}

// lines returns the steps of a preview in the format of the log of a round.
func lines(p loadbalancer.Preview) []string {
	var all []string
	for _, step := range p.Steps {
		all = append(all, message.Truncate(step.Text, message.MaxEvent))
	}
	return all
}

// preview returns a preview, and checks that it writes nothing.
func (env *environment) preview(svc *v1.Service, nodes []*v1.Node) loadbalancer.Preview {
	env.T.Helper()
	before, said := len(env.Cloud.RequestLog.Requests(requestlog.Writes())), env.conditions.count()
	p, err := env.engine.Preview(env.ctx, svc, nodes)
	if err != nil {
		env.T.Fatalf("Preview: %v", err)
	}
	if env.conditions.count() > said {
		env.T.Fatal("the preview has said how the Service is served")
	}
	if after := env.Cloud.RequestLog.Requests(requestlog.Writes()); len(after) > before {
		env.T.Fatalf("the preview has written:\n%s", printed(after[before:]))
	}
	return p
}

// foretold makes a preview, then the round, and compares the two: steps in their order, writes,
// cycles, status and refusal.
func (env *environment) foretold(svc *v1.Service, nodes []*v1.Node) loadbalancer.Preview {
	env.T.Helper()
	p := env.preview(svc, nodes)
	ctx, log := logged(env.ctx)
	writes, cycles := len(env.Cloud.RequestLog.Requests(requestlog.Writes())), env.Cloud.RequestLog.TotalCycles()
	status, err := env.engine.Serve(ctx, svc.DeepCopy(), nodes)
	if (err != nil) != (p.Refusal != nil) || err != nil && err.Error() != p.Refusal.Text {
		env.T.Fatalf("the round ended with %v, foretold was %+v", err, p.Refusal)
	}
	if err != nil && refusal.Reason(err) != p.Refusal.Reason {
		env.T.Errorf("refused for %q, foretold was %q", refusal.Reason(err), p.Refusal.Reason)
	}
	if diff := cmp.Diff(lines(p), log.steps); diff != "" {
		env.T.Fatalf("steps, foretold and done (-foretold +done):\n%s", diff)
	}
	done := env.Cloud.RequestLog.Requests(requestlog.Writes())[writes:]
	atLeast := slices.ContainsFunc(p.Steps, func(step loadbalancer.PreviewStep) bool {
		return strings.HasSuffix(step.Text, "take off all ports and delete") || strings.HasSuffix(step.Text, "delete the Service's rules")
	})
	if len(done) != p.Writes() && (!atLeast || len(done) < p.Writes()) {
		env.T.Errorf("%d writes were foretold for\n%s\n%d were sent:\n%s", p.Writes(), strings.Join(lines(p), "\n"), len(done), printed(done))
	}
	if n := env.Cloud.RequestLog.TotalCycles() - cycles; n != p.LoadBalancerChanges() {
		env.T.Errorf("%d PENDING cycles, foretold were %d", n, p.LoadBalancerChanges())
	}
	if p.Status != nil && p.After != "" && status != nil && !cmp.Equal(withoutChosen(status, p.Status), p.Status) {
		env.T.Errorf("status %v, foretold was %v", status, p.Status)
	}
	if status != nil {
		svc.Status.LoadBalancer = *status
	}
	return p
}

// withoutChosen returns a status without the addresses that a predicted one leaves to OpenStack.
func withoutChosen(status, predicted *v1.LoadBalancerStatus) *v1.LoadBalancerStatus {
	left := status.DeepCopy()
	for i, ingress := range predicted.Ingress {
		if ingress.IP == "" && i < len(left.Ingress) {
			left.Ingress[i].IP = ""
		}
	}
	return left
}

// In every kind of round, the preview predicts exactly the changes of the round.
//
//proves:90
func TestPreview_ForetellsWhatTheRoundDoes(t *testing.T) {
	t.Parallel()
	type change struct {
		name    string
		do      func(env *environment, svc *v1.Service)
		nodes   int
		steps   int
		address loadbalancer.AddressChange
		pauses  string
		refused string
	}
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(4), service("web", 2)
	other := env.elsewhere()
	set := func(key, value string) func(*environment, *v1.Service) {
		return func(_ *environment, svc *v1.Service) { svc.Annotations[key] = value }
	}
	for _, c := range []change{
		{name: "created", do: func(*environment, *v1.Service) {}, nodes: 2, steps: 2, address: loadbalancer.AddressNew},
		{name: "unchanged", do: func(*environment, *v1.Service) {}, nodes: 2, address: loadbalancer.AddressKept},
		{name: "a node more", do: func(*environment, *v1.Service) {}, nodes: 3, steps: 2, address: loadbalancer.AddressKept},
		{name: "unchanged, after a restart", do: func(env *environment, _ *v1.Service) { env.restart() }, nodes: 3, address: loadbalancer.AddressKept},
		{name: "a node less, after a restart", do: func(env *environment, _ *v1.Service) { env.restart() }, nodes: 2, steps: 2, address: loadbalancer.AddressKept},
		{name: "source ranges", do: func(_ *environment, svc *v1.Service) {
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}, nodes: 2, steps: 2, address: loadbalancer.AddressKept},
		{name: "a port more", do: func(_ *environment, svc *v1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
		}, nodes: 2, steps: 3, address: loadbalancer.AddressKept},
		{name: "a port less", do: func(_ *environment, svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] }, nodes: 2, steps: 2, address: loadbalancer.AddressKept},
		{name: "refused", do: set(annotation.TLSContainer, "http://nowhere/containers/none"), nodes: 3, steps: 2, address: loadbalancer.AddressKept, refused: refusal.Invalid},
		{name: "refused for good reason no more", do: func(_ *environment, svc *v1.Service) {
			delete(svc.Annotations, annotation.TLSContainer)
			svc.Annotations[annotation.ClientData] = "60000"
		}, nodes: 3, steps: 2, address: loadbalancer.AddressKept},
		{name: "internal", do: set(annotation.Internal, "true"), nodes: 3, steps: 1, address: loadbalancer.AddressChanges},
		{name: "external", do: set(annotation.Internal, "false"), nodes: 3, steps: 1, address: loadbalancer.AddressChanges},
		{name: "replaced", do: func(_ *environment, svc *v1.Service) {
			svc.Annotations[annotation.SubnetID], svc.Annotations[annotation.AllowReplace] = other.ID, "true"
		}, nodes: 3, steps: 3, address: loadbalancer.AddressKept, pauses: "connections to "},
		{name: "deleted", do: func(_ *environment, svc *v1.Service) { now := nowTime(); svc.DeletionTimestamp = &now }, nodes: 3, steps: 2, address: loadbalancer.AddressGoes},
	} {
		c.do(env, svc)
		p := env.foretold(svc, nodes[:c.nodes])
		if len(p.Steps) != c.steps || p.Address != c.address || p.TakenOver {
			t.Errorf("%s: %d steps, the address is %s, taken over %v, want %d, %s:\n%s", c.name, len(p.Steps), p.Address, p.TakenOver, c.steps, c.address, strings.Join(lines(p), "\n"))
		}
		pauses := ""
		for _, step := range p.Steps {
			pauses += step.Pauses
		}
		if (c.pauses == "") != (pauses == "") || !strings.HasPrefix(pauses, c.pauses) {
			t.Errorf("%s: pauses %q, want %q", c.name, pauses, c.pauses)
		}
		if got := p.Refusal; (got == nil) != (c.refused == "") || got != nil && (got.Reason != c.refused || !got.Kept || got.Stuck != "") {
			t.Errorf("%s: refused %+v, want %q", c.name, got, c.refused)
		}
	}
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// The preview before the switch from cloud-provider-openstack.
//
//proves:90,122
func TestPreview_SaysWhatIsTakenOver(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(3)
	same, changes, refused := service("same", 2), service("changes", 1), service("refused", 1)
	for _, svc := range []*v1.Service{same, changes, refused} {
		env.inherit(peers("kubernetes", svc), svc, nodes[:2])
	}
	changes.Annotations[annotation.ClientData] = "60000"
	refused.Annotations[annotation.TLSContainer] = "http://nowhere/containers/none"
	env.restart()
	for _, c := range []struct {
		svc           *v1.Service
		steps, writes int
	}{{same, 0, 0}, {changes, 1, 1}, {refused, 0, 0}} {
		p := env.foretold(c.svc, nodes[:2])
		if !p.TakenOver || len(p.Steps) != c.steps || p.Writes() != c.writes || (p.Refusal != nil) != (c.svc == refused) || p.Address != loadbalancer.AddressKept {
			t.Errorf("%s: %+v", c.svc.Name, p)
		}
	}
	if p := env.foretold(same, nodes[:2]); p.TakenOver {
		t.Error("it is taken over twice")
	}
}

// A preview without changes reads enough for the next preview, and for the drift watch.
func TestPreview_RemembersWhatItHasRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 2)
	env.ensure(svc, nodes)
	env.restart()
	if p := env.preview(svc, nodes); len(p.Steps) > 0 {
		t.Fatalf("%+v", p)
	}
	env.engine.AwaitReads()
	env.Cloud.RequestLog.Reset()
	if p := env.preview(svc, nodes); len(p.Steps) > 0 {
		t.Fatalf("%+v", p)
	}
	if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
		t.Errorf("the second preview has cost\n%s", printed(all))
	}
	foreignListener(t, env, env.loadBalancer().ID, 9999)
	env.notice(svc)
}

// A preview of an impossible change does not affect the next round.
func TestPreview_LeavesNoTraceOfWhatItRehearsed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-services-per-namespace": "1"}})
	nodes, first, second := env.nodes(2), service("first", 1), service("second", 1)
	env.preview(first, nodes)
	if p := env.preview(second, nodes); p.Refusal == nil || p.Refusal.Reason != refusal.Quota || p.Refusal.Kept || p.Address != loadbalancer.AddressNone {
		t.Errorf("the second of one Service that may be: %+v", p.Refusal)
	}
	if emitted := env.emitted(); emitted != "" {
		t.Errorf("events: %s", emitted)
	}
	env.foretold(first, nodes)
	env.foretold(second, nodes)
	env.loadBalancer()
}

// Previews of all Services before a switch, or before a restart, need no more requests than the
// controller does.
func TestPreview_OfAllServicesCostsNoMoreThanARestart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{
		Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: {}},
	}})
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "port", -1)
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "floatingip", -1)
	nodes := env.nodes(3)
	var own, all []*v1.Service
	for i := range 40 {
		svc := service("web-"+itoa(i), 2)
		env.ensure(svc, nodes)
		own = append(own, svc)
	}
	env.writeDown(own...)
	for i := range 10 {
		svc := service("left-"+itoa(i), 2)
		env.inherit(peers("kubernetes", svc), svc, nodes)
		all = append(all, svc)
	}
	for name, services := range map[string][]*v1.Service{"own": own, "taken over": all} {
		count := func(each func(*v1.Service)) int {
			env.restart()
			env.Cloud.RequestLog.Reset()
			for _, svc := range services {
				each(svc)
			}
			env.engine.AwaitReads()
			return len(env.Cloud.RequestLog.Requests())
		}
		previews := count(func(svc *v1.Service) {
			if p := env.preview(svc, nodes); len(p.Steps) > 0 || p.TakenOver != (name == "taken over") {
				t.Errorf("%s: %+v", svc.Name, p)
			}
		})
		if rounds := count(func(svc *v1.Service) { env.ensure(svc, nodes) }); previews > rounds {
			t.Errorf("%s: %d requests, the restart took %d", name, previews, rounds)
		}
	}
}

// A Service moves to the load balancer of another one, and leaves it again.
func TestPreview_ForetellsSharing(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner, guest := env.nodes(2), service("owner", 1), service("guest", 1)
	guest.Spec.Ports[0] = port(v1.ProtocolTCP, 443)
	env.foretold(owner, nodes)
	own := env.loadBalancer().ID
	for _, named := range []string{own, "", own} {
		if guest.Annotations[annotation.LoadBalancerID] = named; named == "" {
			delete(guest.Annotations, annotation.LoadBalancerID)
		}
		if p := env.foretold(guest, nodes); len(p.Steps) == 0 {
			t.Errorf("named %q: nothing is foretold", named)
		}
		env.foretold(guest, nodes)
	}
	for _, svc := range []*v1.Service{owner, guest} {
		now := nowTime()
		svc.DeletionTimestamp = &now
		env.foretold(svc, nodes)
	}
	env.loadBalancers(0)
}

// A load balancer in ERROR is failed over or, if that is not possible, left unchanged.
func TestPreview_TellsOfALoadBalancerInError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "2026.1"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.foretold(svc, nodes)
	if err := env.Cloud.Octavia.SetProvisioningStatus(env.loadBalancer().ID, "ERROR"); err != nil {
		t.Fatal(err)
	}
	env.restart()
	p := env.preview(svc, nodes) // the previous process may just have failed it over
	if p.Refusal == nil || p.Refusal.Reason != loadbalancer.ReasonInError || !p.Refusal.Kept || p.Refusal.Stuck == "" || p.Address != loadbalancer.AddressKept || len(p.Steps) > 0 {
		t.Errorf("%+v, refused %+v", p, p.Refusal)
	}
	svc.Annotations[annotation.AllowReplace] = "true"
	if p := env.foretold(svc, nodes); len(p.Steps) != 3 || p.Refusal != nil {
		t.Errorf("%+v, refused %+v", p, p.Refusal)
	}
}
