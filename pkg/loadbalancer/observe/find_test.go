package observe_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// TestFind goes through what proves that a load balancer is ours, and what does
// not. Each row starts with an empty cloud.
func TestFind(t *testing.T) {
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
		setUp func(*world) (found lbs, hints observe.Hints)
	}{
		{"nothing is there", func(*world) (lbs, observe.Hints) { return nil, none }},
		{"tagged as ours", func(w *world) (lbs, observe.Hints) { return lbs{w.ours(us())}, none }},
		{"tagged as ours, and named", func(w *world) (lbs, observe.Hints) { lb := w.ours(us()); return lbs{lb}, named(lb) }},
		{"tagged as ours under another name", func(w *world) (lbs, observe.Hints) {
			return lbs{w.balancer("renamed by hand", "", us().Tags())}, none
		}},
		{"tagged as ours, while the named one is gone", func(w *world) (lbs, observe.Hints) {
			return lbs{w.ours(us())}, observe.Hints{LoadBalancerID: gone}
		}},
		{"the named one is gone", func(*world) (lbs, observe.Hints) { return nil, observe.Hints{LoadBalancerID: gone} }},
		{"two tagged as ours", func(w *world) (lbs, observe.Hints) { return lbs{w.ours(us()), w.ours(us())}, none }},
		{"ours beside that of another cluster", func(w *world) (lbs, observe.Hints) { w.ours(another()); return lbs{w.ours(us())}, none }},
		{"that of another cluster only", func(w *world) (lbs, observe.Hints) { w.ours(another()); return nil, none }},
		{"that of another cluster, at the published address", func(w *world) (lbs, observe.Hints) {
			return nil, published(w.ours(another()).VipAddress)
		}},
		{"that of the cluster restored from our backup", func(w *world) (lbs, observe.Hints) {
			return nil, published(w.ours(restored).VipAddress)
		}},
		{"our name only", func(w *world) (lbs, observe.Hints) { w.legacy(us()); return nil, none }},
		{"our name at another address", func(w *world) (lbs, observe.Hints) { w.legacy(us()); return nil, published("192.0.2.1") }},
		{"our name at the published address", func(w *world) (lbs, observe.Hints) {
			lb := w.legacy(us())
			return lbs{lb}, published(lb.VipAddress)
		}},
		{"our name at the published floating IP", func(w *world) (lbs, observe.Hints) {
			w.legacy(us())
			lb := w.legacy(us())
			return lbs{lb}, published(w.floatingIP("", lb.VipPortID).FloatingIP)
		}},
		{"another name at the published address", func(w *world) (lbs, observe.Hints) {
			return nil, published(w.legacy(renamed).VipAddress)
		}},
		{"our name without tags, at the published address", func(w *world) (lbs, observe.Hints) {
			lb := w.balancer(us().Name(), "", nil)
			return lbs{lb}, published(lb.VipAddress)
		}},
		{"ours, in the place of one that another cluster has made", func(w *world) (lbs, observe.Hints) {
			theirs := w.ours(another())
			return lbs{w.balancer(us().Name(), "", append(us().Tags(), ownership.ReplacesTag(theirs.ID, "x")))}, none
		}},
		{"ours, in the place of one that cloud-provider-openstack has made", func(w *world) (lbs, observe.Hints) {
			old := w.legacy(us())
			return lbs{w.balancer(us().Name(), "", append(us().Tags(), ownership.ReplacesTag(old.ID, "x"))), old}, none
		}},
		{"our name at the published address, in a network that is not ours", func(w *world) (lbs, observe.Hints) {
			lb := w.legacy(us())
			hints := published(lb.VipAddress)
			hints.Place = func(context.Context) (ownership.Place, error) {
				return ownership.Place{Subnets: []string{"another"}}, nil
			}
			hints.LoadBalancerID = gone // ours was another one
			return nil, hints
		}},
		{"our name, and remembered", func(w *world) (lbs, observe.Hints) {
			lb := w.legacy(us())
			return lbs{lb}, observe.Hints{Remembered: lb.ID}
		}},
		{"our name, and written down", func(w *world) (lbs, observe.Hints) { return nil, observe.Hints{Written: w.legacy(us()).ID} }},
		{"another's, and remembered", func(w *world) (lbs, observe.Hints) { return nil, observe.Hints{Remembered: w.ours(another()).ID} }},
		{"our name, and named", func(w *world) (lbs, observe.Hints) { lb := w.legacy(us()); return lbs{lb}, named(lb) }},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			want, hints := test.setUp(w)
			var ids []string
			for _, lb := range want {
				ids = append(ids, lb.ID)
			}
			got, err := w.find(us(), hints)
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

func TestWhatTheServiceNamesIsSharedWhereItIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	other := us()
	other.Service, other.ServiceUID = "other", "another-service"
	for what, test := range map[string]struct {
		lb   *octavia.LoadBalancer
		want ownership.Sharing
	}{
		"another cluster's": {w.ours(another()), ownership.Sharing{Owner: ownership.Owner{
			ClusterID: another().ClusterID, ServiceUID: another().ServiceUID, ClusterName: "rig", Namespace: "default", Service: "web", Kubernetes: true,
		}}},
		"another Service's": {w.ours(other), ownership.Sharing{Removable: true, Owner: ownership.Owner{
			ClusterID: "our-cluster", ServiceUID: "another-service", ClusterName: "rig", Namespace: "default", Service: "other", Kubernetes: true,
		}}},
		"another Service's of another tool": {w.legacy(other), ownership.Sharing{Removable: true, Owner: ownership.Owner{
			ClusterName: "rig", Namespace: "default", Service: "other", Kubernetes: true,
		}}},
		"a person's": {w.balancer("my load balancer", "", []string{"production"}), ownership.Sharing{}},
	} {
		for _, served := range []bool{true, false} {
			hints := observe.Hints{LoadBalancerID: test.lb.ID}
			if served {
				hints.Addresses, hints.Place = []string{test.lb.VipAddress}, w.place
			}
			found, err := w.observer.Find(t.Context(), us(), hints)
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
func TestOursUnderAnEarlierClusterNameNeedsItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	before := us()
	before.ClusterName = "kubernetes"
	lb := w.legacy(before)
	for _, hints := range []observe.Hints{
		{Addresses: []string{lb.VipAddress}, Place: w.place},
		{Addresses: []string{lb.VipAddress}, Place: w.place, LoadBalancerID: lb.ID},
	} {
		found, err := w.observer.Find(t.Context(), us(), hints)
		if err != nil || len(found.LoadBalancers) != 1 || found.As.Former != lb.Name || found.As.Sharing.Is {
			t.Errorf("%+v: found %v, error %v", hints, found, err)
		}
		if !found.As.OwnsChild(before.ListenerName(0), []string{before.Name()}) || !found.As.OwnsChild(before.PoolName(0), nil) {
			t.Error("its listeners and pools are not ours")
		}
	}
	// Another cluster's Service of that name has such a load balancer too.
	_, err := w.find(us(), observe.Hints{LoadBalancerID: lb.ID})
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) || notOurs.ID != lb.ID || notOurs.Name != lb.Name || notOurs.Why == "" {
		t.Errorf("by its ID alone: error %v", err)
	}
}

func TestOursFromTheProviderInsideOfKubernetesIsFoundByItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	id := us()
	id.ServiceUID = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
	lb := w.balancer("a83edf9cb240e4ea18c1428551499e9b", "", nil)
	for _, hints := range []observe.Hints{{Addresses: []string{lb.VipAddress}}, {LoadBalancerID: lb.ID}} {
		if found, err := w.find(id, hints); err != nil || !slices.Equal(found, []string{lb.ID}) {
			t.Errorf("%+v: found %v, error %v", hints, found, err)
		}
	}
	if !id.OwnsChild("listener_a83edf9cb240e4ea18c1428551499e9b_0", nil) {
		t.Error("its listener is not ours")
	}
}

func TestOursIsFoundWithOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.ours(us())
	w.legacy(us())
	for _, test := range []struct {
		hints observe.Hints
		want  map[string]int
	}{
		{observe.Hints{Addresses: []string{lb.VipAddress}}, map[string]int{lbaas + "loadbalancers": 1}},
		{observe.Hints{LoadBalancerID: lb.ID}, map[string]int{lbaas + "loadbalancers": 1}},
	} {
		w.cloud.Books.Reset()
		if found, err := w.find(us(), test.hints); err != nil || len(found) != 1 {
			t.Errorf("found %v, error %v", found, err)
		}
		if diff := cmp.Diff(test.want, w.reads()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFindByDescriptionWhereThereAreNoTags(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	untagged := func(id ownership.Identity) ownership.Identity { id.Untagged = true; return id }
	lb := w.ours(untagged(us()))
	foreign := w.ours(untagged(another()))
	if got, err := w.find(untagged(us()), observe.Hints{}); err != nil || !slices.Equal(got, []string{lb.ID}) {
		t.Errorf("found %v, error %v, want %s", got, err, lb.ID)
	}
	_, err := w.find(untagged(us()), observe.Hints{LoadBalancerID: foreign.ID})
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) {
		t.Errorf("another cluster's: error %v", err)
	}
}

// Its description holds the name of the cluster.
//
//proves:67
func TestOursIsFoundUnderAnEarlierClusterNameWhereThereAreNoTags(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	id := us()
	id.Untagged = true
	before := id
	before.ClusterName = "kubernetes"
	theirs := another()
	theirs.Untagged = true
	w.ours(theirs)
	lb := w.ours(before)
	if got, err := w.find(id, observe.Hints{}); err != nil || !slices.Equal(got, []string{lb.ID}) {
		t.Errorf("found %v, error %v, want %s", got, err, lb.ID)
	}
}

// Two subnets of ours can have one range: which of two load balancers is meant, nobody
// can tell.
func TestAnAddressThatTwoLoadBalancersHaveIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	network := w.cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ProjectID: w.cloud.Account.ProjectID, Name: "second"})
	second, err := w.cloud.Neutron.AddSubnet(simneutron.SubnetSpec{ProjectID: w.cloud.Account.ProjectID, NetworkID: network.ID, CIDR: w.cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	lb := w.legacy(us())
	w.balancer(us().Name(), "", nil, func(opts *loadbalancers.CreateOpts) { opts.VipSubnetID, opts.VipAddress = second.ID, lb.VipAddress })
	place := ownership.Place{Subnets: []string{w.cloud.Subnet.ID}, Networks: []string{network.ID}}
	hints := observe.Hints{Addresses: []string{lb.VipAddress}, Place: func(context.Context) (ownership.Place, error) { return place, nil }}
	found, err := w.find(us(), hints)
	var notOurs *observe.NotOursError
	if !errors.As(err, &notOurs) || len(found) > 0 || !strings.Contains(err.Error(), "2 load balancers") || !strings.Contains(err.Error(), "load-balancer-id") {
		t.Errorf("found %v, error %v", found, err)
	}
	place.Networks = nil
	if found, err := w.find(us(), hints); err != nil || !slices.Equal(found, []string{lb.ID}) {
		t.Errorf("with one of them in our networks: found %v, error %v", found, err)
	}
}

func TestNoAnswerIsNotTakenForNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ what, route string }{
		{"the list", lbaas + "loadbalancers"},
		{"the named one", lbaas + "loadbalancers/{id}"},
		{"floating IPs", "/network/v2.0/floatingips"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			lb := w.legacy(us())
			hints := observe.Hints{Addresses: []string{"192.0.2.1"}}
			if test.what == "the named one" {
				hints.LoadBalancerID = lb.ID
			}
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: test.route, Status: http.StatusForbidden})
			if found, err := w.find(us(), hints); !apierror.IsForbidden(err) {
				t.Errorf("found %v, error %v", found, err)
			}
		})
	}
}

// TestA404OfAProxyIsNotTakenForGone: it has neither a request ID nor Octavia's words.
func TestA404OfAProxyIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.legacy(us())
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "loadbalancers/{id}", Status: http.StatusNotFound, Body: "<html>"})
	if found, err := w.find(us(), observe.Hints{LoadBalancerID: lb.ID}); err == nil {
		t.Errorf("found %v and no error", found)
	}
}
