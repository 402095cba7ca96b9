package observe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// inherited is a cluster with load balancers of cloud-provider-openstack.
type inherited struct {
	t          *testing.T
	cloud      *recorded
	observer   *observe.Observer
	ClusterUID string        `json:"kube-system-uid"`
	Nodes      []*v1.Node    `json:"nodes"`
	Services   []*v1.Service `json:"services"`
}

var (
	zed   = model.Version{Major: 2, Minor: 26} // the recorded cloud; members come from the status tree
	today = model.Version{Major: 2, Minor: 30}
)

func inherit(t *testing.T, version model.Version) *inherited {
	t.Helper()
	in := &inherited{t: t, cloud: &recorded{}}
	readJSON(t, "openstack.json", in.cloud)
	readJSON(t, "kubernetes.json", in)
	in.observer = &observe.Observer{
		Octavia: in.cloud, Neutron: in.cloud,
		Version: func(context.Context) (model.Version, error) { return version, nil },
	}
	return in
}

func (in *inherited) service(name string) *v1.Service {
	in.t.Helper()
	i := slices.IndexFunc(in.Services, func(svc *v1.Service) bool { return svc.Name == name })
	if i < 0 {
		in.t.Fatalf("no Service %s", name)
	}
	return in.Services[i]
}

func (in *inherited) identity(svc *v1.Service) ownership.Identity {
	return ownership.Identity{
		ClusterName: "rig", ClusterID: in.ClusterUID, ServiceUID: string(svc.UID), Namespace: svc.Namespace, Service: svc.Name,
	}
}

// hints are the Service's annotation, its address, or both.
func hints(svc *v1.Service, byAnnotation, byAddress bool) observe.Hints {
	h := observe.Hints{Place: func(context.Context) (ownership.Place, error) {
		return ownership.Place{Subnets: []string{"2ed11690-351f-4645-83b6-eeaa1de46fbe"}}, nil // subnet-id of its cloud.conf
	}}
	if byAnnotation {
		h.LoadBalancerID = svc.Annotations[annotation.LoadBalancerID]
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if byAddress {
			h.Addresses = append(h.Addresses, ingress.IP)
		}
	}
	return h
}

// adopt finds and reads the load balancer of a Service.
func (in *inherited) adopt(svc *v1.Service) *model.LoadBalancer {
	in.t.Helper()
	id := in.identity(svc)
	found, err := in.observer.Find(in.t.Context(), id, hints(svc, true, true))
	if err != nil || len(found.LoadBalancers) != 1 {
		in.t.Fatalf("%s: found %v, error %v", svc.Name, found, err)
	}
	lb, err := in.observer.Contents(in.t.Context(), found.As, found.LoadBalancers[0])
	if err != nil {
		in.t.Fatal(err)
	}
	observed := &model.Observed{LoadBalancer: lb}
	if err := in.observer.FloatingIPs(in.t.Context(), id, observed, observe.FloatingIPHints{}); err != nil {
		in.t.Fatal(err)
	}
	return lb
}

func TestAdoption_NeedsProof(t *testing.T) {
	t.Parallel()
	in := inherit(t, zed)
	for _, name := range []string{"web-1", "local", "dns"} {
		svc := in.service(name)
		for _, test := range []struct {
			annotation, address bool
			found               int
		}{{true, false, 1}, {false, true, 1}, {true, true, 1}, {false, false, 0}} {
			all, err := in.observer.Find(t.Context(), in.identity(svc), hints(svc, test.annotation, test.address))
			found := all.LoadBalancers
			if err != nil || len(found) != test.found {
				t.Errorf("%s with %+v: found %d, error %v", name, test, len(found), err)
			}
			if len(found) == 1 && found[0].ID != svc.Annotations[annotation.LoadBalancerID] {
				t.Errorf("%s: found %s", name, found[0].ID)
			}
		}
	}
}

func TestAdoption_FindsOurListenersOnLoadBalancerOfAnotherService(t *testing.T) {
	t.Parallel()
	in := inherit(t, zed)
	svc := in.service("web-shared")
	lb := in.adopt(svc)
	if len(lb.Listeners) != 1 || lb.Listeners[0].Port != 8080 || len(lb.Foreign) != 3 || lb.Shared == nil || !lb.Shared.Removable {
		t.Errorf("%d listeners of ours, %d of others, shared %v", len(lb.Listeners), len(lb.Foreign), lb.Shared)
	}
	// Another cluster's Service of the same name would have the same names, but not the address.
	found, err := in.observer.Find(t.Context(), in.identity(svc), hints(svc, true, false))
	if err != nil || len(found.LoadBalancers) != 1 {
		t.Fatalf("found %v, error %v", found, err)
	}
	stranger, err := in.observer.Contents(t.Context(), found.As, found.LoadBalancers[0])
	if err != nil || len(stranger.Listeners) > 0 || len(stranger.Foreign) != 4 {
		t.Errorf("without its address: %d listeners, %d of others, error %v", len(stranger.Listeners), len(stranger.Foreign), err)
	}
	if found, err := in.observer.Find(t.Context(), in.identity(svc), hints(svc, false, true)); len(found.LoadBalancers) > 0 || err != nil {
		t.Errorf("by the address that it shares: found %v, error %v", found, err)
	}
}

func TestAdoption_TakesOnlyOurPartOfSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	in := inherit(t, zed)
	lb := in.adopt(in.service("web-1"))
	var ours []string
	for _, l := range lb.Listeners {
		monitor := "none"
		if l.Pool.Monitor != nil {
			monitor = l.Pool.Monitor.Name + " " + l.Pool.Monitor.Type
		}
		ours = append(ours, fmt.Sprintf("%s %s, %s, monitor %s, %d members", l.Key(), l.Name, l.Pool.Name, monitor, l.Pool.Members.Len()))
	}
	const name = "kube_service_rig_default_web-1"
	want := []string{
		"TCP/81 listener_0_" + name + ", pool_0_" + name + ", monitor monitor_0_" + name + " TCP, 3 members",
		"TCP/82 listener_1_" + name + ", pool_1_" + name + ", monitor monitor_1_" + name + " TCP, 3 members",
		"TCP/83 listener_2_" + name + ", pool_2_" + name + ", monitor monitor_2_" + name + " TCP, 3 members",
	}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Error(diff)
	}
	foreign := []model.Foreign{{
		Kind: "listener", Name: "listener_0_kube_service_rig_default_web-shared", Key: model.ListenerKey{Transport: model.TCP, Port: 8080},
		Monitored: model.TCP,
	}}
	if diff := cmp.Diff(foreign, lb.Foreign, cmpopts.IgnoreFields(model.Foreign{}, "ID", "Service")); diff != "" {
		t.Error(diff)
	}
	if len(lb.Orphans) > 0 {
		t.Errorf("orphans %v: the other Service's pool is used by its listener", lb.Orphans)
	}
}

func TestAdoption_ReadsAllOfLocalService(t *testing.T) {
	t.Parallel()
	in := inherit(t, zed)
	lb := in.adopt(in.service("local"))
	l := lb.Listeners[0]
	if diff := cmp.Diff([]string{"192.0.2.0/24"}, l.AllowedCIDRs); diff != "" {
		t.Error(diff)
	}
	want := model.Monitor{Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3, HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200"}
	got := *l.Pool.Monitor
	got.ID, got.Name, got.Tags, got.Status = "", "", nil, model.Status{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var members []string
	for _, m := range l.Pool.Members.All() {
		members = append(members, fmt.Sprintf("%s %s:%d monitor_port %d drained %v %s", m.Name, m.Address, m.Port, m.MonitorPort, m.Drained || m.AdminDown || m.Backup, m.Status.Provisioning))
	}
	if diff := cmp.Diff([]string{
		"node-2 10.6.0.119:31392 monitor_port 30451 drained false ACTIVE",
		"node-1 10.6.2.172:31392 monitor_port 30451 drained false ACTIVE",
		"node-3 10.6.2.20:31392 monitor_port 30451 drained false ACTIVE",
	}, members); diff != "" {
		t.Error(diff)
	}
	if fip := lb.FloatingIP; fip == nil || fip.Address != "172.24.5.167" || !fip.Owned {
		t.Errorf("floating IP %+v: cloud-provider-openstack's on our own VIP is ours", fip)
	}
}

// Only the subnets differ: the status tree does not have them.
func TestContents_AreSameFromListsAndStatusTree(t *testing.T) {
	t.Parallel()
	atHome := cmpopts.IgnoreFields(model.Member{}, "SubnetID", "SubnetUnknown")
	old, recent := inherit(t, zed), inherit(t, today)
	for _, name := range []string{"web-1", "local", "dns"} {
		listed, sampled := recent.adopt(recent.service(name)), old.adopt(old.service(name))
		if diff := cmp.Diff(listed, sampled, atHome); diff != "" {
			t.Errorf("%s: the status tree gives something else than the lists of members: %s", name, diff)
		}
		for _, l := range sampled.Listeners {
			for _, m := range l.Pool.Members.All() {
				want := listed.Listener(l.Key()).Pool.Members
				if at, is := want.Find(m.Key()); !m.SubnetUnknown && (!is || want.Kind(at).SubnetID != m.SubnetID) {
					t.Errorf("%s: member %+v has another's subnet", name, m)
				}
			}
		}
	}
}

// TestAdoption_RewritesNothing holds that the migration writes nothing.
func TestAdoption_RewritesNothing(t *testing.T) {
	t.Parallel()
	in := inherit(t, zed)
	seconds := func(n int) config.Duration { return config.Duration{Duration: time.Duration(n) * time.Second} }
	cfg := &config.Config{LoadBalancer: config.LoadBalancer{
		LBProvider: "amphora", LBMethod: "ROUND_ROBIN", SubnetID: "2ed11690-351f-4645-83b6-eeaa1de46fbe",
		NetworkID: "80cd4066-8214-4763-9fe6-0bc7b21bb876", FloatingNetworkID: "4a0b0e54-df5a-4bb7-9619-2cb0aa98e37b",
		CreateMonitor: true, MonitorDelay: seconds(5), MonitorTimeout: seconds(3), MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
	}}
	for _, name := range []string{"web-1", "local", "dns"} {
		svc := in.service(name)
		s, notices, errs := fixture.Parse(t, svc, cfg)
		if len(errs) > 0 || len(notices) > 0 {
			t.Fatalf("%s: errors %v, notices %v", name, errs, notices)
		}
		drv := driver.Of("amphora", zed)
		if errs := s.For(drv).Validate(); len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		selected, err := new(members.Selector).Select(s, in.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		facts := desire.Facts{Driver: drv, VIPSubnetID: s.VIP.SubnetID, VIPNetworkID: s.VIP.NetworkID}
		desired := desire.LoadBalancer(in.identity(svc), s, selected.InAll(s), facts)
		todo := plan.Diff(desired, model.Observed{LoadBalancer: in.adopt(svc)}, plan.Options{Published: true})
		if !todo.Empty() || len(todo.Notices)+len(todo.Retained) > 0 {
			t.Errorf("%s:\n%s%v", name, todo, todo.Notices)
		}
	}
}
