package nova

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// The objects below a server, and further resources that clients read before servers.

// withServer returns an answer about the server of the path.
func (n *Nova) withServer(c *call, answer func(*server, *networkFacts) any) (int, any, error) {
	facts := n.gatherFacts()
	n.mu.Lock()
	defer n.mu.Unlock()
	record, err := n.serverFor(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, answer(record, facts), nil
}

func (n *Nova) listAddresses(c *call) (int, any, error) {
	return n.withServer(c, func(record *server, facts *networkFacts) any {
		short := map[string][]any{}
		for network, addresses := range addressesBody(facts, record.spec.ID) {
			for _, address := range addresses {
				short[network] = append(short[network], map[string]any{"version": address.Version, "addr": address.Address})
			}
		}
		return map[string]any{"addresses": short}
	})
}

func (n *Nova) showMetadata(c *call) (int, any, error) {
	return n.withServer(c, func(record *server, _ *networkFacts) any {
		metadata := map[string]string{}
		maps.Copy(metadata, record.spec.Metadata)
		return map[string]any{"metadata": metadata}
	})
}

func (n *Nova) showTags(c *call) (int, any, error) {
	return n.withServer(c, func(record *server, _ *networkFacts) any {
		return map[string]any{"tags": append([]string{}, record.spec.Tags...)}
	})
}

func (n *Nova) listVolumes(c *call) (int, any, error) {
	return n.withServer(c, func(*server, *networkFacts) any {
		return map[string]any{"volumeAttachments": []any{}}
	})
}

// removeServer deletes at once; a real server takes a moment.
func (n *Nova) removeServer(c *call) (int, any, error) {
	if _, _, err := n.withServer(c, func(*server, *networkFacts) any { return nil }); err != nil {
		return 0, nil, err
	}
	n.DeleteServer(c.PathValue("id"))
	return http.StatusNoContent, nil, nil
}

// listServerGroups lists the security groups of a server's ports in the form
// that they had before Neutron.
func (n *Nova) listServerGroups(c *call) (int, any, error) {
	groups := n.network.SecurityGroups()
	return n.withServer(c, func(record *server, facts *networkFacts) any {
		shown := []any{}
		for _, group := range groups {
			if slices.ContainsFunc(facts.ports[record.spec.ID], func(port neutron.Port) bool {
				return slices.Contains(port.SecurityGroups, group.ID)
			}) {
				shown = append(shown, oldGroup(group))
			}
		}
		return map[string]any{"security_groups": shown}
	})
}

func oldGroup(group neutron.SecurityGroup) map[string]any {
	rules := []any{}
	for _, rule := range group.Rules {
		if rule.Direction == "ingress" {
			rules = append(rules, oldRule(rule))
		}
	}
	return map[string]any{
		"id": group.ID, "name": group.Name, "description": group.Description, "tenant_id": group.ProjectID, "rules": rules,
	}
}

func oldRule(rule neutron.SecurityGroupRule) map[string]any {
	first, last := cmp.Or(rule.PortRangeMin, -1), cmp.Or(rule.PortRangeMax, -1)
	if first < 0 && (rule.Protocol == "tcp" || rule.Protocol == "udp") {
		first, last = 1, 65535
	}
	shown := map[string]any{
		"id": rule.ID, "parent_group_id": rule.SecurityGroupID, "ip_protocol": nil, "from_port": first, "to_port": last,
		"group": map[string]any{}, "ip_range": map[string]string{"cidr": cmp.Or(rule.RemoteIPPrefix, "0.0.0.0/0")},
	}
	if rule.Protocol != "" {
		shown["ip_protocol"] = rule.Protocol
	}
	if rule.RemoteGroupID != "" {
		shown["group"] = map[string]any{"name": rule.RemoteGroupID, "tenant_id": rule.ProjectID}
		shown["ip_range"] = map[string]string{}
	}
	return shown
}

// noLimit is Nova's value for no limit.
const noLimit = -1

func (n *Nova) showLimits(c *call) (int, any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	servers, cores, ram := 0, 0, 0
	for _, record := range n.servers {
		if record.deleted.IsZero() && record.spec.ProjectID == c.caller.ProjectID {
			servers++
			cores += record.flavor.VCPUs
			ram += record.flavor.RAM
		}
	}
	return http.StatusOK, map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": map[string]int{
		"maxTotalInstances": noLimit, "maxTotalCores": noLimit, "maxTotalRAMSize": noLimit, "maxServerMeta": 128,
		"maxImageMeta": 128, "maxPersonality": 5, "maxPersonalitySize": 10240, "maxTotalKeypairs": 100,
		"maxServerGroups": 10, "maxServerGroupMembers": 10, "maxTotalFloatingIps": noLimit, "maxSecurityGroups": noLimit,
		"maxSecurityGroupRules": noLimit, "totalRAMUsed": ram, "totalCoresUsed": cores, "totalInstancesUsed": servers,
		"totalFloatingIpsUsed": 0, "totalSecurityGroupsUsed": 0, "totalServerGroupsUsed": 0,
	}}}, nil
}

func (n *Nova) showQuotas(c *call) (int, any, error) {
	return http.StatusOK, map[string]any{"quota_set": map[string]any{
		"id": c.PathValue("project"), "cores": noLimit, "fixed_ips": noLimit, "floating_ips": noLimit,
		"injected_file_content_bytes": 10240, "injected_file_path_bytes": 255, "injected_files": 5, "instances": noLimit,
		"key_pairs": 100, "metadata_items": 128, "ram": noLimit, "security_group_rules": noLimit,
		"security_groups": noLimit, "server_group_members": 10, "server_groups": 10,
	}}, nil
}

// listZones lists the zones that servers are in, and "nova".
func (n *Nova) listZones(*call) (int, any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := []string{"nova"}
	for _, record := range n.servers {
		names = append(names, record.spec.Zone)
	}
	slices.Sort(names)
	zones := []any{}
	for _, name := range slices.Compact(names) {
		zones = append(zones, map[string]any{
			"zoneName": name, "zoneState": map[string]bool{"available": true}, "hosts": nil,
		})
	}
	return http.StatusOK, map[string]any{"availabilityZoneInfo": zones}, nil
}
