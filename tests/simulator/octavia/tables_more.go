package octavia

import (
	"slices"
	"strings"
)

func policyTable() *table {
	of := func(t any) *L7Policy { return t.(*L7Policy) }
	return &table{
		name: "l7policies", links: "l7policies_links", model: "L7Policy", sql: "l7policy", order: stateful(), tagged: true,
		renamed: map[string]string{"admin_state_up": "enabled"},
		columns: columns(metaColumns(), map[string]column{
			"description":      text(func(t any) string { return of(t).Description }),
			"action":           text(func(t any) string { return of(t).Action }),
			"listener_id":      text(func(t any) string { return of(t).ListenerID }),
			"redirect_pool_id": text(func(t any) string { return of(t).RedirectPoolID }),
			"redirect_url":     text(func(t any) string { return of(t).RedirectURL }),
			"redirect_prefix":  text(func(t any) string { return of(t).RedirectPrefix }),
			"position":         number(func(t any) int { return of(t).Position }),
			"redirect_http_code": {columnInteger, func(t any) any {
				if code := of(t).RedirectHTTPCode; code != 0 {
					return code
				}
				return nil
			}},
			"l7rules": special(columnChildren), "listener": special(columnOther), "redirect_pool": special(columnOther),
		}),
	}
}

func ruleTable() *table {
	of := func(t any) *L7Rule { return t.(*L7Rule) }
	all := columns(metaColumns(), map[string]column{
		"type":         text(func(t any) string { return of(t).Type }),
		"compare_type": text(func(t any) string { return of(t).CompareType }),
		"key":          text(func(t any) string { return of(t).Key }),
		"value":        text(func(t any) string { return of(t).Value }),
		"invert":       truth(func(t any) bool { return of(t).Invert }),
		"l7policy_id":  text(func(t any) string { return of(t).PolicyID }),
		"l7policy":     special(columnOther),
	})
	delete(all, "name")
	return &table{
		name: "rules", links: "rules_links", model: "L7Rule", sql: "l7rule", order: stateful(), tagged: true,
		renamed: map[string]string{"admin_state_up": "enabled"}, columns: all,
	}
}

func amphoraTable() *table {
	of := func(t any) *Amphora { return t.(*Amphora) }
	null := func(kind columnKind) column { return special(kind) }
	return &table{
		name: "amphorae", links: "amphorae_links", model: "Amphora", sql: "amphora", order: stateful(),
		renamed: map[string]string{"loadbalancer_id": "load_balancer_id"},
		columns: map[string]column{
			"id":               text(func(t any) string { return of(t).ID }),
			"load_balancer_id": text(func(t any) string { return of(t).LoadBalancerID }),
			"compute_id":       text(func(t any) string { return of(t).ComputeID }),
			"status":           text(func(t any) string { return of(t).Status }),
			"role":             text(func(t any) string { return of(t).Role }),
			"lb_network_ip":    text(func(t any) string { return of(t).ManagementAddress }),
			"vrrp_ip":          text(func(t any) string { return of(t).VRRPAddress }),
			"vrrp_port_id":     text(func(t any) string { return of(t).VRRPPortID }),
			"ha_ip":            null(columnText), "ha_port_id": null(columnText), "vrrp_interface": null(columnText),
			"cached_zone": null(columnText), "image_id": null(columnText), "compute_flavor": null(columnText),
			"vrrp_id": number(func(any) int { return 1 }), "vrrp_priority": null(columnInteger),
			"cert_expiration": null(columnTime), "cert_busy": truth(func(any) bool { return false }),
			"created_at":    {columnTime, func(t any) any { return instant(of(t).CreatedAt) }},
			"updated_at":    {columnTime, func(t any) any { return instant(of(t).UpdatedAt) }},
			"load_balancer": null(columnOther),
		},
	}
}

// quotaRow is the quota of a project as a list shows it.
type quotaRow struct {
	project string
	limits  map[string]int
}

func quotaTable() *table {
	all := map[string]column{"project_id": text(func(t any) string { return t.(quotaRow).project })}
	for _, class := range quotaClasses() {
		all[class.database] = column{columnInteger, func(t any) any {
			if limit, given := t.(quotaRow).limits[class.name]; given {
				return limit
			}
			return nil
		}}
	}
	return &table{
		name: "quotas", links: "quotas_links", model: "Quotas", sql: "quotas", hasNoID: true,
		renamed: map[string]string{"loadbalancer": "load_balancer", "healthmonitor": "health_monitor"}, columns: all,
	}
}

func flavorTable() *table {
	of := func(t any) *Flavor { return t.(*Flavor) }
	return &table{
		name: "flavors", links: "flavors_links", model: "Flavor", sql: "flavor", order: []string{"id"}, unscoped: true,
		columns: map[string]column{
			"id":                text(func(t any) string { return of(t).ID }),
			"name":              text(func(t any) string { return of(t).Name }),
			"description":       text(func(t any) string { return of(t).Description }),
			"enabled":           truth(func(t any) bool { return of(t).Enabled }),
			"flavor_profile_id": text(func(t any) string { return of(t).ProfileID }),
		},
	}
}

func zoneTable() *table {
	of := func(t any) *AvailabilityZone { return t.(*AvailabilityZone) }
	return &table{
		name: "availability_zones", links: "availability_zones_links", model: "AvailabilityZone", sql: "availability_zone",
		hasNoID: true, unscoped: true,
		columns: map[string]column{
			"name":                         text(func(t any) string { return of(t).Name }),
			"description":                  text(func(t any) string { return of(t).Description }),
			"enabled":                      truth(func(t any) bool { return of(t).Enabled }),
			"availability_zone_profile_id": text(func(t any) string { return of(t).ProfileID }),
		},
	}
}

func profileTable(name, links, model, sql, data string) *table {
	of := func(t any) *Profile { return t.(*Profile) }
	return &table{
		name: name, links: links, model: model, sql: sql, order: []string{"id"}, unscoped: true,
		columns: map[string]column{
			"id":            text(func(t any) string { return of(t).ID }),
			"name":          text(func(t any) string { return of(t).Name }),
			"provider_name": text(func(t any) string { return of(t).Provider }),
			data:            text(func(t any) string { return of(t).Data }),
		},
	}
}

// nullDescription returns null for a missing description, but not for one that was given empty.
func (lb *LoadBalancer) nullDescription() any {
	if lb.Description == "" && !lb.described {
		return nil
	}
	return lb.Description
}

// packedHeaders orders headers as their pickled form does well enough: those
// without any come first.
func packedHeaders(headers map[string]string) any {
	if len(headers) == 0 {
		return nil
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
