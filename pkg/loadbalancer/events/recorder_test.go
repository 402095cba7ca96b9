package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// memory implements events.Memory.
type memory map[string]string

func (memory) Place(of events.Object) (loadBalancerID, address string) {
	return of.LoadBalancerID, of.Address
}

func (m memory) Warn(service types.UID, subject, text string) bool {
	key := string(service) + " " + subject
	before := m[key]
	m[key] = text
	return text != "" && text != before
}

func (m memory) Announce(service types.UID, subject, change string) bool {
	return m.Warn(service, subject, change)
}

// emitted returns the events that a function emits, one a line.
func emitted(emit func(*events.Recorder)) string {
	to := record.NewFakeRecorder(100)
	emit(events.New(to, memory{}))
	close(to.Events)
	var all []string
	for event := range to.Events {
		all = append(all, event)
	}
	return strings.Join(all, "\n")
}

func published(address string) events.Object {
	return events.Object{Owner: model.Owner{Kind: "Service", Namespace: "default", Name: "web", UID: "uid"}, Address: address}
}

func backend(name string, taints ...v1.Taint) members.Backend {
	return members.Backend{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: taints}}}
}

func TestRecorder_EmitsReasonTypeAndCause(t *testing.T) {
	t.Parallel()
	svc, lb := published(""), &model.LoadBalancer{ID: "lb-1", Name: "web", VIP: model.VIP{Address: "10.0.0.5"}}
	attached := &model.LoadBalancer{ID: lb.ID, Name: lb.Name, VIP: lb.VIP, FloatingIP: &model.FloatingIP{Address: "203.0.113.5"}}
	creates := plan.Plan{Steps: []plan.Step{plan.CreateLoadBalancer{LoadBalancer: lb}, plan.CreateFloatingIP{}}}
	chosen := desire.Facts{NoFloatingIP: "no network", ChosenSubnet: "subnet-1", Chosen: "network-1"}
	waiting := v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider}
	for name, test := range map[string]struct {
		emit func(*events.Recorder)
		want string // beginning of each event
	}{
		"a plan": {func(r *events.Recorder) {
			r.Planned(svc, plan.Plan{
				Notices: []string{"the flavor stays"}, Retained: []string{"twin stays"},
				Steps: []plan.Step{plan.DeleteLoadBalancer{ID: "lb-1", Name: "web"}},
			})
		}, "Warning LoadBalancerSettingImmutable the flavor stays\n" +
			"Warning LoadBalancerNotDeleted twin stays\n" +
			"Normal ChangingLoadBalancer load balancer web (lb-1): delete"},
		"an empty plan":        {func(r *events.Recorder) { r.Planned(svc, plan.Plan{}) }, ""},
		"no change":            {func(r *events.Recorder) { r.GroupsChanging(svc, "") }, ""},
		"drift that is undone": {func(r *events.Recorder) { r.DriftReverted(svc, "the floating IP is gone", "create it") }, "Warning LoadBalancerDrifted Changed by another client: the floating IP is gone. It is being reverted (actual → desired): create it"},
		"drift that stays":     {func(r *events.Recorder) { r.DriftReported(svc, "the load balancer was changed", "add one") }, "Warning LoadBalancerDrifted Changed by another client: the load balancer was changed. It is left as it is because of drift-policy=report"},
		"no drift":             {func(r *events.Recorder) { r.DriftReverted(svc, "", "add one"); r.DriftReported(svc, "", "add one") }, ""},
		"drift without steps":  {func(r *events.Recorder) { r.DriftReverted(svc, "gone", ""); r.DriftReported(svc, "gone", "") }, ""},
		"ready at its VIP":     {func(r *events.Recorder) { r.Ready(svc, lb, []string{"10.0.0.5"}) }, "Normal LoadBalancerReady Load balancer web (lb-1) serves the Service at 10.0.0.5"},
		"ready at a floating IP": {func(r *events.Recorder) { r.Ready(svc, attached, []string{"203.0.113.5"}) },
			"Normal LoadBalancerReady Load balancer web (lb-1) serves the Service at 203.0.113.5, floating IP of its VIP 10.0.0.5"},
		"ready by port forwardings": {func(r *events.Recorder) {
			r.Ready(svc, &model.LoadBalancer{ID: "fip-1", FloatingIP: attached.FloatingIP}, []string{"203.0.113.5"})
		}, "Normal LoadBalancerReady Port forwardings of floating IP fip-1 serve the Service at 203.0.113.5"},
		"published already": {func(r *events.Recorder) { r.Ready(published("10.0.0.5"), lb, []string{"10.0.0.5"}) }, ""},
		"another address":   {func(r *events.Recorder) { r.AddressChanged(svc, "10.0.0.5", "10.0.0.6") }, "Normal LoadBalancerAddressChanged The address changed from 10.0.0.5 to 10.0.0.6"},
		"the same address":  {func(r *events.Recorder) { r.AddressChanged(svc, "10.0.0.5", "10.0.0.5") }, ""},
		"the first address": {func(r *events.Recorder) { r.AddressChanged(svc, "", "10.0.0.5") }, ""},
		"not deleted":       {func(r *events.Recorder) { r.NotDeleted(svc, errors.New("nothing proves it")) }, "Warning LoadBalancerNotDeleted Not deleted: nothing proves it"},
		"monitors missing": {func(r *events.Recorder) {
			r.Warn(svc, events.HealthMonitorMissing("none"))
			r.Warn(svc, events.HealthMonitorMissing("none"))
		}, "Normal LoadBalancerHealthMonitorMissing none"},
		"shared without one": {func(r *events.Recorder) { r.SharedWithoutFloatingIP(svc, "10.0.0.5") }, "Warning LoadBalancerForcedInternal The load balancer that the Service shares has no floating IP"},
		"a foreign floating IP": {func(r *events.Recorder) {
			r.ForeignFloatingIP(svc, model.FloatingIP{ID: "fip-1", Address: "203.0.113.5"}, "10.0.0.5")
		}, "Warning LoadBalancerForeignFloatingIP Another client attached floating IP 203.0.113.5 (fip-1) to VIP 10.0.0.5"},
		"everything chosen": {func(r *events.Recorder) { r.Chosen(svc, chosen, creates) },
			"Warning LoadBalancerForcedInternal no network\nNormal LoadBalancerSubnetChosen subnet-1\nNormal LoadBalancerExternalNetworkChosen network-1"},
		"chosen before": {func(r *events.Recorder) { r.Chosen(svc, chosen, plan.Plan{}) }, ""},
		"ports not found": {func(r *events.Recorder) {
			r.Warn(svc, events.PortsNotFound([]string{"node-1", "node-2"}, nil, nil, []members.Backend{backend("node-1", waiting), backend("node-2")}))
		}, "Warning SecurityGroupPortNotFound No Neutron port of this project has the address of node-2:"},
		"only a node that waits": {func(r *events.Recorder) {
			r.Warn(svc, events.PortsNotFound([]string{"node-1"}, []string{"node-1"}, nil, []members.Backend{backend("node-1", waiting)}))
		}, ""},
		"addresses elsewhere": {func(r *events.Recorder) {
			r.Warn(svc, events.PortsNotFound(nil, []string{"node-1", "node-2"}, nil, []members.Backend{backend("node-1"), backend("node-2")}))
		}, "Warning SecurityGroupPortNotFound The servers of node-1, node-2 are unknown,"},
		"addresses of others": {func(r *events.Recorder) {
			r.Warn(svc, events.PortsNotFound(nil, nil, []string{"node-1", "node-2"}, []members.Backend{backend("node-1", waiting), backend("node-2")}))
		}, "Warning SecurityGroupPortNotFound The addresses of node-2 are on ports that are not of their servers,"},
		"addresses nowhere and elsewhere": {func(r *events.Recorder) {
			r.Warn(svc, events.PortsNotFound([]string{"node-1"}, []string{"node-2"}, nil, []members.Backend{backend("node-1"), backend("node-2")}))
		}, "Warning SecurityGroupPortNotFound No Neutron port of this project has the address of node-1: open the NodePorts there to the load balancer yourself. The servers of node-2 are"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := emitted(test.emit)
			if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) || strings.Count(got, "\n") != strings.Count(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestSettingsIgnored_EmitsOneEventUntilTheTextChanges(t *testing.T) {
	t.Parallel()
	svc := published("")
	first := []annotation.Notice{{Annotation: "a", Message: "has no effect"}, {Annotation: "b", Message: "neither"}}
	got := emitted(func(r *events.Recorder) {
		r.Warn(svc, events.SettingsIgnored(events.Settings, first))
		r.Warn(svc, events.SettingsIgnored(events.Settings, first))
		r.Warn(svc, events.SettingsIgnored(events.Provider, nil))
		r.Warn(svc, events.SettingsIgnored(events.Provider, first[1:])) // another subject
		r.Warn(svc, events.SettingsIgnored(events.Settings, first[:1]))
	})
	const reason = "Warning LoadBalancerSettingIgnored "
	if want := reason + "a: has no effect; b: neither\n" + reason + "b: neither\n" + reason + "a: has no effect"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNodesSkipped_EmitsAgainAfterTheNodesWereFine(t *testing.T) {
	t.Parallel()
	svc := published("")
	got := emitted(func(r *events.Recorder) {
		for _, names := range [][]string{{"node-1"}, {"node-1"}, nil, {"node-1"}} {
			r.Warn(svc, events.NodesSkipped(v1.IPv6Protocol, names))
		}
	})
	const event = "Warning LoadBalancerNodeSkipped Not added as members because they have no IPv6 address: node-1"
	if got != event+"\n"+event {
		t.Errorf("got\n%s", got)
	}
}

type step string

func (s step) String() string { return string(s) }

func TestSummary_ListsFiveStepsWithinOneEvent(t *testing.T) {
	t.Parallel()
	var steps []step
	for i := range 8 {
		steps = append(steps, step(fmt.Sprintf("%d%s", i, strings.Repeat(".", i*1000))))
	}
	for n, want := range map[int]string{0: "", 1: "0", 5: "; 4....", 6: "; and 1 more", 8: "; and 3 more"} {
		got := events.Summary(steps[:n])
		if !strings.Contains(got, want) || (n == 0) != (got == "") || strings.Contains(got, " more") != (n > 5) || len(got) > message.MaxEvent {
			t.Errorf("%d steps: %d bytes: %s", n, len(got), got)
		}
	}
}

// lastObject records the object of the last event.
type lastObject struct {
	record.EventRecorder
	object runtime.Object
}

func (l *lastObject) Event(object runtime.Object, _, _, _ string) { l.object = object }

func TestRecorder_EmitsOnTheOwner(t *testing.T) {
	t.Parallel()
	var last lastObject
	events.New(&last, memory{}).NotDeleted(published(""), errors.New("not ours"))
	want := &v1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", UID: "uid"}
	if diff := cmp.Diff(runtime.Object(want), last.object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}
