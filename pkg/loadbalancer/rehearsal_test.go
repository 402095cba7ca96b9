package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

func TestPreview_ShowsWhatEachStepDoes(t *testing.T) {
	t.Parallel()
	members := func(addresses ...string) model.Members {
		var all []model.Member
		for _, address := range addresses {
			all = append(all, model.Member{Address: address, Port: 30080})
		}
		return model.MembersOf(all...)
	}
	one := []model.Forwarding{{}}
	for name, test := range map[string]struct {
		step plan.Step
		want Action
	}{
		"a new listener":                {plan.CreateListener{}, Adds},
		"a listener":                    {plan.UpdateListener{}, Changes},
		"a deleted listener":            {plan.DeleteListener{}, Removes},
		"a new load balancer":           {plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}, Adds},
		"a deleted load balancer":       {plan.DeleteLoadBalancer{}, Removes},
		"a floating IP that moves":      {plan.MoveFloatingIP{}, Changes},
		"first forwardings":             {plan.SetForwardings{To: one}, Adds},
		"no forwardings any more":       {plan.SetForwardings{From: one}, Removes},
		"other forwardings":             {plan.SetForwardings{From: one, To: one}, Changes},
		"new members":                   {plan.SetMembers{Added: members("a")}, Adds},
		"members that leave":            {plan.SetMembers{Removed: members("a")}, Removes},
		"members that are changed":      {plan.SetMembers{Changed: members("a")}, Changes},
		"members that come and leave":   {plan.SetMembers{Added: members("a"), Removed: members("b")}, Changes},
		"members that come and change":  {plan.SetMembers{Added: members("a"), Changed: members("b")}, Changes},
		"members that leave and change": {plan.SetMembers{Removed: members("a"), Changed: members("b")}, Changes},
		"members that are set again":    {plan.SetMembers{}, Changes},
	} {
		if got := actionOf(test.step); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	for want, steps := range map[Action][]securitygroup.Step{
		Adds:    {securitygroup.CreateGroup{}, securitygroup.AddRules{}, securitygroup.JoinPorts{}},
		Removes: {securitygroup.DeleteRules{}, securitygroup.LeavePorts{}, securitygroup.DeleteGroup{}, securitygroup.LeaveShared{}},
		Changes: {securitygroup.TagGroup{}},
	} {
		for _, step := range steps {
			if got := groupActionOf(step); got != want {
				t.Errorf("%T: %s, want %s", step, got, want)
			}
		}
	}
}

// Traffic is interrupted only where there is some.
func TestPreview_ShowsPausesOfServicesThatServe(t *testing.T) {
	t.Parallel()
	steps := []plan.Step{plan.FailOver{ID: "lb"}, plan.DisassociateFloatingIP{ID: "fip", Address: "203.0.113.7"}}
	for serves, want := range map[bool]string{true: "all ports, while the provider rebuilds it", false: ""} {
		r := &rehearsal{serves: serves}
		r.changes(steps, []int{1, 2}, model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", Adopted: serves}})
		r.changes(nil, nil, model.Observed{})
		wanted := []PreviewStep{
			{Action: Changes, Text: steps[0].String(), Writes: 1, Pending: true, Pauses: want}, {Action: Changes, Text: steps[1].String(), Writes: 2},
		}
		if diff := cmp.Diff(wanted, r.steps); diff != "" || r.adopted != serves {
			t.Errorf("serves %v, adopted %v: %s", serves, r.adopted, diff)
		}
	}
}

func TestPreview_ShowsStepsOfSecurityGroupsAndEventsOnce(t *testing.T) {
	t.Parallel()
	r := &rehearsal{}
	create, leave := securitygroup.CreateGroup{Name: "a"}, securitygroup.LeavePorts{Name: "a", Ports: []securitygroup.NodePort{{Node: "node-1"}, {Node: "node-2"}}}
	r.groupSteps([]securitygroup.Step{create, leave})
	r.groupSteps([]securitygroup.Step{leave, securitygroup.CreateGroup{Name: "b"}})
	want := []PreviewStep{
		{Action: Adds, Text: "security group a: create", Writes: securitygroup.Writes(create)}, {Action: Removes, Text: leave.String(), Writes: securitygroup.Writes(leave)},
		{Action: Adds, Text: "security group b: create", Writes: securitygroup.Writes(create)},
	}
	if diff := cmp.Diff(want, r.steps); diff != "" {
		t.Error(diff)
	}
	for _, why := range []reason.Reason{reason.Changing, reason.Ready, reason.AddressChanged, reason.Invalid, reason.Invalid} {
		r.Eventf(nil, "", string(why), "%s", "text")
	}
	r.AnnotatedEventf(nil, nil, "", string(reason.Conflict), "%s", "text")
	if want := []PreviewNote{{Reason: reason.Invalid, Text: "text"}, {Reason: reason.Conflict, Text: "text"}}; !slices.Equal(r.notes, want) {
		t.Errorf("notes %+v, want %+v", r.notes, want)
	}
	if m := (unsent{}); m.Warn("", "", "") || !m.Warn("", "", "text") || !m.Announce("", "", "") {
		t.Error("a warning or a change of a preview is not shown")
	}
}

// A Service that waits for the load balancer of its share has its steps then.
func TestPreview_ShowsWhatAJoiningServiceAdds(t *testing.T) {
	t.Parallel()
	svc := &v1.Service{Spec: v1.ServiceSpec{Ports: make([]v1.ServicePort, 3)}}
	r := &rehearsal{}
	for _, err := range []error{nil, errors.New("broken")} {
		if r.joins(svc, err) || len(r.steps) > 0 {
			t.Errorf("error %v: steps %+v", err, r.steps)
		}
	}
	waits := &goal.WaitsError{Share: "edge", Creator: "web"}
	if !r.joins(svc, errors.Join(waits)) {
		t.Error("it does not join")
	}
	want := []PreviewStep{{Action: Adds, Text: `a listener and a pool for each port: the load balancer of share "edge" is created for Service web first`, Writes: 6, Pending: true}}
	if diff := cmp.Diff(want, r.steps); diff != "" {
		t.Error(diff)
	}
}

// brokenNeutron answers no request.
type brokenNeutron struct{ securitygroup.Neutron }

var errNeutron = errors.New("no answer of Neutron")

func (brokenNeutron) SecurityGroupsNamed(context.Context, string) ([]neutron.SecurityGroup, error) {
	return nil, errNeutron
}

func (brokenNeutron) SecurityGroupNames(context.Context) ([]neutron.SecurityGroup, error) {
	return nil, errNeutron
}

func (brokenNeutron) AllSecurityGroups(context.Context) ([]neutron.SecurityGroup, error) {
	return nil, errNeutron
}

func (brokenNeutron) SecurityGroups(context.Context, []string) ([]neutron.SecurityGroup, error) {
	return nil, errNeutron
}

// A preview that misses the security groups of a deletion would promise too little.
func TestPreview_FailsWithoutTheSecurityGroupsOfADeletion(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(state.Unsettled{}.Since)
	store := state.New(clock, nil)
	groups := securitygroup.New(brokenNeutron{}, nil, state.SecurityGroups{Store: store}, clock, securitygroup.PerService)
	r := &rehearsal{}
	id := ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
	if err := (rehearsedGroups{groups, r}).Remove(t.Context(), id); !errors.Is(err, errNeutron) || len(r.steps) > 0 {
		t.Errorf("error %v, steps %+v", err, r.steps)
	}
}

// kube-proxy serves the live version of a refused Service on the nodes already.
func TestLastGood_HasNodePortsOfTheLiveVersion(t *testing.T) {
	t.Parallel()
	port := func(name string, protocol v1.Protocol, number, nodePort int32) v1.ServicePort {
		return v1.ServicePort{Name: name, Protocol: protocol, Port: number, NodePort: nodePort}
	}
	const tcp, udp = v1.ProtocolTCP, v1.ProtocolUDP
	for name, test := range map[string]struct {
		accepted, live []v1.ServicePort
		want           []int32
	}{
		"the same":                          {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("a", tcp, 80, 1)}, []int32{1}},
		"another NodePort":                  {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("a", tcp, 80, 2)}, []int32{2}},
		"no NodePort":                       {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("a", tcp, 80, 0)}, []int32{1}},
		"renamed":                           {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("b", tcp, 80, 2)}, []int32{2}},
		"another number":                    {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("a", tcp, 81, 2)}, []int32{2}},
		"another protocol":                  {[]v1.ServicePort{port("a", tcp, 80, 1)}, []v1.ServicePort{port("a", udp, 80, 2)}, []int32{1}},
		"removed":                           {[]v1.ServicePort{port("a", tcp, 80, 1), port("b", tcp, 81, 2)}, []v1.ServicePort{port("b", tcp, 81, 3)}, []int32{1, 3}},
		"the name has gone to another port": {[]v1.ServicePort{port("a", tcp, 80, 1), port("b", tcp, 81, 2)}, []v1.ServicePort{port("a", tcp, 81, 3)}, []int32{1, 3}},
		"in another order":                  {[]v1.ServicePort{port("a", tcp, 80, 1), port("b", tcp, 81, 2)}, []v1.ServicePort{port("b", tcp, 81, 4), port("a", tcp, 80, 3)}, []int32{3, 4}},
	} {
		accepted, live := &v1.Service{Spec: v1.ServiceSpec{Ports: test.accepted}}, &v1.Service{Spec: v1.ServiceSpec{Ports: test.live}}
		accepted.Annotations = map[string]string{"a": "accepted"}
		live.Annotations, live.Spec.ExternalTrafficPolicy, live.Spec.HealthCheckNodePort = map[string]string{"a": "live"}, v1.ServiceExternalTrafficPolicyLocal, 9
		live.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
		good := lastGood(accepted, live)
		var got []int32
		for i, p := range good.Spec.Ports {
			if got = append(got, p.NodePort); p.Port != test.accepted[i].Port || p.Name != test.accepted[i].Name {
				t.Errorf("%s: port %+v", name, p)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: NodePorts %v, want %v", name, got, test.want)
		}
		if good.Annotations["a"] != "accepted" || good.Spec.ExternalTrafficPolicy != v1.ServiceExternalTrafficPolicyLocal || good.Spec.HealthCheckNodePort != 9 || len(good.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("%s: %+v", name, good)
		}
	}
}
