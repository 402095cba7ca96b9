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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// legacyDescription is cloud-provider-openstack's description of the floating IP of the Service
// default/web, in every cluster of this name.
const legacyDescription = "Floating IP for Kubernetes external service default/web from cluster kubernetes"

// floatingIP adds a floating IP to the project as its owner would.
func (env *environment) floatingIP(address, description string, tags ...string) simneutron.FloatingIP {
	env.T.Helper()
	fip, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: address, Description: description,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	if len(tags) > 0 {
		if err := env.Cloud.Neutron.TagFloatingIP(fip.ID, tags); err != nil {
			env.T.Fatal(err)
		}
	}
	return fip
}

// addresses returns the floating IPs of the project with their ports.
func (env *environment) addresses() map[string]string {
	env.T.Helper()
	all := map[string]string{}
	for _, fip := range env.Cloud.Neutron.FloatingIPs() {
		all[fip.Address] = fip.PortID
	}
	return all
}

// serves fails unless the Service has published this address, it leads to its load balancer, and
// there are no floating IPs besides it and these.
func (env *environment) serves(svc *v1.Service, address string, others ...string) {
	env.T.Helper()
	if got := svc.Status.LoadBalancer.Ingress[0].IP; address != "" && got != address {
		env.T.Errorf("published %s, want %s", got, address)
	}
	all, address := env.addresses(), svc.Status.LoadBalancer.Ingress[0].IP
	if want := env.loadBalancer().VIP.PortID; all[address] != want {
		env.T.Errorf("floating IP %s is on port %q, want that of the VIP, %s", address, all[address], want)
	}
	delete(all, address)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(others))) {
		env.T.Errorf("other floating IPs %v, want %v", got, others)
	}
}

// Each way to request a floating IP is used for a Service with another one, and for a new Service.
//
//proves:18,19,20
func TestFloatingIP_NamedByServiceIsUsedAndOutlivesIt(t *testing.T) {
	t.Parallel()
	const reserved = "127.200.7.7"
	for name, ask := range map[string]func(*v1.Service, simneutron.FloatingIP){
		"by address": func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Spec.LoadBalancerIP = fip.Address },
		"by ID":      func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Annotations[annotation.FloatingIPID] = fip.ID },
		"by tag":     func(svc *v1.Service, _ simneutron.FloatingIP) { svc.Annotations[annotation.FloatingIPTag] = "web" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
			fip := env.floatingIP(reserved, "for the web", "web", "more")
			env.floatingIP("127.200.7.8", "another's", "db")
			nodes, svc := env.nodes(1), service("web", 1)
			env.ensure(svc, nodes)
			made := svc.Status.LoadBalancer.Ingress[0].IP

			env.Cloud.RequestLog.Reset()
			ask(svc, fip)
			env.ensure(svc, nodes)
			env.writes(3) // dissociate the old one, associate this one, release the old one
			env.serves(svc, reserved, "127.200.7.8")
			env.unchanged(svc, nodes)

			svc.Spec.LoadBalancerIP = ""
			delete(svc.Annotations, annotation.FloatingIPID)
			delete(svc.Annotations, annotation.FloatingIPTag)
			env.ensure(svc, nodes)
			env.serves(svc, reserved, "127.200.7.8") // the Service accepts any, and has one

			env.delete(svc)
			if all := env.addresses(); len(all) != 2 || all[reserved] != "" {
				t.Errorf("floating IPs at the end: %v; %s was there before, and %s was ours", all, reserved, made)
			}
			again := service("again", 1)
			ask(again, fip)
			env.ensure(again, nodes)
			env.serves(again, reserved, "127.200.7.8")
			env.unchanged(again, nodes)
		})
	}
}

// A second Service requests the floating IP of the first one.
//
//proves:18,19
func TestFloatingIP_IsRefusedBeforeFirstWriteWhenUnavailable(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
	fip := env.floatingIP("127.200.7.7", "for the web", "web")
	nodes, first := env.nodes(1), service("first", 1)
	first.Annotations[annotation.FloatingIPID] = fip.ID
	env.ensure(first, nodes)
	env.Cloud.RequestLog.Reset()
	for what, ask := range map[string]struct {
		change func(*v1.Service)
		says   string
	}{
		"the address in use": {func(svc *v1.Service) { svc.Spec.LoadBalancerIP = fip.Address }, "spec.loadBalancerIP: the floating IP 127.200.7.7 is in use: choose another"},
		"the ID in use":      {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = fip.ID }, "the floating IP " + fip.ID + " is in use: choose another"},
		"no such ID":         {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = env.Cloud.Network.ID }, "there is no floating IP " + env.Cloud.Network.ID},
		"none free":          {func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPTag] = "web" }, `none of 1 floating IPs with the tag "web" is free`},
		"two ways at once": {func(svc *v1.Service) {
			svc.Annotations[annotation.FloatingIPTag], svc.Spec.LoadBalancerIP = "web", "127.200.7.9"
		}, "use only one of them"},
	} {
		t.Run(what, func(t *testing.T) {
			second := service("second", 1)
			ask.change(second)
			env.T = t
			env.refused(second, nodes, ask.says)
		})
	}
	env.T = t
	env.writes(0)
	env.loadBalancers(1)
}

//proves:20
func TestFloatingIP_StaysWhenOpenStackRefusesNewAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	made := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Spec.LoadBalancerIP = "127.200.9.9" // only admins can choose addresses of new floating IPs
	env.refused(svc, nodes, "floatingip")
	env.serves(svc, made)
	svc.Spec.LoadBalancerIP = ""
	env.ensure(svc, nodes)
	env.serves(svc, made)
	env.unchanged(svc, nodes)
}

// Between our read and our write, another client associates the floating IP. Neutron would move it
// to our port without an error.
//
//proves:19
func TestFloatingIP_IsNotTakenFromPortThatWasFaster(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
	nodes, first, second := env.nodes(1), service("first", 1), service("second", 1)
	first.Annotations[annotation.Internal] = "true"
	env.ensure(first, nodes)
	port := env.loadBalancer().VIP.PortID
	fip := env.floatingIP("127.200.7.7", "reserved", "web")
	second.Annotations[annotation.FloatingIPTag] = "web"
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: fipRoute + "/{id}", Delay: 200 * time.Millisecond})
	taken := make(chan error, 1)
	go func() {
		for env.Cloud.Faults.Hits() == 0 && env.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, port, "")
		taken <- err
	}()
	if _, err := env.engine.Ensure(env.ctx, second, nodes); apierror.StatusCode(err) != http.StatusPreconditionFailed {
		t.Errorf("error %v, want a 412", err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if got := env.addresses()[fip.Address]; got != port {
		t.Errorf("it is on port %q, want %s", got, port)
	}
	env.refused(second, nodes, "none of 1 floating IPs")
}

// The Service is deleted and created again, by the same process and by another one.
//
//proves:21,22
func TestFloatingIP_KeptIsFoundAgainByServiceOfSameName(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
		nodes, svc, other := env.nodes(1), service("web", 1), service("other", 1)
		svc.Annotations[annotation.KeepFloatingIP] = "true"
		env.ensure(svc, nodes)
		kept := svc.Status.LoadBalancer.Ingress[0].IP
		env.delete(svc)
		env.ensure(other, nodes)
		if env.addresses()[kept] != "" {
			t.Fatal("another Service has taken it")
		}
		env.delete(other)
		foreign, _ := env.controller(otherCluster)
		theirs := service("web", 1)
		theirs.UID = "uid-in-another-cluster"
		status, err := foreign.Ensure(env.ctx, theirs, nodes)
		if err != nil || status.Ingress[0].IP == kept {
			t.Fatalf("the Service of that name in another cluster: %v, %v", status, err)
		}
		if err := foreign.Delete(env.ctx, theirs); err != nil {
			t.Fatal(err)
		}
		if restarted {
			env.restart()
		}
		again := service("web", 1)
		again.UID = "uid-of-the-recreated-one"
		again.Annotations[annotation.KeepFloatingIP] = "true"
		env.Cloud.RequestLog.Reset()
		env.ensure(again, nodes)
		env.writes(2) // load balancer, and the association and adoption of the floating IP
		env.serves(again, kept)
		env.unchanged(again, nodes)

		delete(again.Annotations, annotation.KeepFloatingIP)
		env.delete(again)
		env.floatingIPs(0) // it belongs to this Service now
	}
}

// cloud-provider-openstack deletes a kept floating IP together with the next Service with a name
// that its description contains.
//
//proves:21,22
func TestFloatingIP_KeptIsNotDeletedWithNextServiceThatUsesIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
	nodes, svc := env.nodes(1), service("web", 1)
	legacy := env.floatingIP("127.200.7.7", legacyDescription)
	svc.Annotations[annotation.KeepFloatingIP] = "true"
	env.ensure(svc, nodes)
	kept := svc.Status.LoadBalancer.Ingress[0].IP
	env.delete(svc)
	for _, address := range []string{kept, legacy.Address} {
		for _, name := range []string{"web", "we"} {
			next := service(name, 1)
			next.UID = types.UID("uid-of-next-" + name + address)
			next.Spec.LoadBalancerIP = address
			env.ensure(next, nodes)
			if got := next.Status.LoadBalancer.Ingress[0].IP; got != address {
				t.Errorf("published %s, want %s", got, address)
			}
			env.restart()
			env.delete(next)
			if _, there := env.addresses()[address]; !there {
				t.Fatalf("%s was deleted with %s", address, name)
			}
		}
	}
	env.floatingIPs(2)
}

// A kept address is deleted with a Service that requests it without keep-floatingip, but only if it
// was created in this cluster, for a Service of the same namespace.
//
//proves:21
func TestFloatingIP_KeptIsReleasedByServiceThatSaysSo(t *testing.T) {
	t.Parallel()
	byAddress := func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Spec.LoadBalancerIP = fip.Address }
	const uid = "uid-of-another-cluster"
	for name, c := range map[string]struct {
		ask         func(*v1.Service, simneutron.FloatingIP)
		keep        string
		description string // if it is not the present one
		restart     bool
		gone        bool
	}{
		"by address":                {ask: byAddress, keep: "false", gone: true},
		"by address, in a new life": {ask: byAddress, keep: "false", restart: true, gone: true},
		"by ID":                     {ask: func(svc *v1.Service, fip simneutron.FloatingIP) { svc.Annotations[annotation.FloatingIPID] = fip.ID }, keep: "false", gone: true},
		"without a word":            {ask: byAddress},
		"with another word":         {ask: byAddress, keep: "False"},
		"kept again":                {ask: byAddress, keep: "true"},
		"of another namespace": {ask: byAddress, keep: "false",
			description: "Floating IP for Kubernetes external service other/web (uid uid-of-web in " + clusterID + ") from cluster kubernetes"},
		"of another cluster": {ask: byAddress, keep: "false",
			description: "Floating IP for Kubernetes external service default/web (uid uid-of-web in " + uid + ") from cluster kubernetes"},
		"of cloud-provider-openstack": {ask: byAddress, keep: "false", description: legacyDescription},
		"a person's":                  {ask: byAddress, keep: "false", description: "reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := allAnnotations()
			keys["shared-lb-scope"] = "project"
			env := newEnvironment(t, environmentOptions{keys: keys})
			nodes, svc := env.nodes(1), service("web", 1)
			svc.Annotations[annotation.KeepFloatingIP] = "true"
			env.ensure(svc, nodes)
			env.delete(svc)
			kept := env.Cloud.Neutron.FloatingIPs()[0]
			if c.description != "" {
				if err := env.Cloud.Neutron.ReleaseFloatingIP(kept.ID); err != nil {
					t.Fatal(err)
				}
				kept = env.floatingIP(kept.Address, c.description)
			}
			next := service("next", 1)
			c.ask(next, kept)
			if c.keep != "" {
				next.Annotations[annotation.KeepFloatingIP] = c.keep
			}
			env.ensure(next, nodes)
			env.serves(next, kept.Address)
			if c.restart {
				env.restart()
			}
			env.delete(next)
			if _, there := env.addresses()[kept.Address]; there == c.gone {
				t.Errorf("the address is there %t, want %t", there, !c.gone)
			}
		})
	}
}

// The load balancer of cloud-provider-openstack is gone. Only the status of the Service still
// proves that the floating IP belongs to it.
//
//proves:22,84
func TestFloatingIP_OfVanishedPeerLoadBalancerBelongsToService(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
		nodes, svc := env.nodes(1), service("web", 1)
		env.floatingIP("127.200.7.7", legacyDescription)
		env.floatingIP("127.200.7.8", legacyDescription) // of a cluster of the same name
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.7.7"}}
		if deleted {
			now := nowTime()
			svc.DeletionTimestamp = &now
			if _, exists, err := env.engine.Get(env.ctx, svc); !exists || err != nil {
				t.Errorf("Get: exists %v, error %v", exists, err)
			}
			env.delete(svc)
			if _, exists, err := env.engine.Get(env.ctx, svc); exists || err != nil {
				t.Errorf("Get after the deletion: exists %v, error %v", exists, err)
			}
			env.floatingIPs(1)
			continue
		}
		env.ensure(svc, nodes)
		env.serves(svc, "127.200.7.7", "127.200.7.8")
		env.unchanged(svc, nodes)
		env.delete(svc)
		env.floatingIPs(1)
	}
}

// The status has a host name, so that only this process knows the address of cloud-provider-openstack's floating IP.
// Another client deletes the load balancer.
//
//proves:22,84
func TestFloatingIP_OfPeerBehindHostNameOutlivesItsLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"deleted", "internal", "restored"} {
		env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
		nodes, svc := env.nodes(1), service("web", 1)
		env.ensure(svc, nodes)
		address := env.Cloud.Neutron.FloatingIPs()[0].Address
		env.asLeftByThePeer()
		env.restart()
		env.ensure(svc, nodes)
		svc.Annotations[annotation.Hostname] = "www.example.com"
		env.ensure(svc, nodes)
		if got := svc.Status.LoadBalancer.Ingress[0]; got.IP != "" || got.Hostname == "" {
			t.Fatalf("the status has the address: %+v", got)
		}
		if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
			t.Fatal(err)
		}
		switch then {
		case "internal":
			svc.Annotations[annotation.Internal] = "true"
			env.notice(svc)
			env.ensure(svc, nodes)
			env.floatingIPs(0)
		case "restored":
			env.notice(svc)
			env.ensure(svc, nodes)
			if all := env.addresses(); len(all) != 1 || all[address] != env.loadBalancer().VIP.PortID {
				t.Errorf("the floating IPs are %v, want %s on the VIP", all, address)
			}
		}
		env.delete(svc)
		env.floatingIPs(0)
	}
}

// external adds a subnet to the external network.
func (env *environment) external(name, cidr string, tags ...string) simneutron.Subnet {
	env.T.Helper()
	subnet, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: name, NetworkID: env.Cloud.ExternalNetwork.ID, CIDR: cidr, Tags: tags})
	if err != nil {
		env.T.Fatal(err)
	}
	return subnet
}

// The network has the subnets public-subnet, gold-1 (full), gold-2 and silver.
//
//proves:23
func TestFloatingIP_ComesFromSubnetsThatFit(t *testing.T) {
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
			env := newEnvironment(t, environmentOptions{keys: c.keys, simulator: simulator.Options{Topology: simulator.Topology{ExternalSubnetVisible: true}}})
			full := env.external("gold-1", "127.201.0.0/16", "fast", "dear")
			env.external("gold-2", "127.202.0.0/16", "dear", "fast")
			env.external("silver", "127.203.0.0/16", "cheap")
			if err := env.Cloud.Neutron.SetExhausted(full.ID, true); err != nil {
				t.Fatal(err)
			}
			nodes, svc := env.nodes(1), service("web", 1)
			maps.Copy(svc.Annotations, c.annotations)
			if c.refused != "" {
				env.refused(svc, nodes, c.refused)
				env.floatingIPs(0)
				return
			}
			env.ensure(svc, nodes)
			if got := svc.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, c.prefix) {
				t.Errorf("address %s, want one of %s0.0/16", got, c.prefix)
			}
			env.floatingIPs(1)
			env.unchanged(svc, nodes)
		})
	}
}

//proves:23
func TestFloatingIP_TakesSubnetHiddenFromTenantByIDOnly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: allAnnotations()})
	silver := env.external("silver", "127.203.0.0/16")
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Annotations[annotation.FloatingPattern] = "silver"
	env.refused(svc, nodes, `floating-subnet "silver": this project sees no subnet of the external network`)
	env.loadBalancers(0)
	svc.Annotations[annotation.FloatingSubnet] = silver.ID
	env.ensure(svc, nodes)
	if got := svc.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, "127.203.") {
		t.Errorf("address %s", got)
	}
	env.unchanged(svc, nodes)
}

//proves:17,24
func TestFloatingIP_ComesFromFoundExternalNetworkAndReportsChoiceOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true}}})
	env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ID: "00000000-0000-4000-8000-000000000000", Name: "empty", ProjectID: env.Cloud.Admin.ProjectID, External: true})
	other := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ID: "ffffffff-ffff-4fff-bfff-ffffffffffff", Name: "other", ProjectID: env.Cloud.Admin.ProjectID, External: true})
	if _, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "other", NetworkID: other.ID, CIDR: "127.210.0.0/16"}); err != nil {
		t.Fatal(err)
	}
	// The routers may be hidden, for example if they belong to another project.
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/routers", Status: http.StatusForbidden})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	made := env.Cloud.Neutron.FloatingIPs()
	if len(made) != 1 || made[0].NetworkID != env.Cloud.ExternalNetwork.ID || made[0].PortID != env.loadBalancer().VIP.PortID {
		t.Errorf("floating IPs %+v, want one of the network %s on the VIP", made, env.Cloud.ExternalNetwork.ID)
	}
	if got := svc.Status.LoadBalancer.Ingress[0].IP; len(made) != 1 || got != made[0].Address {
		t.Errorf("published %s, want the floating IP", got)
	}
	env.ensure(svc, nodes)
	svc.Spec.Ports[0].NodePort = 31999
	env.ensure(svc, nodes)
	if n := strings.Count(env.emitted(), "LoadBalancerExternalNetworkChosen"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	env.unchanged(svc, nodes)
}

//proves:24
func TestVIP_ServesWhenCloudHasNoFloatingIPs(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true}}})
	env.Cloud.Faults.Add(faults.Rule{
		Method: http.MethodGet, Route: "/network/v2.0/networks", Status: http.StatusOK, Body: `{"networks": []}`,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.floatingIPs(0)
	if got, want := svc.Status.LoadBalancer.Ingress[0].IP, env.loadBalancer().VIP.Address; got != want {
		t.Errorf("published %s, want the VIP %s", got, want)
	}
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if all := env.Cloud.RequestLog.Requests(); len(all) != 0 {
		t.Errorf("requests for nothing:\n%s", printed(all))
	}
	if n := strings.Count(env.emitted(), "LoadBalancerForcedInternal"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	env.unchanged(svc, nodes)
}

//proves:30,31
func TestEnsure_ServesInternalAndIPv6ServicesWithoutWarning(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{
		Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"},
		Config:   simulator.Config{OmitSubnet: true},
	}})
	nodes, internal, six := env.nodes(1), service("internal", 1), service("six", 1)
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::10"})
	internal.Annotations[annotation.Internal] = "true"
	internal.Annotations[annotation.SubnetID] = env.Cloud.Subnet.ID
	six.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
	six.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
	for _, svc := range []*v1.Service{internal, six} {
		env.ensure(svc, nodes)
		env.ensure(svc, nodes)
		env.restart()
		env.ensure(svc, nodes)
	}
	if emitted := env.emitted(); strings.Contains(emitted, "Warning") {
		t.Errorf("events:\n%s", emitted)
	}
	if got := six.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(got, "fd00:6::") {
		t.Errorf("published %s", got)
	}
	for _, lb := range env.loadBalancers(2) {
		member := lb.Pools[0].Members[0].Address
		if want := map[bool]string{true: "127.100.1.10", false: "fd00:6::10"}[strings.HasSuffix(lb.Name, "internal")]; member != want {
			t.Errorf("%s has the member %s, want %s", lb.Name, member, want)
		}
	}
	env.floatingIPs(0)
}
