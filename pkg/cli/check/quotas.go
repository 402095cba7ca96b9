package check

import (
	"context"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// quota is the limit and the use of a resource in the project.
type quota struct {
	service, of string
	// limit is negative if there is none.
	limit, used int
}

// quotas returns the free part of the quotas that the controller uses.
func (c *cloud) quotas(ctx context.Context, asked []service) []Finding {
	if !c.conf.LoadBalancer.Enabled {
		return nil
	}
	var found []Finding
	if reachable(asked, octaviaService) {
		all, err := c.session.Octavia().Quotas(ctx)
		for _, q := range all {
			found = append(found, quotaFinding(quota{octaviaService, q.Class, q.Limit, q.Used}))
		}
		found = append(found, quotaUnknown(octaviaService, err)...)
	}
	if reachable(asked, neutronService) {
		all, err := c.session.Neutron().Quotas(ctx)
		for _, kind := range c.neutronKinds() {
			if q, known := all[kind[0]]; known {
				found = append(found, quotaFinding(quota{neutronService, kind[1], q.Limit, q.Used + q.Reserved}))
			}
		}
		found = append(found, quotaUnknown(neutronService, err)...)
	}
	return found
}

// neutronKinds returns the resources of load balancers, with Neutron's name and ours.
func (c *cloud) neutronKinds() [][2]string {
	kinds := [][2]string{{"port", "ports"}, {"floatingip", "floating IPs"}}
	if c.conf.LoadBalancer.ManageSecurityGroups {
		kinds = append(kinds, [2]string{"security_group", "security groups"}, [2]string{"security_group_rule", "security group rules"})
	}
	return kinds
}

func quotaFinding(q quota) Finding {
	f := Finding{Topic: Quotas, Verdict: Good, Subject: fmt.Sprintf("%s of %s", q.of, q.service)}
	switch left := q.limit - q.used; {
	case q.limit < 0:
		f.Text = "no limit"
	case left <= 0:
		f.Verdict, f.Text = Warning, fmt.Sprintf("none left of %d: existing ones stay, new ones are refused", q.limit)
	default:
		f.Text = fmt.Sprintf("%d left of %d", left, q.limit)
	}
	return f
}

func quotaUnknown(service string, err error) []Finding {
	if err == nil {
		return nil
	}
	f := Finding{Topic: Quotas, Verdict: Unchecked, Subject: "quotas of " + service, Text: err.Error()}
	if apierror.IsForbidden(err) {
		f.Text = "this user may not read them"
	}
	return []Finding{f}
}
