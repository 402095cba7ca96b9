package neutron_test

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// forwarding is the body of a request for a port forwarding.
func forwarding(port neutron.Port, external, internal int) map[string]any {
	return map[string]any{"port_forwarding": map[string]any{
		"protocol": "tcp", "external_port": external, "internal_port": internal, "internal_port_id": port.ID,
		"internal_ip_address": port.FixedIPs[0].Address, "description": "for web",
	}}
}

// forwarded is a cloud with a floating IP on no port, and a server.
func forwarded(t *testing.T, options neutron.Options) (env *environment, fip neutron.FloatingIP, node neutron.Port) {
	t.Helper()
	env = newEnvironment(t, options)
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID})
	must(t, err)
	return env, fip, env.nodePort("server-1")
}

// nodePort is the port of a server that admits everything.
func (env *environment) nodePort(id string) neutron.Port {
	env.t.Helper()
	group, err := env.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: project, Name: id})
	must(env.t, err)
	_, err = env.AddSecurityGroupRules(group.ID, neutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4"})
	must(env.t, err)
	return env.port(neutron.PortSpec{SubnetID: env.subnet.ID, DeviceID: id, DeviceOwner: "compute:nova", SecurityGroups: []string{group.ID}})
}

func (env *environment) reaches(fip neutron.FloatingIP, number int) string {
	got, _ := env.Deliver(neutron.Packet{From: netip.MustParseAddr("203.0.113.9"), To: netip.MustParseAddr(fip.Address), Protocol: "tcp", Port: number})
	if len(got) != 1 {
		return ""
	}
	return got[0].DeviceID
}

func TestForwardings_LeadPortsOfFloatingIPToServers(t *testing.T) {
	t.Parallel()
	env, fip, node := forwarded(t, neutron.Options{})
	path := "/v2.0/floatingips/" + fip.ID + "/port_forwardings"
	status, answer := env.call(http.MethodPost, path, forwarding(node, 80, 30080))
	made, _ := answer["port_forwarding"].(map[string]any)
	if status != http.StatusCreated || made["description"] != "for web" || made["external_port_range"] != "80:80" {
		t.Fatalf("answer %d %v", status, answer)
	}
	if got := env.reaches(fip, 80); got != "server-1" {
		t.Errorf("port 80 reaches %q", got)
	}
	if got := env.reaches(fip, 81); got != "" {
		t.Errorf("port 81 reaches %q", got)
	}
	_, answer = env.call(http.MethodGet, "/v2.0/floatingips/"+fip.ID, nil)
	shown, _ := answer["floatingip"].(map[string]any)
	exposed, _ := shown["port_forwardings"].([]any)
	if len(exposed) != 1 || shown["router_id"] != env.router.ID || shown["port_id"] != nil {
		t.Errorf("floating IP %v", shown)
	}
	if first, _ := exposed[0].(map[string]any); first["id"] != made["id"] || first["description"] != nil {
		t.Errorf("port_forwardings %v", exposed)
	}

	another := env.nodePort("server-2")
	id, _ := made["id"].(string)
	status, answer = env.call(http.MethodPut, path+"/"+id, map[string]any{"port_forwarding": map[string]any{
		"internal_port_id": another.ID, "internal_ip_address": another.FixedIPs[0].Address,
	}})
	if got := env.reaches(fip, 80); status != http.StatusOK || got != "server-2" {
		t.Errorf("after the change %d %v: port 80 reaches %q", status, answer, got)
	}
	if status, _ := env.call(http.MethodDelete, path+"/"+id, nil); status != http.StatusNoContent || env.FloatingIPs()[0].RouterID != "" {
		t.Errorf("after the deletion %d: %+v", status, env.FloatingIPs()[0])
	}
	env.refused(http.MethodDelete, path+"/"+id, nil, 404, "PortForwardingNotFound")
}

func TestForwardings_AreRefused(t *testing.T) {
	t.Parallel()
	env, fip, node := forwarded(t, neutron.Options{})
	path := "/v2.0/floatingips/" + fip.ID + "/port_forwardings"
	other := env.nodePort("server-2")
	_, err := env.AddForwarding(fip.ID, neutron.Forwarding{Protocol: "tcp", ExternalPort: 80, InternalPort: 30080, PortID: node.ID, Address: node.FixedIPs[0].Address})
	must(t, err)
	env.refused(http.MethodPost, path, forwarding(other, 80, 30080), 400, "BadRequest")   // the external port is in use
	env.refused(http.MethodPost, path, forwarding(node, 81, 30080), 400, "BadRequest")    // so is the port inside
	env.refused(http.MethodPost, path, forwarding(node, 70000, 1), 400, "HTTPBadRequest") // no port
	wrong := forwarding(node, 82, 30082)
	wrong["port_forwarding"].(map[string]any)["internal_ip_address"] = "10.6.99.99"
	env.refused(http.MethodPost, path, wrong, 400, "BadRequest")
	env.refused(http.MethodDelete, "/v2.0/floatingips/"+fip.ID, nil, 409, "FipInUseByPortForwarding")
	env.refused(http.MethodPut, "/v2.0/floatingips/"+fip.ID, floatingIPBody(map[string]any{"port_id": other.ID}), 409, "FipInUseByPortForwarding")

	second, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: other.ID})
	must(t, err)
	env.refused(http.MethodPost, path, forwarding(other, 83, 30083), 409, "PortHasBindingFloatingIP")
	env.refused(http.MethodPost, "/v2.0/floatingips/"+second.ID+"/port_forwardings", forwarding(node, 84, 30084), 409, "FloatingIPPortAlreadyAssociated")
}

// The forwardings to a port go with it.
func TestForwardings_GoWithTheirPort(t *testing.T) {
	t.Parallel()
	env, fip, node := forwarded(t, neutron.Options{})
	_, err := env.AddForwarding(fip.ID, neutron.Forwarding{Protocol: "tcp", ExternalPort: 80, InternalPort: 30080, PortID: node.ID, Address: node.FixedIPs[0].Address})
	must(t, err)
	must(t, env.DeletePort(node.ID))
	if left := env.Forwardings(fip.ID); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if status, _ := env.call(http.MethodDelete, "/v2.0/floatingips/"+fip.ID, nil); status != http.StatusNoContent {
		t.Errorf("the deletion of the floating IP is answered %d", status)
	}
}

// Without the service plug-in, there is no such collection.
func TestForwardings_NeedServicePlugin(t *testing.T) {
	t.Parallel()
	env, fip, node := forwarded(t, neutron.Options{Extensions: slices.DeleteFunc(neutron.DefaultExtensions(), func(alias string) bool {
		return alias == "floating-ip-port-forwarding" || alias == "expose-port-forwarding-in-fip"
	})})
	if status, _ := env.send(http.MethodPost, "/v2.0/floatingips/"+fip.ID+"/port_forwardings", forwarding(node, 80, 30080)); status != http.StatusNotFound {
		t.Errorf("answered %d", status)
	}
	_, answer := env.call(http.MethodGet, "/v2.0/floatingips/"+fip.ID, nil)
	if shown, _ := answer["floatingip"].(map[string]any); shown["port_forwardings"] != nil {
		t.Errorf("floating IP %v", shown)
	}
}
