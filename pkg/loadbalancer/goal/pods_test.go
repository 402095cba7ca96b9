package goal

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Port, name and address distinguish members of an unknown origin: the controller before may have had nodes.
func TestHasPods_DistinguishesPodsFromNodes(t *testing.T) {
	t.Parallel()
	member := func(name, address string, port int) model.Member {
		return model.Member{Name: name, Address: address, Port: port}
	}
	node, pod := member("node-1", "10.0.0.1", 30080), member("node-1", "10.244.0.7", 8080)
	for name, test := range map[string]struct {
		members            []model.Member
		applied            *state.Applied
		pods, known, leave bool
	}{
		"none":                            {},
		"nodes":                           {members: []model.Member{node}, known: true},
		"pods on nodes":                   {members: []model.Member{pod}, pods: true, known: true, leave: true},
		"a pod on no node":                {members: []model.Member{member("10.244.0.7", "10.244.0.7", 8080)}, pods: true, known: true, leave: true},
		"a node at another port":          {members: []model.Member{member("node-1", "10.0.0.1", 31000)}, known: true},
		"of an unknown name":              {members: []model.Member{member("gone", "10.0.0.9", 31000)}, known: true},
		"a pod at the NodePort":           {members: []model.Member{member("node-1", "10.244.0.7", 30080)}, known: true},
		"nodes and pods":                  {members: []model.Member{node, pod}, known: true, leave: true},
		"pods, nodes were applied":        {members: []model.Member{pod}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb"}}, known: true},
		"nodes, pods were applied":        {members: []model.Member{node}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Pods: true}}, pods: true, known: true, leave: true},
		"nodes, pods were applied before": {members: []model.Member{node}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "old", Pods: true}}, known: true},
	} {
		svc := webService()
		in := inputsOf(svc)
		in.Nodes = []*v1.Node{fixture.Node("node-1", "10.0.0.1")}
		in.Settings.Traffic.Ports = []v1.ServicePort{fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 443)}
		lb := &model.LoadBalancer{ID: "lb", Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{Members: model.MembersOf(test.members...)}}}}
		p := &planner{memory: memoryOf(svc, "", state.Entry{Applied: test.applied})}
		if pods, known := p.hasPods(in, lb); pods != test.pods || known != test.known {
			t.Errorf("%s: pods %v, known %v, want %v, %v", name, pods, known, test.pods, test.known)
		}
		if got := p.leavesPods(in, lb); got != test.leave {
			t.Errorf("%s: pods leave: %v", name, got)
		}
	}
}

// Pods become members if the load balancer reaches each of them, in the subnet in which it does.
func TestPlacePods_RefusesPodsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	monitored := func(c *config.LoadBalancer) { c.CreateMonitor = true }
	managed := func(c *config.LoadBalancer) { c.ManageSecurityGroups, c.SecurityGroupMode = true, "per-service" }
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	for name, test := range map[string]struct {
		conf     func(*config.LoadBalancer)
		change   func(*v1.Service)
		prepare  func(*rig)
		lacks    bool // source ranges
		existing *model.LoadBalancer
		words    string
		members  int
	}{
		"pods in the subnet":  {members: 2},
		"a pod of an overlay": {prepare: func(r *rig) { r.ports = r.ports[:len(r.ports)-1] }, words: "pod 10.0.0.22 has no route"},
		"no pod, an endpoint without node": {prepare: func(r *rig) {
			r.endpoints[0].Ports, r.endpoints[0].Endpoints = []string{"other"}, r.endpoints[0].Endpoints[:1]
			r.endpoints[0].Endpoints[0].Node = ""
		}, words: "there are no pods"},
		"no pod yet":                     {prepare: func(r *rig) { r.endpoints = nil }},
		"the subnet of the existing VIP": {existing: &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{SubnetID: "elsewhere"}}, words: "is in subnet subnet, which is not attached"},
		"groups enforce ranges":          {conf: managed, change: ranges, lacks: true, words: "is behind no port of a node"},
		"groups enforce none":            {conf: managed, lacks: true, members: 2},
		"the provider enforces ranges":   {conf: managed, change: ranges, members: 2},
		"ranges, no groups":              {change: ranges, lacks: true, members: 2},
		"monitors":                       {conf: monitored, members: 2},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) { c.Members = annotation.MembersPods }), configured(test.conf), withPods)
		if test.change != nil {
			test.change(r.svc)
		}
		if test.prepare != nil {
			test.prepare(r)
		}
		in := r.ask().in
		want := &Desired{Settings: in.Settings}
		want.Facts.Driver, want.Facts.VIPSubnetID, want.Facts.MemberSubnetID = fixture.Amphora(), "subnet", "of nodes"
		if test.lacks {
			want.Facts.Driver = want.Facts.Driver.Without(driver.SourceRanges)
		}
		want.Followed = in.members(in.Settings, want.Facts.Driver)
		_, err := r.planner.placePods(r.ctx, in, in.Settings, test.existing, want)
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q", name, err, test.words)
		}
		if err == nil && (want.Facts.MemberSubnetID != "" || len(want.Followed.Ports.Addresses()) != test.members) {
			t.Errorf("%s: members %v in subnet %q", name, want.Followed.Ports.Addresses(), want.Facts.MemberSubnetID)
		}
		if len(in.Endpoints) == 0 && len(r.sent) > 1 {
			t.Errorf("%s: requests %v", name, r.sent)
		}
	}
}

// Some providers need ports of the members for their monitors. Pods behind routes have no ports.
func TestPlacePods_LeavesOutMonitorsThatWouldFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		routed, needs, monitor, asked bool
		refused, without              bool
	}{
		"pods with ports":          {needs: true, monitor: true},
		"pods behind routes":       {routed: true, needs: true, monitor: true, without: true},
		"the Service asks for one": {routed: true, needs: true, monitor: true, asked: true, refused: true},
		"no monitor":               {routed: true, needs: true},
		"monitors without ports":   {routed: true, monitor: true},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) { c.CreateMonitor = test.monitor }), service(fixture.Annotated(annotation.Members, annotation.MembersPods)), withPods)
		if test.asked {
			r.svc.Annotations[annotation.Monitor] = "true"
		}
		if test.routed {
			r.routes = []neutron.ExtraRoute{{Destination: "10.0.0.16/28", NextHop: "10.0.0.1"}}
		}
		in := r.ask().in
		want := &Desired{Settings: in.Settings}
		want.Facts.Driver, want.Facts.VIPSubnetID = fixture.Amphora(), "subnet"
		want.Facts.Driver.Quirks.MonitorsNeedPorts = test.needs
		want.Followed = in.members(in.Settings, want.Facts.Driver)
		got, err := r.planner.placePods(r.ctx, in, in.Settings, nil, want)
		if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), annotation.Monitor) {
			t.Errorf("%s: %v", name, err)
		}
		if without := len(want.Facts.Ignored) > 0; without != test.without || err == nil && got.Monitor.Enabled != (test.monitor && !test.without) {
			t.Errorf("%s: ignored %+v, monitors %+v", name, want.Facts.Ignored, got.Monitor)
		}
	}
}

// The mode of a kept Service may be the refused change: it keeps pods, or nodes, as they are. Of nodes, it keeps
// those that the last accepted mode chooses.
func TestUsePresentMode_KeepsPodsOrNodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked, accepted string
		pods            bool // of the load balancer
		fails           bool
		want            string
	}{
		"nodes":                {annotation.MembersNodes, annotation.MembersEndpointNodes, false, false, annotation.MembersNodes},
		"not known":            {annotation.MembersPods, annotation.MembersNodes, false, false, annotation.MembersPods},
		"nodes for pods":       {annotation.MembersNodes, annotation.MembersPods, true, false, annotation.MembersPods},
		"pods for nodes":       {annotation.MembersPods, annotation.MembersNodes, false, false, annotation.MembersNodes},
		"pods for some nodes":  {annotation.MembersPods, annotation.MembersEndpointNodes, false, false, annotation.MembersEndpointNodes},
		"pods that drained":    {annotation.MembersPods, annotation.MembersPods, false, false, ""},
		"pods after a restart": {annotation.MembersPods, "", false, false, ""},
		"pods":                 {annotation.MembersPods, annotation.MembersPods, true, false, annotation.MembersPods},
		"a range is lost":      {annotation.MembersPods, annotation.MembersNodes, false, true, annotation.MembersPods},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) { c.MemberSubnetID, c.MemberAddressBySubnet = "subnet", true }), service(fixture.Annotated(annotation.Members, test.asked)))
		r.store.Update(r.svc.UID, func(e *state.Entry) {
			if test.accepted != "" {
				e.Accepted = fixture.Service(fixture.Annotated(annotation.Members, test.accepted))
			}
			if e.Applied = nil; name != "not known" {
				e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Pods: test.pods}}
			}
		})
		k := r.keep(Limits{})
		if test.fails {
			k.choose = func(context.Context, *settings.Settings) (*members.Set, error) { return nil, errFailed }
		}
		err := k.usePresentMode(r.ctx, &model.LoadBalancer{ID: "lb"})
		if errors.Is(err, errFailed) != test.fails || k.in.Settings.Members.Mode != test.want || len(k.in.Members.Backends) != 2 {
			t.Errorf("%s: mode %q, error %v", name, k.in.Settings.Members.Mode, err)
		}
	}
}
