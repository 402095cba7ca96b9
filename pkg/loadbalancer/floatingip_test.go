package loadbalancer_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// legacyDescription is what cloud-provider-openstack gives the floating IP of the
// Service default/web, in every cluster of this name.
const legacyDescription = "Floating IP for Kubernetes external service default/web from cluster kubernetes"

// floatingIP adds a floating IP to the project, as its owner does.
func (w *world) floatingIP(address, description string, tags ...string) simneutron.FloatingIP {
	w.t.Helper()
	fip, err := w.cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: w.cloud.Account.ProjectID, NetworkID: w.cloud.ExternalNetwork.ID, Address: address, Description: description,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(tags) > 0 {
		if err := w.cloud.Neutron.TagFloatingIP(fip.ID, tags); err != nil {
			w.t.Fatal(err)
		}
	}
	return fip
}

// addresses gives the floating IPs of the project with the ports that they are on.
func (w *world) addresses() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, fip := range w.cloud.Neutron.FloatingIPs() {
		all[fip.Address] = fip.PortID
	}
	return all
}

// serves fails unless the Service has published this address, it leads to its load
// balancer, and these floating IPs are the only ones.
func (w *world) serves(svc *v1.Service, address string, others ...string) {
	w.t.Helper()
	if got := svc.Status.LoadBalancer.Ingress[0].IP; address != "" && got != address {
		w.t.Errorf("published %s, want %s", got, address)
	}
	all, address := w.addresses(), svc.Status.LoadBalancer.Ingress[0].IP
	if want := w.loadBalancer().VIP.PortID; all[address] != want {
		w.t.Errorf("floating IP %s is on port %q, want that of the VIP, %s", address, all[address], want)
	}
	delete(all, address)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(others))) {
		w.t.Errorf("other floating IPs %v, want %v", got, others)
	}
}

// Each way to name a floating IP is used for a Service that has another one already,
// and for one that is new.
//
//proves:18,19,20
func TestFloatingIPNamedByTheService(t *testing.T) {
	t.Parallel()
	const reserved = "127.200.7.7"
	for name, ask := range map[string]func(*v1.Service, simneutron.FloatingIP){
		"by address": func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Spec.LoadBalancerIP = fip.Address },
		"by ID":      func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Annotations[annotation.FloatingIPID] = fip.ID },
		"by tag":     func(svc *v1.Service, _ simneutron.FloatingIP) { svc.Annotations[annotation.FloatingIPTag] = "web" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: allAnnotations()})
			fip := w.floatingIP(reserved, "for the web", "web", "more")
			w.floatingIP("127.200.7.8", "another's", "db")
			nodes, svc := w.nodes(1), service("web", 1)
			w.ensure(svc, nodes)
			made := svc.Status.LoadBalancer.Ingress[0].IP

			w.cloud.Books.Reset()
			ask(svc, fip)
			w.ensure(svc, nodes)
			w.writes(3) // the old one off, this one on, the old one back to the pool
			w.serves(svc, reserved, "127.200.7.8")
			w.unchanged(svc, nodes)

			svc.Spec.LoadBalancerIP = ""
			delete(svc.Annotations, annotation.FloatingIPID)
			delete(svc.Annotations, annotation.FloatingIPTag)
			w.ensure(svc, nodes)
			w.serves(svc, reserved, "127.200.7.8") // any will do, and it has one

			w.delete(svc)
			if all := w.addresses(); len(all) != 2 || all[reserved] != "" {
				t.Errorf("floating IPs at the end: %v; %s was there before, and %s was ours", all, reserved, made)
			}
			again := service("again", 1)
			ask(again, fip)
			w.ensure(again, nodes)
			w.serves(again, reserved, "127.200.7.8")
			w.unchanged(again, nodes)
		})
	}
}

// A second Service asks for what the first one has.
//
//proves:18,19
func TestFloatingIPThatCannotBeHadIsRefusedBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: allAnnotations()})
	fip := w.floatingIP("127.200.7.7", "for the web", "web")
	nodes, first := w.nodes(1), service("first", 1)
	first.Annotations[annotation.FloatingIPID] = fip.ID
	w.ensure(first, nodes)
	w.cloud.Books.Reset()
	for what, ask := range map[string]struct {
		change func(*v1.Service)
		says   string
	}{
		"the address in use": {func(svc *v1.Service) { svc.Spec.LoadBalancerIP = fip.Address }, "spec.loadBalancerIP: the floating IP 127.200.7.7 is in use: choose another"},
		"the ID in use":      {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = fip.ID }, "the floating IP " + fip.ID + " is in use: choose another"},
		"no such ID":         {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = w.cloud.Network.ID }, "there is no floating IP " + w.cloud.Network.ID},
		"none free":          {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPTag] = "web" }, `none of 1 floating IPs with the tag "web" is free`},
		"two ways at once": {func(svc *v1.Service) {
			svc.Annotations[annotation.FloatingIPTag], svc.Spec.LoadBalancerIP = "web", "127.200.7.9"
		}, "only one of the two can decide"},
	} {
		t.Run(what, func(t *testing.T) {
			second := service("second", 1)
			ask.change(second)
			w.t = t
			w.refused(second, nodes, ask.says)
		})
	}
	w.t = t
	w.writes(0)
	w.loadBalancers(1)
}

//proves:20
func TestAddressThatOpenStackDoesNotGiveCostsNobodyTheOldOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: allAnnotations()})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	made := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Spec.LoadBalancerIP = "127.200.9.9" // only admins choose addresses of new floating IPs
	w.refused(svc, nodes, "floatingip")
	w.serves(svc, made)
	svc.Spec.LoadBalancerIP = ""
	w.ensure(svc, nodes)
	w.serves(svc, made)
	w.unchanged(svc, nodes)
}

// Between our look and our write, somebody else takes the floating IP. Neutron would
// move it to our port without a word.
//
//proves:19
func TestFloatingIPIsNotTakenFromWhoWasFaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: allAnnotations()})
	nodes, first, second := w.nodes(1), service("first", 1), service("second", 1)
	first.Annotations[annotation.Internal] = "true"
	w.ensure(first, nodes)
	port := w.loadBalancer().VIP.PortID
	fip := w.floatingIP("127.200.7.7", "reserved", "web")
	second.Annotations[annotation.FloatingIPTag] = "web"
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: fipRoute + "/{id}", Delay: 200 * time.Millisecond})
	taken := make(chan error, 1)
	go func() {
		for w.cloud.Faults.Hits() == 0 && w.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, port, "")
		taken <- err
	}()
	if _, err := w.engine.Ensure(w.ctx, second, nodes); apierror.StatusCode(err) != http.StatusPreconditionFailed {
		t.Errorf("error %v, want a 412", err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if got := w.addresses()[fip.Address]; got != port {
		t.Errorf("it is on port %q, want %s", got, port)
	}
	w.refused(second, nodes, "none of 1 floating IPs")
}

// The Service is deleted and made anew, by the same process and by another one.
//
//proves:21,22
func TestKeptFloatingIPIsFoundAgainByTheServiceOfTheSameName(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		w := newWorld(t, worldOptions{keys: allAnnotations()})
		nodes, svc, other := w.nodes(1), service("web", 1), service("other", 1)
		svc.Annotations[annotation.KeepFloatingIP] = "true"
		w.ensure(svc, nodes)
		kept := svc.Status.LoadBalancer.Ingress[0].IP
		w.delete(svc)
		w.ensure(other, nodes)
		if w.addresses()[kept] != "" {
			t.Fatal("another Service has taken it")
		}
		w.delete(other)
		foreign, _ := w.controller(otherCluster)
		theirs := service("web", 1)
		theirs.UID = "uid-in-another-cluster"
		status, err := foreign.Ensure(w.ctx, theirs, nodes)
		if err != nil || status.Ingress[0].IP == kept {
			t.Fatalf("the Service of that name in another cluster: %v, %v", status, err)
		}
		if err := foreign.Delete(w.ctx, theirs); err != nil {
			t.Fatal(err)
		}
		if restarted {
			w.restart()
		}
		again := service("web", 1)
		again.UID = "uid-of-the-one-made-anew"
		again.Annotations[annotation.KeepFloatingIP] = "true"
		w.cloud.Books.Reset()
		w.ensure(again, nodes)
		w.writes(2) // load balancer, and the floating IP put on it and taken over
		w.serves(again, kept)
		w.unchanged(again, nodes)

		delete(again.Annotations, annotation.KeepFloatingIP)
		w.delete(again)
		w.floatingIPs(0) // it has become this Service's own
	}
}

// What cloud-provider-openstack does: it deletes what was kept with the next Service
// whose name is a part of the description.
//
//proves:21,22
func TestKeptFloatingIPThatAnotherServiceAsksForIsNotDeletedWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: allAnnotations()})
	nodes, svc := w.nodes(1), service("web", 1)
	legacy := w.floatingIP("127.200.7.7", legacyDescription)
	svc.Annotations[annotation.KeepFloatingIP] = "true"
	w.ensure(svc, nodes)
	kept := svc.Status.LoadBalancer.Ingress[0].IP
	w.delete(svc)
	for _, address := range []string{kept, legacy.Address} {
		for _, name := range []string{"web", "we"} {
			next := service(name, 1)
			next.UID = types.UID("uid-of-next-" + name + address)
			next.Spec.LoadBalancerIP = address
			w.ensure(next, nodes)
			if got := next.Status.LoadBalancer.Ingress[0].IP; got != address {
				t.Errorf("published %s, want %s", got, address)
			}
			w.restart()
			w.delete(next)
			if _, there := w.addresses()[address]; !there {
				t.Fatalf("%s was deleted with %s", address, name)
			}
		}
	}
	w.floatingIPs(2)
}

// The load balancer that cloud-provider-openstack made is gone, with all that proved
// whose its floating IP is but the Service's own status.
//
//proves:22,84
func TestFloatingIPOfAVanishedLoadBalancerOfCloudProviderOpenStackIsTheServices(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		w := newWorld(t, worldOptions{keys: allAnnotations()})
		nodes, svc := w.nodes(1), service("web", 1)
		w.floatingIP("127.200.7.7", legacyDescription)
		w.floatingIP("127.200.7.8", legacyDescription) // of a cluster of the same name
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.7.7"}}
		if deleted {
			now := nowTime()
			svc.DeletionTimestamp = &now
			if _, exists, err := w.engine.Get(w.ctx, svc); !exists || err != nil {
				t.Errorf("Get: exists %v, error %v", exists, err)
			}
			w.delete(svc)
			if _, exists, err := w.engine.Get(w.ctx, svc); exists || err != nil {
				t.Errorf("Get after the deletion: exists %v, error %v", exists, err)
			}
			w.floatingIPs(1)
			continue
		}
		w.ensure(svc, nodes)
		w.serves(svc, "127.200.7.7", "127.200.7.8")
		w.unchanged(svc, nodes)
		w.delete(svc)
		w.floatingIPs(1)
	}
}

// external adds a subnet to the external network.
func (w *world) external(name, cidr string, tags ...string) simneutron.Subnet {
	w.t.Helper()
	subnet, err := w.cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: name, NetworkID: w.cloud.ExternalNetwork.ID, CIDR: cidr, Tags: tags})
	if err != nil {
		w.t.Fatal(err)
	}
	return subnet
}

// The network has the subnets public-subnet, gold-1 (full), gold-2 and silver.
//
//proves:23
func TestFloatingIPComesFromTheSubnetsThatFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotations map[string]string
		keys        map[string]string
		prefix      string // of the address
		refused     string
	}{
		"by pattern":             {map[string]string{annotation.FloatingPattern: "gold-*"}, nil, "127.202.", ""},
		"by regular expression":  {map[string]string{annotation.FloatingPattern: "~gold-[0-9]"}, nil, "127.202.", ""},
		"by the opposite":        {map[string]string{annotation.FloatingPattern: "!{gold,public}*"}, nil, "127.203.", ""},
		"by any of the tags":     {map[string]string{annotation.FloatingTags: "cheap,unknown"}, nil, "127.203.", ""},
		"by all of the tags":     {map[string]string{annotation.FloatingTags: "&fast,dear"}, nil, "127.202.", ""},
		"by none of the tags":    {map[string]string{annotation.FloatingTags: "!fast,cheap"}, nil, "127.200.", ""},
		"by cloud.conf":          {nil, map[string]string{"floating-subnet": "silver"}, "127.203.", ""},
		"annotation goes before": {map[string]string{annotation.FloatingTags: "dear"}, map[string]string{"floating-subnet": "silver"}, "127.202.", ""},
		"all full":               {map[string]string{annotation.FloatingPattern: "gold-1"}, nil, "", "No more IP addresses available"},
		"none fits":              {map[string]string{annotation.FloatingPattern: "bronze"}, nil, "", "no IPv4 subnet of network"},
		"no pattern":             {map[string]string{annotation.FloatingPattern: "~("}, nil, "", "floating-subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: c.keys, simulator: simulator.Options{Topology: simulator.Topology{ExternalSubnetVisible: true}}})
			full := w.external("gold-1", "127.201.0.0/16", "fast", "dear")
			w.external("gold-2", "127.202.0.0/16", "dear", "fast")
			w.external("silver", "127.203.0.0/16", "cheap")
			if err := w.cloud.Neutron.SetExhausted(full.ID, true); err != nil {
				t.Fatal(err)
			}
			nodes, svc := w.nodes(1), service("web", 1)
			maps.Copy(svc.Annotations, c.annotations)
			if c.refused != "" {
				w.refused(svc, nodes, c.refused)
				w.floatingIPs(0)
				return
			}
			w.ensure(svc, nodes)
			if got := svc.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, c.prefix) {
				t.Errorf("address %s, want one of %s0.0/16", got, c.prefix)
			}
			w.floatingIPs(1)
			w.unchanged(svc, nodes)
		})
	}
}

//proves:23
func TestSubnetsThatTheTenantCannotSeeAreNamedByIDOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: allAnnotations()})
	silver := w.external("silver", "127.203.0.0/16")
	nodes, svc := w.nodes(1), service("web", 1)
	svc.Annotations[annotation.FloatingPattern] = "silver"
	w.refused(svc, nodes, `floating-subnet "silver": this project sees no subnet of the external network`)
	w.loadBalancers(0)
	svc.Annotations[annotation.FloatingSubnet] = silver.ID
	w.ensure(svc, nodes)
	if got := svc.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, "127.203.") {
		t.Errorf("address %s", got)
	}
	w.unchanged(svc, nodes)
}

//proves:17,24
func TestExternalNetworkIsFoundAndOfSeveralOneEventTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true}}})
	w.cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ID: "00000000-0000-4000-8000-000000000000", Name: "empty", ProjectID: w.cloud.Admin.ProjectID, External: true})
	other := w.cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ID: "ffffffff-ffff-4fff-bfff-ffffffffffff", Name: "other", ProjectID: w.cloud.Admin.ProjectID, External: true})
	if _, err := w.cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "other", NetworkID: other.ID, CIDR: "127.210.0.0/16"}); err != nil {
		t.Fatal(err)
	}
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	made := w.cloud.Neutron.FloatingIPs()
	if len(made) != 1 || made[0].NetworkID != w.cloud.ExternalNetwork.ID || made[0].PortID != w.loadBalancer().VIP.PortID {
		t.Errorf("floating IPs %+v, want one of the network %s on the VIP", made, w.cloud.ExternalNetwork.ID)
	}
	if got := svc.Status.LoadBalancer.Ingress[0].IP; len(made) != 1 || got != made[0].Address {
		t.Errorf("published %s, want the floating IP", got)
	}
	w.ensure(svc, nodes)
	svc.Spec.Ports[0].NodePort = 31999
	w.ensure(svc, nodes)
	if n := strings.Count(w.told(), "LoadBalancerExternalNetworkChosen"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	w.unchanged(svc, nodes)
}

//proves:24
func TestCloudWithoutFloatingIPsServesOnTheVIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true}}})
	w.cloud.Faults.Add(faults.Rule{
		Method: http.MethodGet, Route: "/network/v2.0/networks", Status: http.StatusOK, Body: `{"networks": []}`,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	w.floatingIPs(0)
	if got, want := svc.Status.LoadBalancer.Ingress[0].IP, w.loadBalancer().VIP.Address; got != want {
		t.Errorf("published %s, want the VIP %s", got, want)
	}
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	if all := w.cloud.Books.Requests(); len(all) != 0 {
		t.Errorf("requests for nothing:\n%s", printed(all))
	}
	if n := strings.Count(w.told(), "LoadBalancerForcedInternal"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	w.unchanged(svc, nodes)
}

//proves:30,31
func TestInternalAndIPv6ServicesMakeNoNoise(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{
		Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"},
		Config:   simulator.Config{OmitSubnet: true},
	}})
	nodes, internal, six := w.nodes(1), service("internal", 1), service("six", 1)
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::10"})
	internal.Annotations[annotation.Internal] = "true"
	internal.Annotations[annotation.SubnetID] = w.cloud.Subnet.ID
	six.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
	six.Annotations[annotation.SubnetID] = w.cloud.SubnetV6.ID
	for _, svc := range []*v1.Service{internal, six} {
		w.ensure(svc, nodes)
		w.ensure(svc, nodes)
		w.restart()
		w.ensure(svc, nodes)
	}
	if told := w.told(); strings.Contains(told, "Warning") {
		t.Errorf("events:\n%s", told)
	}
	if got := six.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, "fd00:6::") {
		t.Errorf("published %s", got)
	}
	for _, lb := range w.loadBalancers(2) {
		member := lb.Pools[0].Members[0].Address
		if want := map[bool]string{true: "127.100.1.10", false: "fd00:6::10"}[strings.HasSuffix(lb.Name, "internal")]; member != want {
			t.Errorf("%s has the member %s, want %s", lb.Name, member, want)
		}
	}
	w.floatingIPs(0)
}
