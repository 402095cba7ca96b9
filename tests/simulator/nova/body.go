package nova

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// networkFacts has the ports of the servers, as in Nova's network info cache, but never outdated.
type networkFacts struct {
	ports    map[string][]neutron.Port // by server
	networks map[string]string         // names by ID
	floating map[string][]string       // addresses by port ID and fixed address
	groups   map[string]string         // names by ID
}

// gatherFacts reads the ports from Neutron. It must not be called with Nova's lock held.
func (n *Nova) gatherFacts() *networkFacts {
	facts := &networkFacts{
		ports: n.portsByServer(), networks: map[string]string{}, floating: map[string][]string{}, groups: map[string]string{},
	}
	for _, network := range n.network.Networks() {
		facts.networks[network.ID] = network.Name
	}
	for _, fip := range n.network.FloatingIPs() {
		key := fip.PortID + fip.FixedAddress
		facts.floating[key] = append(facts.floating[key], fip.Address)
	}
	for _, group := range n.network.SecurityGroups() {
		facts.groups[group.ID] = group.Name
	}
	return facts
}

func (n *Nova) showServer(c *call) (int, any, error) {
	facts := n.gatherFacts()
	n.mu.Lock()
	defer n.mu.Unlock()
	record, err := n.serverFor(c)
	if err != nil {
		return 0, nil, err
	}
	if n.down[record.spec.Cell] {
		if c.minor < 69 {
			return 0, nil, computeFault(http.StatusInternalServerError, "Cell %s is not responding or returned an exception, hence instance info is not available.", record.spec.Cell)
		}
		return http.StatusOK, map[string]any{"server": partialBody(c, record, true)}, nil
	}
	return http.StatusOK, map[string]any{"server": serverBody(c, record, facts)}, nil
}

// serverFor returns the server of the path if the caller may read it.
func (n *Nova) serverFor(c *call) (*server, error) {
	id := c.PathValue("id")
	record, ok := n.existing(id)
	if !ok || (record.spec.ProjectID != c.caller.ProjectID && !c.caller.IsAdmin()) {
		return nil, itemNotFound("Instance %s could not be found.", id)
	}
	return record, nil
}

func (n *Nova) listInterfaces(c *call) (int, any, error) {
	facts := n.gatherFacts()
	n.mu.Lock()
	defer n.mu.Unlock()
	record, err := n.serverFor(c)
	if err != nil {
		return 0, nil, err
	}
	attachments := []any{}
	for _, port := range facts.ports[record.spec.ID] {
		attachment := map[string]any{
			"port_id": port.ID, "net_id": port.NetworkID, "mac_addr": port.MACAddress, "port_state": port.Status,
			"fixed_ips": port.FixedIPs,
		}
		if c.minor >= 70 {
			attachment["tag"] = nil
		}
		attachments = append(attachments, attachment)
	}
	return http.StatusOK, map[string]any{"interfaceAttachments": attachments}, nil
}

func serverLinks(c *call, record *server) []link {
	return []link{
		{Rel: "self", HRef: wire.Base(c.Request) + "/v2.1/servers/" + record.spec.ID},
		{Rel: "bookmark", HRef: wire.Base(c.Request) + "/servers/" + record.spec.ID},
	}
}

// partialBody returns the body of a server in a cell that is down: the fields in the database of
// the API (microversion 2.69).
func partialBody(c *call, record *server, detail bool) map[string]any {
	body := map[string]any{"id": record.spec.ID, "status": "UNKNOWN", "links": serverLinks(c, record)}
	if detail {
		body["created"] = record.created.Format(secondFormat)
		body["tenant_id"] = record.spec.ProjectID
	}
	return body
}

const (
	secondFormat   = "2006-01-02T15:04:05Z"
	launchedFormat = "2006-01-02T15:04:05.000000"
)

func serverBody(c *call, record *server, facts *networkFacts) map[string]any {
	spec := record.spec
	vmState, powerState, taskState := states(record.status)
	metadata := spec.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	body := map[string]any{
		"id": spec.ID, "name": spec.Name, "status": record.status, "tenant_id": spec.ProjectID, "user_id": spec.UserID,
		"metadata": metadata, "hostId": hostID(spec), "key_name": nil, "config_drive": "", "progress": 0,
		"image":  map[string]any{"id": imageID, "links": []link{{Rel: "bookmark", HRef: wire.Base(c.Request) + "/images/" + imageID}}},
		"flavor": embeddedFlavor(c, record.flavor), "links": serverLinks(c, record),
		"created": record.created.Format(secondFormat), "updated": record.updated.Format(secondFormat),
		"addresses": addressesBody(facts, spec.ID), "accessIPv4": spec.AccessIPv4, "accessIPv6": spec.AccessIPv6,
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": spec.Zone,
		"OS-EXT-STS:vm_state": vmState, "OS-EXT-STS:power_state": powerState, "OS-EXT-STS:task_state": taskState,
		"OS-SRV-USG:launched_at": record.created.Format(launchedFormat), "OS-SRV-USG:terminated_at": nil,
		"os-extended-volumes:volumes_attached": []any{}, "security_groups": groupsBody(facts, spec.ID),
	}
	if !record.deleted.IsZero() {
		body["OS-SRV-USG:terminated_at"] = record.deleted.Format(launchedFormat)
		body["addresses"], body["security_groups"] = map[string]any{}, []any{}
	}
	addByMicroversion(c, body, spec)
	return body
}

// addByMicroversion adds the fields of later versions of the API.
func addByMicroversion(c *call, body map[string]any, spec ServerSpec) {
	for _, addition := range []struct {
		minor int
		name  string
		value any
	}{
		{9, "locked", false},
		{19, "description", nil},
		{26, "tags", append([]string{}, spec.Tags...)},
		{63, "trusted_image_certificates", nil},
		{71, "server_groups", []string{}},
		{73, "locked_reason", nil},
		{90, "OS-EXT-SRV-ATTR:hostname", spec.Name},
	} {
		if c.minor >= addition.minor {
			body[addition.name] = addition.value
		}
	}
}

// imageID is the image of all servers.
const imageID = "9d3a5d6e-5c1e-4f5c-9c5f-0b7f3a1f2c11"

// hostID returns an ID of the host of a server that differs between projects.
func hostID(spec ServerSpec) string {
	return fmt.Sprintf("%x", sha256.Sum224([]byte(spec.ProjectID+spec.Cell+spec.Zone)))
}

type addressBody struct {
	Address string `json:"addr"`
	Version int    `json:"version"`
	Type    string `json:"OS-EXT-IPS:type"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
}

// addressesBody lists a server's addresses by network name: each fixed address
// followed by the floating IPs that lead to it.
func addressesBody(facts *networkFacts, serverID string) map[string][]addressBody {
	addresses := map[string][]addressBody{}
	for _, port := range facts.ports[serverID] {
		name := facts.networks[port.NetworkID]
		for _, fixed := range port.FixedIPs {
			addresses[name] = append(addresses[name], newAddress(fixed.Address, "fixed", port.MACAddress))
			for _, floating := range facts.floating[port.ID+fixed.Address] {
				addresses[name] = append(addresses[name], newAddress(floating, "floating", port.MACAddress))
			}
		}
	}
	return addresses
}

func newAddress(address, kind, mac string) addressBody {
	version := 4
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is6() {
		version = 6
	}
	return addressBody{Address: address, Version: version, Type: kind, MAC: mac}
}

func groupsBody(facts *networkFacts, serverID string) []map[string]string {
	groups := []map[string]string{}
	var seen []string
	for _, port := range facts.ports[serverID] {
		for _, id := range port.SecurityGroups {
			if !slices.Contains(seen, id) {
				seen = append(seen, id)
				groups = append(groups, map[string]string{"name": facts.groups[id]})
			}
		}
	}
	return groups
}

// states are the states behind a status: vm_state, power_state and task_state.
func states(status string) (vmState string, powerState int, taskState any) {
	switch status {
	case "ACTIVE":
		return "active", 1, nil
	case "BUILD":
		return "building", 0, "spawning"
	case "REBOOT":
		return "active", 1, "rebooting"
	case "HARD_REBOOT":
		return "active", 1, "rebooting_hard"
	case "SHUTOFF":
		return "stopped", 4, nil
	case "PAUSED":
		return "paused", 3, nil
	case "SUSPENDED":
		return "suspended", 4, nil
	case "RESCUE":
		return "rescued", 1, nil
	case "VERIFY_RESIZE":
		return "resized", 1, nil
	case "SHELVED":
		return "shelved", 4, nil
	case "SHELVED_OFFLOADED":
		return "shelved_offloaded", 4, nil
	case "SOFT_DELETED":
		return "soft-delete", 0, nil
	case "DELETED":
		return "deleted", 0, nil
	}
	return "error", 0, nil
}
