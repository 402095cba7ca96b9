package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// right is a permission that the controller needs.
type right struct {
	service, what string
	// rules are its names in the policy of the service.
	rules []string
	// needed reports whether it is necessary; nil: always. setting describes the condition.
	needed  func(*config.Config) bool
	setting string
	// try executes it, or makes the service refuse it; nil: it cannot be tested without executing
	// it, for the reason in why.
	try func(context.Context, *cloud) error
	// writes is set if try sends a write that must be refused.
	writes bool
	why    string
}

// errHidden is the error of an empty list.
var errHidden = errors.New("the list is empty; there is none, or Neutron hides them from this user")

// Reasons why a right cannot be tested.
const (
	octaviaLooksFirst = "Octavia reads the object before its policy; by default, a user who may create load balancers may do this"
	neutronLooksFirst = "Neutron reads the object before its policy"
	wouldBeDone       = "Neutron would execute such a request if its policy allows it"
)

// rights tests the user's permissions that the controller needs.
func (c *cloud) rights(ctx context.Context, asked []service) []Finding {
	var found []Finding
	for _, r := range allRights() {
		if r.needed != nil && !r.needed(c.conf) || !reachable(asked, r.service) {
			continue
		}
		f := Finding{Topic: Rights, Subject: r.service, Rules: r.rules}
		switch {
		case r.try == nil:
			f.Verdict, f.Text = Unchecked, r.what+": "+r.why
		case r.writes && c.options.ReadOnly:
			f.Verdict, f.Text = Unchecked, r.what+": not tested with --read-only"
		default:
			f.Verdict, f.Text = r.outcome(r.try(ctx, c))
		}
		found = append(found, f)
	}
	return found
}

// outcome evaluates the answer to a try.
//
//	answer                          read         refused write
//	success                         allowed      allowed, which does not happen
//	403 of its policy               denied       denied
//	400, 404 for the object         not known    allowed: policy comes first
//	a quota                         not known    not known: it comes before policy
func (r right) outcome(err error) (Verdict, string) {
	switch {
	case err == nil:
		return Good, r.what
	case apierror.IsForbidden(err):
		return Wrong, fmt.Sprintf("this user may not %s: %s; it needs the role %s in this project",
			r.what, strings.TrimSuffix(apierror.Message(err), "."), r.role())
	case apierror.IsQuota(err):
		return Unchecked, r.what + ": the quota is exhausted, which is checked before the policy"
	case r.writes && (apierror.IsInvalid(err) || apierror.IsNotFound(err)):
		return Good, r.what
	}
	return Unchecked, r.what + ": " + err.Error()
}

// role returns the default role that grants the right.
func (r right) role() string {
	if r.service == octaviaService {
		return "load-balancer_member"
	}
	return "member"
}

// allRights returns the table of permissions. Names of rules are those of the services' own
// policies (octavia/policies, neutron/conf/policies, nova/policies).
func allRights() []right {
	return append(octaviaRights(), append(neutronRights(),
		right{service: novaService, what: "read servers", rules: []string{"os_compute_api:servers:detail", "os_compute_api:servers:show"},
			try: func(ctx context.Context, c *cloud) error { return c.session.Nova().First(ctx) }},
		right{service: barbicanService, what: "read certificates", rules: []string{"secret:get", "container:get"}, needed: balancing, setting: "listeners with TLS",
			why: "Barbican has rights for each certificate, and the Services name them"},
	)...)
}

// Settings of cloud.conf that need a right.
const (
	ifBalancing = "[LoadBalancer] enabled=true, the default"
	ifGrouping  = "[LoadBalancer] manage-security-groups=true"
	ifRouting   = "[Route] router-id"
	ifLeading   = "[LoadBalancer] router-vip-network-id"
	ifForwarded = "[LoadBalancer] lb-provider=port-forwarding, also in a class or on a Service"
)

func balancing(conf *config.Config) bool { return conf.LoadBalancer.Enabled }

func grouping(conf *config.Config) bool {
	return conf.LoadBalancer.Enabled && conf.LoadBalancer.ManageSecurityGroups
}

func routing(conf *config.Config) bool { return conf.Route.RouterID != "" }

func leading(conf *config.Config) bool {
	return balancing(conf) && conf.LoadBalancer.RouterVIPNetworkID != ""
}

func forwarding(conf *config.Config) bool {
	asks := conf.LoadBalancer.LBProvider == driver.PortForwarding
	for _, class := range conf.LoadBalancerClass {
		asks = asks || class.LBProvider == driver.PortForwarding
	}
	return balancing(conf) && asks
}

func octaviaRights() []right {
	const api = "os_load-balancer_api:"
	first := func(collection string) func(context.Context, *cloud) error {
		return func(ctx context.Context, c *cloud) error { return c.session.Octavia().First(ctx, collection) }
	}
	writes := func(kind string) []string {
		return []string{api + kind + ":post", api + kind + ":put", api + kind + ":delete"}
	}
	rights := []right{
		{what: "read load balancers", try: first("loadbalancers"), rules: []string{api + "loadbalancer:get_all", api + "loadbalancer:get_one", api + "loadbalancer:get_status"}},
		{what: "read listeners", try: first("listeners"), rules: []string{api + "listener:get_all"}},
		{what: "read pools and members", try: first("pools"), rules: []string{api + "pool:get_all", api + "member:get_all"}},
		{what: "read health monitors", try: first("healthmonitors"), rules: []string{api + "healthmonitor:get_all", api + "healthmonitor:get_one"}},
		{what: "create load balancers", writes: true, rules: []string{api + "loadbalancer:post"},
			try: func(ctx context.Context, c *cloud) error { return c.session.Octavia().TryCreate(ctx) }},
		{what: "change and delete load balancers; write listeners, pools, members and health monitors", why: octaviaLooksFirst, rules: slices.Concat(
			[]string{api + "loadbalancer:put", api + "loadbalancer:delete"}, writes("listener"), writes("pool"), writes("member"), writes("healthmonitor"))},
	}
	for n := range rights {
		rights[n].service, rights[n].needed, rights[n].setting = octaviaService, balancing, ifBalancing
	}
	return rights
}

func neutronRights() []right {
	sees := func(collection string) func(context.Context, *cloud) error {
		return func(ctx context.Context, c *cloud) error {
			seen, err := c.session.Neutron().Sees(ctx, collection)
			if err == nil && !seen {
				err = errHidden
			}
			return err
		}
	}
	writesRoutes := func(conf *config.Config) bool { return routing(conf) || leading(conf) }
	changesPorts := func(conf *config.Config) bool { return grouping(conf) || writesRoutes(conf) }
	rights := []right{
		{what: "read networks", needed: balancing, setting: ifBalancing, try: sees("networks"), rules: []string{"get_network"}},
		{what: "read subnets", needed: balancing, setting: ifBalancing, try: sees("subnets"), rules: []string{"get_subnet"}},
		{what: "read ports", try: sees("ports"), rules: []string{"get_port"}},
		{what: "read floating IPs", needed: balancing, setting: ifBalancing, try: sees("floatingips"), rules: []string{"get_floatingip"}},
		{what: "create floating IPs", needed: balancing, setting: ifBalancing, writes: true, rules: []string{"create_floatingip"},
			try: func(ctx context.Context, c *cloud) error { return c.session.Neutron().TryFloatingIP(ctx) }},
		{what: "change and delete floating IPs", needed: balancing, setting: ifBalancing, why: neutronLooksFirst, rules: []string{"update_floatingip", "delete_floatingip"}},
		{what: "read security groups", needed: grouping, setting: ifGrouping, try: sees("security-groups"), rules: []string{"get_security_group", "get_security_group_rule"}},
		{what: "create security groups", needed: grouping, setting: ifGrouping, why: wouldBeDone, rules: []string{"create_security_group", "update_security_groups_tags"}},
		{what: "delete security groups, write their rules", needed: grouping, setting: ifGrouping, why: neutronLooksFirst,
			rules: []string{"delete_security_group", "create_security_group_rule", "delete_security_group_rule"}},
		{what: "change ports of nodes", needed: changesPorts, setting: ifGrouping + "; " + ifRouting + "; " + ifLeading, why: neutronLooksFirst, rules: []string{"update_port", "update_port:allowed_address_pairs"}},
		{what: "write routes of the router", needed: writesRoutes, setting: ifRouting + "; " + ifLeading, why: neutronLooksFirst, rules: []string{"add_extraroutes", "remove_extraroutes", "update_router"}},
		{what: "create ports with an address and tags, and delete them", needed: leading, setting: ifLeading, why: wouldBeDone,
			rules: []string{"create_port", "create_port:fixed_ips", "create_port:fixed_ips:ip_address", "create_port:fixed_ips:subnet_id", "create_port:tags", "delete_port"}},
		{what: "write port forwardings", needed: forwarding, setting: ifForwarded, why: neutronLooksFirst, rules: []string{
			"get_floatingip_port_forwarding", "create_floatingip_port_forwarding", "update_floatingip_port_forwarding", "delete_floatingip_port_forwarding"}},
	}
	for n := range rights {
		rights[n].service = neutronService
	}
	return rights
}
