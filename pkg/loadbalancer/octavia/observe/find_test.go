package observe_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// TestFind_ReturnsOnlyWhatIsProvenOurs covers the proofs of ownership, and their absence. Each row
// starts with an empty cloud.
func TestFind_ReturnsOnlyWhatIsProvenOurs(t *testing.T) {
	t.Parallel()
	const gone = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	named := func(lb *octavia.LoadBalancer) observe.Hints { return observe.Hints{LoadBalancerID: lb.ID} }
	published := func(address string) observe.Hints { return observe.Hints{Addresses: []string{address}} }
	none := observe.Hints{}
	restored := us() // a cluster restored from our backup: the same Service in another cluster
	restored.ClusterID = "other-cluster"
	renamed := us()
	renamed.Service = "other"
	type lbs = []*octavia.LoadBalancer
	for _, test := range []struct {
		what  string
		setUp func(*environment) (found lbs, hints observe.Hints)
	}{
		{"nothing is there", func(*environment) (lbs, observe.Hints) { return nil, none }},
		{"tagged as ours", func(env *environment) (lbs, observe.Hints) { return lbs{env.ours(us())}, none }},
		{"tagged as ours, and named", func(env *environment) (lbs, observe.Hints) { lb := env.ours(us()); return lbs{lb}, named(lb) }},
		{"tagged as ours under another name", func(env *environment) (lbs, observe.Hints) {
			return lbs{env.balancer("renamed by hand", "", us().Tags())}, none
		}},
		{"tagged as ours, while the named one is gone", func(env *environment) (lbs, observe.Hints) {
			return lbs{env.ours(us())}, observe.Hints{LoadBalancerID: gone}
		}},
		{"the named one is gone", func(*environment) (lbs, observe.Hints) { return nil, observe.Hints{LoadBalancerID: gone} }},
		{"two tagged as ours", func(env *environment) (lbs, observe.Hints) { return lbs{env.ours(us()), env.ours(us())}, none }},
		{"ours beside that of another cluster", func(env *environment) (lbs, observe.Hints) { env.ours(another()); return lbs{env.ours(us())}, none }},
		{"that of another cluster only", func(env *environment) (lbs, observe.Hints) { env.ours(another()); return nil, none }},
		{"that of another cluster, at the published address", func(env *environment) (lbs, observe.Hints) {
			return nil, published(env.ours(another()).VIPAddress)
		}},
		{"that of the cluster restored from our backup", func(env *environment) (lbs, observe.Hints) {
			return nil, published(env.ours(restored).VIPAddress)
		}},
		{"our name only", func(env *environment) (lbs, observe.Hints) { env.legacy(us()); return nil, none }},
		{"our name at another address", func(env *environment) (lbs, observe.Hints) { env.legacy(us()); return nil, published("192.0.2.1") }},
		{"our name at the published address", func(env *environment) (lbs, observe.Hints) {
			lb := env.legacy(us())
			return lbs{lb}, published(lb.VIPAddress)
		}},
		{"our name at the published floating IP", func(env *environment) (lbs, observe.Hints) {
			env.legacy(us())
			lb := env.legacy(us())
			return lbs{lb}, published(env.floatingIP("", lb.VIPPortID).FloatingIP)
		}},
		{"another name at the published address", func(env *environment) (lbs, observe.Hints) {
			return nil, published(env.legacy(renamed).VIPAddress)
		}},
		{"our name without tags, at the published address", func(env *environment) (lbs, observe.Hints) {
			lb := env.balancer(us().Name(), "", nil)
			return lbs{lb}, published(lb.VIPAddress)
		}},
		{"ours, in the place of one that another cluster has made", func(env *environment) (lbs, observe.Hints) {
			theirs := env.ours(another())
			return lbs{env.balancer(us().Name(), "", append(us().Tags(), ownership.ReplacesTag(theirs.ID, "x")))}, none
		}},
		{"ours, in the place of one that cloud-provider-openstack has made", func(env *environment) (lbs, observe.Hints) {
			old := env.legacy(us())
			return lbs{env.balancer(us().Name(), "", append(us().Tags(), ownership.ReplacesTag(old.ID, "x"))), old}, none
		}},
		{"our name at the published address, in a network that is not ours", func(env *environment) (lbs, observe.Hints) {
			lb := env.legacy(us())
			hints := published(lb.VIPAddress)
			hints.Place = func(context.Context) (ownership.Place, error) {
				return ownership.Place{Subnets: []string{"another"}}, nil
			}
			hints.LoadBalancerID = gone // ours was another one
			return nil, hints
		}},
		{"our name, and remembered", func(env *environment) (lbs, observe.Hints) {
			lb := env.legacy(us())
			return lbs{lb}, observe.Hints{Remembered: lb.ID}
		}},
		{"our name, and written down", func(env *environment) (lbs, observe.Hints) { return nil, observe.Hints{Written: env.legacy(us()).ID} }},
		{"another's, and remembered", func(env *environment) (lbs, observe.Hints) {
			return nil, observe.Hints{Remembered: env.ours(another()).ID}
		}},
		{"our name, and named", func(env *environment) (lbs, observe.Hints) { lb := env.legacy(us()); return lbs{lb}, named(lb) }},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "")
			want, hints := test.setUp(env)
			var ids []string
			for _, lb := range want {
				ids = append(ids, lb.ID)
			}
			got, err := env.find(us(), hints)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(ids)
			slices.Sort(got)
			if diff := cmp.Diff(ids, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFind_SharesNamedLoadBalancerOfAnotherOwner(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	other := us()
	other.Service, other.ServiceUID = "other", "another-service"
	for what, test := range map[string]struct {
		lb   *octavia.LoadBalancer
		want ownership.Sharing
	}{
		"another cluster's": {env.ours(another()), ownership.Sharing{Owner: ownership.Owner{
			ClusterID: another().ClusterID, ServiceUID: another().ServiceUID, ClusterName: "rig", Namespace: "default", Service: "web", Kubernetes: true,
		}}},
		"another Service's": {env.ours(other), ownership.Sharing{Removable: true, Owner: ownership.Owner{
			ClusterID: "our-cluster", ServiceUID: "another-service", ClusterName: "rig", Namespace: "default", Service: "other", Kubernetes: true,
		}}},
		"another Service's of another tool": {env.legacy(other), ownership.Sharing{Removable: true, Owner: ownership.Owner{
			ClusterName: "rig", Namespace: "default", Service: "other", Kubernetes: true,
		}}},
		"a person's": {env.balancer("my load balancer", "", []string{"production"}), ownership.Sharing{}},
	} {
		for _, served := range []bool{true, false} {
			hints := observe.Hints{LoadBalancerID: test.lb.ID}
			if served {
				hints.Addresses, hints.Place = []string{test.lb.VIPAddress}, env.place
			}
			found, err := env.observer.Find(t.Context(), us(), hints)
			if err != nil || len(found.LoadBalancers) != 1 || found.LoadBalancers[0].ID != test.lb.ID {
				t.Errorf("%s: found %v, error %v", what, found.LoadBalancers, err)
			}
			want := test.want
			want.Is, want.Served = true, served
			if diff := cmp.Diff(want, found.As.Sharing); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
	}
}

//proves:67
func TestFind_NeedsAddressForOursOfEarlierClusterName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	before := us()
	before.ClusterName = "kubernetes"
	lb := env.legacy(before)
	for _, hints := range []observe.Hints{
		{Addresses: []string{lb.VIPAddress}, Place: env.place},
		{Addresses: []string{lb.VIPAddress}, Place: env.place, LoadBalancerID: lb.ID},
	} {
		found, err := env.observer.Find(t.Context(), us(), hints)
		if err != nil || len(found.LoadBalancers) != 1 || found.As.Former != lb.Name || found.As.Sharing.Is {
			t.Errorf("%+v: found %v, error %v", hints, found, err)
		}
		if !found.As.OwnsChild(before.ListenerName(0), []string{before.Name()}) || !found.As.OwnsChild(before.PoolName(0), nil) {
			t.Error("its listeners and pools are not ours")
		}
	}
	// Another cluster's Service of that name has such a load balancer too.
	_, err := env.find(us(), observe.Hints{LoadBalancerID: lb.ID})
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) || notOurs.ID != lb.ID || notOurs.Why == "" {
		t.Errorf("by its ID alone: error %v", err)
	}
}

func TestFind_ReturnsOursOfInTreeProviderByAddressOrID(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	id := us()
	id.ServiceUID = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
	lb := env.balancer("a83edf9cb240e4ea18c1428551499e9b", "", nil)
	for _, hints := range []observe.Hints{{Addresses: []string{lb.VIPAddress}}, {LoadBalancerID: lb.ID}} {
		if found, err := env.find(id, hints); err != nil || !slices.Equal(found, []string{lb.ID}) {
			t.Errorf("%+v: found %v, error %v", hints, found, err)
		}
	}
	if !id.OwnsChild("listener_a83edf9cb240e4ea18c1428551499e9b_0", nil) {
		t.Error("its listener is not ours")
	}
}

func TestFind_CostsOneRequestForOurs(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.ours(us())
	env.legacy(us())
	for _, test := range []struct {
		hints observe.Hints
		want  map[string]int
	}{
		{observe.Hints{Addresses: []string{lb.VIPAddress}}, map[string]int{lbaas + "loadbalancers": 1}},
		{observe.Hints{LoadBalancerID: lb.ID}, map[string]int{lbaas + "loadbalancers": 1}},
	} {
		env.Cloud.RequestLog.Reset()
		if found, err := env.find(us(), test.hints); err != nil || len(found) != 1 {
			t.Errorf("found %v, error %v", found, err)
		}
		if diff := cmp.Diff(test.want, env.reads()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFind_GoesByDescriptionWithoutTags(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	untagged := func(id ownership.Identity) ownership.Identity { id.Untagged = true; return id }
	lb := env.ours(untagged(us()))
	foreign := env.ours(untagged(another()))
	if got, err := env.find(untagged(us()), observe.Hints{}); err != nil || !slices.Equal(got, []string{lb.ID}) {
		t.Errorf("found %v, error %v, want %s", got, err, lb.ID)
	}
	_, err := env.find(untagged(us()), observe.Hints{LoadBalancerID: foreign.ID})
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) {
		t.Errorf("another cluster's: error %v", err)
	}
}

// Its description holds the name of the cluster.
//
//proves:67
func TestFind_ReturnsOursOfEarlierClusterNameWithoutTags(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	id := us()
	id.Untagged = true
	before := id
	before.ClusterName = "kubernetes"
	theirs := another()
	theirs.Untagged = true
	env.ours(theirs)
	lb := env.ours(before)
	if got, err := env.find(id, observe.Hints{}); err != nil || !slices.Equal(got, []string{lb.ID}) {
		t.Errorf("found %v, error %v, want %s", got, err, lb.ID)
	}
}

// Two subnets of ours can have the same range: then the address does not identify the load
// balancer.
func TestFind_RefusesAddressOfTwoLoadBalancers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	network := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "second"})
	second, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: network.ID, CIDR: env.Cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	lb := env.legacy(us())
	env.balancer(us().Name(), "", nil, func(opts *octavia.LoadBalancer) { opts.VIPSubnetID, opts.VIPAddress = second.ID, lb.VIPAddress })
	place := ownership.Place{Subnets: []string{env.Cloud.Subnet.ID}, Networks: []string{network.ID}}
	hints := observe.Hints{Addresses: []string{lb.VIPAddress}, Place: func(context.Context) (ownership.Place, error) { return place, nil }}
	found, err := env.find(us(), hints)
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) || len(found) > 0 || !strings.Contains(err.Error(), "2 load balancers") || !strings.Contains(err.Error(), "load-balancer-id") {
		t.Errorf("found %v, error %v", found, err)
	}
	place.Networks = nil
	if found, err := env.find(us(), hints); err != nil || !slices.Equal(found, []string{lb.ID}) {
		t.Errorf("with one of them in our networks: found %v, error %v", found, err)
	}
}

func TestFind_FailsWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ what, route string }{
		{"the list", lbaas + "loadbalancers"},
		{"the named one", lbaas + "loadbalancers/{id}"},
		{"floating IPs", "/network/v2.0/floatingips"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "")
			lb := env.legacy(us())
			hints := observe.Hints{Addresses: []string{"192.0.2.1"}}
			if test.what == "the named one" {
				hints.LoadBalancerID = lb.ID
			}
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: test.route, Status: http.StatusForbidden})
			if found, err := env.find(us(), hints); !apierror.IsForbidden(err) {
				t.Errorf("found %v, error %v", found, err)
			}
		})
	}
}

// TestFind_FailsOn404OfProxy: it has neither a request ID nor Octavia's words.
func TestFind_FailsOn404OfProxy(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.legacy(us())
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "loadbalancers/{id}", Status: http.StatusNotFound, Body: "<html>"})
	if found, err := env.find(us(), observe.Hints{LoadBalancerID: lb.ID}); err == nil {
		t.Errorf("found %v and no error", found)
	}
}
