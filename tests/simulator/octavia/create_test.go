package octavia_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// vipPorts are the ports that Octavia made, in use or leaked.
func (env *environment) vipPorts() []neutron.Port {
	var ports []neutron.Port
	for _, port := range env.network.Ports() {
		if strings.HasPrefix(port.Name, "octavia-lb-") || strings.HasPrefix(port.Name, "ovn-lb-vip-") {
			ports = append(ports, port)
		}
	}
	return ports
}

func TestCreate_LeavesOnlyItsPortWhenRefused(t *testing.T) {
	t.Parallel()
	listener := func(more object) object {
		one := object{"protocol": "TCP", "protocol_port": 80}
		for key, value := range more {
			one[key] = value
		}
		return object{"listeners": []object{one}}
	}
	pool := object{"name": "p", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}
	with := func(more object) object {
		one := object{}
		for _, part := range []object{pool, more} {
			for key, value := range part {
				one[key] = value
			}
		}
		return listener(object{"default_pool": one})
	}
	twice := object{"address": "10.6.0.1", "protocol_port": 1}
	for name, c := range map[string]struct {
		provider string
		body     object
		status   int
		leaks    int
	}{
		"unnamed pool":        {"amphora", with(object{"name": ""}), 400, 1},
		"member twice":        {"amphora", with(object{"members": []object{twice, twice}}), 409, 1},
		"protocols":           {"amphora", with(object{"protocol": "UDP"}), 400, 1},
		"HTTP on ovn":         {"ovn", listener(object{"protocol": "HTTP"}), 501, 1},
		"CIDRs on ovn":        {"ovn", listener(object{"allowed_cidrs": []string{"10.0.0.0/8"}}), 501, 1},
		"HTTP monitor on ovn": {"ovn", with(object{"healthmonitor": object{"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}}), 501, 1},
		"algorithm on ovn":    {"ovn", with(object{"lb_algorithm": "ROUND_ROBIN"}), 501, 1},
		"foreign member":      {"ovn", with(object{"members": []object{{"address": "192.0.2.1", "protocol_port": 1}}}), 501, 1},
		"monitor port":        {"ovn", with(object{"members": []object{{"address": "10.6.0.1", "protocol_port": 1, "monitor_port": 2}}}), 501, 1},
		"unknown subnet":      {"amphora", object{"vip_subnet_id": "00000000-0000-4000-8000-000000000000"}, 400, 0},
		"tag twice":           {"amphora", object{"tags": []string{"a", "a"}}, 409, 0},
		"bad type":            {"amphora", listener(object{"protocol_port": "http"}), 400, 0},
		"no such provider":    {"f5", object{}, 400, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{})
			got := env.call("POST", "loadbalancers", env.balancer(c.provider, c.body))
			if got.status != c.status {
				t.Fatalf("%d %s, want %d", got.status, got.text, c.status)
			}
			if left := env.Snapshot(); len(left) != 0 {
				t.Errorf("left behind: %+v", left)
			}
			if ports := env.vipPorts(); len(ports) != c.leaks {
				t.Errorf("leaked ports %+v, want %d", ports, c.leaks)
			}
		})
	}
}

func TestVIP_HasPortNamedByProvider(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]neutron.Port{
		"amphora": {Name: "octavia-lb-ID", DeviceID: "lb-ID", DeviceOwner: "Octavia"},
		"octavia": {Name: "octavia-lb-ID", DeviceID: "lb-ID", DeviceOwner: "Octavia"},
		"ovn":     {Name: "ovn-lb-vip-ID"},
	} {
		env := newEnvironment(t, octavia.Options{})
		m := env.create(provider)
		port, err := env.network.Port(m.port)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(port.Name, " ", port.DeviceID, " ", port.DeviceOwner, " ", port.ProjectID)
		wanted := strings.ReplaceAll(fmt.Sprint(want.Name, " ", want.DeviceID, " ", want.DeviceOwner, " ", project), "ID", m.id)
		if got != wanted {
			t.Errorf("%s: port %q, want %q", provider, got, wanted)
		}
		lb := env.get("loadbalancers/" + m.id)
		if lb["vip_address"] != port.FixedIPs[0].Address || lb["vip_network_id"] != port.NetworkID || lb["vip_subnet_id"] != env.subnet.ID {
			t.Errorf("%s: %v does not show %+v", provider, lb, port)
		}
	}
}

func TestVIP_CanBeChosen(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	port, err := env.network.CreatePort(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request object
		address string
	}{
		"address": {object{"vip_subnet_id": env.subnet.ID, "vip_address": "10.6.7.8"}, "10.6.7.8"},
		"port":    {object{"vip_port_id": port.ID}, port.FixedIPs[0].Address},
		"network": {object{"vip_network_id": env.subnet.NetworkID}, "10.6."},
		"IPv6":    {object{"vip_subnet_id": env.subnet6.ID}, "fd00:6::"},
	} {
		lb := env.must(201, "POST", "loadbalancers", object{"loadbalancer": c.request})
		if got := lb["vip_address"].(string); !strings.HasPrefix(got, c.address) {
			t.Errorf("%s: VIP %s, want %s", name, got, c.address)
		}
	}
	for _, lb := range env.Snapshot() {
		env.must(204, "DELETE", "loadbalancers/"+lb.ID, nil)
	}
	env.Settle()
	if _, err := env.network.Port(port.ID); err != nil {
		t.Error("the caller's own port was removed")
	}
	if left := env.vipPorts(); len(left) != 0 {
		t.Errorf("ports left: %+v", left)
	}
}

// As Octavia does it, which knows the network alone.
func TestVIP_IsInSubnetOfNetworkWithAddressOrFreeAddresses(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	network := env.subnet.NetworkID
	small := env.addSubnet(neutron.SubnetSpec{Name: "small", NetworkID: network, CIDR: "10.7.0.0/30"})
	wide := env.addSubnet(neutron.SubnetSpec{Name: "wide", NetworkID: network, CIDR: "10.8.0.0/16"})
	create := func(request object) any {
		return env.must(201, "POST", "loadbalancers", object{"loadbalancer": request})["vip_subnet_id"]
	}
	if got := create(object{"vip_network_id": network, "vip_address": "10.8.7.7"}); got != wide.ID {
		t.Errorf("with an address: %v, want %s", got, wide.ID)
	}
	if got := create(object{"vip_network_id": network, "vip_address": "fd00:6::77"}); got != env.subnet6.ID {
		t.Errorf("with an address of IPv6: %v, want %s", got, env.subnet6.ID)
	}
	if err := env.network.SetExhausted(env.subnet.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := create(object{"vip_network_id": network}); got != wide.ID {
		t.Errorf("where the first is full and the second too small: %v, want %s", got, wide.ID)
	}
	if err := env.network.SetExhausted(wide.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := create(object{"vip_network_id": network}); got != env.subnet6.ID {
		t.Errorf("where those of IPv4 are full: %v, want %s", got, env.subnet6.ID)
	}
	if err := env.network.SetExhausted(env.subnet6.ID, true); err != nil {
		t.Fatal(err)
	}
	env.refused(400, "do not contain enough available IPs", "POST", "loadbalancers", object{"loadbalancer": object{"vip_network_id": network}})
	env.refused(400, "does not contain a subnet for VIP address", "POST", "loadbalancers", object{"loadbalancer": object{"vip_network_id": network, "vip_address": "192.0.2.1"}})
	if got := create(object{"vip_network_id": network, "vip_address": "10.7.0.2"}); got != small.ID {
		t.Errorf("with the only address of the small one: %v, want %s", got, small.ID)
	}
}

func TestVIP_RefusesTakenAddressWithStatusOfRelease(t *testing.T) {
	t.Parallel()
	for release, status := range map[string]int{"zed": 500, "2024.1": 500, "2026.1": 409} {
		env := newEnvironment(t, octavia.Options{Release: release})
		request := object{"loadbalancer": object{"vip_subnet_id": env.subnet.ID, "vip_address": "10.6.7.8"}}
		env.must(201, "POST", "loadbalancers", request)
		env.refused(status, "IP address 10.6.7.8 already allocated in subnet "+env.subnet.ID, "POST", "loadbalancers", request)
	}
}

func TestVIP_SharesPortWithAdditionalOnes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	lb := env.must(201, "POST", "loadbalancers", object{"loadbalancer": object{
		"vip_subnet_id": env.subnet.ID, "additional_vips": []object{{"subnet_id": env.subnet6.ID}},
	}})
	additional := lb["additional_vips"].([]any)[0].(object)
	if additional["subnet_id"] != env.subnet6.ID || !strings.HasPrefix(additional["ip_address"].(string), "fd00:6::") {
		t.Errorf("additional VIP %v", additional)
	}
	port, err := env.network.Port(lb["vip_port_id"].(string))
	if err != nil || len(port.FixedIPs) != 2 {
		t.Errorf("port %+v: %v", port, err)
	}
}

func TestCreate_SharesPoolAmongSeveralListeners(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	lb := env.must(201, "POST", "loadbalancers", env.balancer("amphora", object{
		"pools": []object{{"name": "shared", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}},
		"listeners": []object{
			{"protocol": "TCP", "protocol_port": 80, "default_pool": object{"name": "shared"}},
			{"protocol": "TCP", "protocol_port": 443, "default_pool": object{"name": "shared"}},
		},
	}))
	pool := lb["pools"].([]any)[0].(object)
	if len(lb["pools"].([]any)) != 1 || len(pool["listeners"].([]any)) != 2 {
		t.Errorf("pools %v", lb["pools"])
	}
	tree := env.get("loadbalancers/" + lb["id"].(string) + "/status")["loadbalancer"].(object)
	for _, listener := range tree["listeners"].([]any) {
		if pools := listener.(object)["pools"].([]any); len(pools) != 1 {
			t.Errorf("status tree of listener: %v", listener)
		}
	}
}

func TestQuirks_ImitateBugsOfReleases(t *testing.T) {
	t.Parallel()
	t.Run("children stay pending", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, octavia.Options{Quirks: octavia.Quirks{ChildrenStayPending: true}})
		m := env.create("amphora")
		env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
		for _, path := range []string{"listeners/" + m.listener, "pools/" + m.pool, "healthmonitors/" + m.monitor} {
			env.wantStatus(path, "PENDING_CREATE")
		}
	})
	t.Run("monitors stay pending", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, octavia.Options{Quirks: octavia.Quirks{MonitorsStayPending: true}})
		m := env.create("ovn")
		env.wantStatus("pools/"+m.pool, "ACTIVE")
		env.wantStatus("healthmonitors/"+m.monitor, "PENDING_CREATE")
	})
	t.Run("allowed CIDRs fail", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, octavia.Options{Quirks: octavia.Quirks{AllowedCIDRsFail: true}})
		env.refused(500, "None does not appear to be an IPv4 or IPv6 address", "POST", "loadbalancers",
			env.balancer("amphora", object{"listeners": []object{
				{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": []string{"10.0.0.0/8"}},
			}}))
	})
}

func TestCreate_ChecksQuotaForWholeGraph(t *testing.T) {
	t.Parallel()
	for class, text := range map[string]string{
		"loadbalancer": "Load Balancer", "listener": "Listener", "pool": "Pool", "member": "Member", "healthmonitor": "Health Monitor",
	} {
		env := newEnvironment(t, octavia.Options{Quota: map[string]int{class: 0}})
		env.refused(403, "Quota has been met for resources: "+text, "POST", "loadbalancers", env.balancer("amphora", nil))
	}
}

func TestOVN_IsActiveBeforeItsChildren(t *testing.T) {
	t.Parallel()
	delays := octavia.Delays{Create: 2, Children: 5}
	env := newEnvironment(t, octavia.Options{Delays: map[string]octavia.Delays{"ovn": delays}})
	lb := env.must(201, "POST", "loadbalancers", env.balancer("ovn", nil))
	id := lb["id"].(string)
	env.clock.Step(2)
	env.wantStatus("loadbalancers/"+id, "ACTIVE")
	if pool := env.Snapshot()[0].Pools[0]; pool.ProvisioningStatus != octavia.PendingCreate {
		t.Errorf("pool %s under an early ACTIVE", pool.ProvisioningStatus)
	}
	env.clock.Step(5)
	if unsettled := env.Unsettled(); len(unsettled) != 0 {
		t.Errorf("pending: %v", unsettled)
	}
}

// UDP and SCTP do not go through HAProxy: amphora refuses members of another IP family
// than any VIP's, where a listener leads to the pool, but not in a full create.
func TestCreate_MixesNoFamiliesInAmphoraWithoutHAProxy(t *testing.T) {
	t.Parallel()
	for protocol, refused := range map[string]bool{"UDP": true, "SCTP": true, "TCP": false} {
		env := newEnvironment(t, octavia.Options{})
		lb := env.must(201, "POST", "loadbalancers", env.balancer("amphora", object{"listeners": []object{{
			"protocol": protocol, "protocol_port": 53, "default_pool": object{"name": "p", "protocol": protocol, "lb_algorithm": "ROUND_ROBIN",
				"members": []object{{"address": "fd00:6::8", "protocol_port": 1}}},
		}}}))
		env.clock.Step(time.Hour)
		balancer := env.Snapshot()[0]
		if got := len(balancer.Pools[0].Members); got != 1 {
			t.Errorf("%s: a full create made %d members", protocol, got)
		}
		path := "pools/" + balancer.Pools[0].ID + "/members"
		six, four := object{"address": "fd00:6::9", "protocol_port": 1}, object{"address": "10.6.0.40", "protocol_port": 1}
		if !refused {
			env.must(201, "POST", path, object{"member": six})
			continue
		}
		text := "Provider 'amphora' does not support a requested option: This provider doesn't support mixing IPv4 and IPv6 addresses " +
			"for its VIP and members in " + protocol + " load balancers."
		env.refused(501, text, "POST", path, object{"member": six})
		env.refused(501, text, "PUT", path, object{"members": []object{four, six}})
		env.wantStatus("loadbalancers/"+lb["id"].(string), "ACTIVE")
		env.must(201, "POST", path, object{"member": four})
	}
}

func TestCreate_MakesL7PoliciesInAmphoraForHTTPOnly(t *testing.T) {
	t.Parallel()
	for protocol, refused := range map[string]bool{"TCP": true, "HTTPS": true, "UDP": true, "HTTP": false} {
		env := newEnvironment(t, octavia.Options{})
		env.must(201, "POST", "loadbalancers", env.balancer("amphora", object{"listeners": []object{{"protocol": protocol, "protocol_port": 80}}}))
		env.clock.Step(time.Hour)
		policy := object{"l7policy": object{"listener_id": env.Snapshot()[0].Listeners[0].ID, "action": "REJECT"}}
		if refused {
			env.refused(501, "Provider 'amphora' does not support a requested option: "+protocol+" protocol listeners do not support L7 policies", "POST", "l7policies", policy)
		} else {
			env.must(201, "POST", "l7policies", policy)
		}
	}
}
