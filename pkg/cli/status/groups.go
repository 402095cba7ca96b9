package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// SecurityGroup is one that admits traffic to the nodes of a Service.
type SecurityGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Opens are its rules for the Service, such as TCP/30080 from 10.0.0.0/8.
	Opens []string `json:"opens,omitempty"`
}

// securityGroups reads the groups that the controller manages for a Service, none if it manages
// none.
func (rd *round) securityGroups(ctx context.Context, have held) ([]SecurityGroup, error) {
	id, name := have.found.As, ""
	switch rd.finder.Config.LoadBalancer.SecurityGroups() {
	case securitygroup.PerService:
		name = id.SecurityGroup().Name
	case securitygroup.Shared:
		name = id.SharedGroup().Name
	}
	if name == "" {
		return nil, nil
	}
	found, err := rd.options.Session.Neutron().SecurityGroupsNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	var groups []SecurityGroup
	for _, group := range found {
		shared := id.SharedGroup().Is(group.Name, group.Tags)
		if !shared && !id.SecurityGroup().Is(group.Name, group.Tags) {
			continue
		}
		read := SecurityGroup{ID: group.ID, Name: group.Name}
		for _, rule := range group.Rules {
			if rule.Direction == "ingress" && (!shared || rule.Description == id.RuleDescription()) {
				read.Opens = append(read.Opens, opens(rule))
			}
		}
		slices.Sort(read.Opens)
		groups = append(groups, read)
	}
	return groups, nil
}

// opens formats a rule.
func opens(rule neutron.SecurityGroupRule) string {
	text := strings.ToUpper(rule.Protocol)
	if text == "" {
		text = "everything"
	}
	if low, high := rule.PortRangeMin, rule.PortRangeMax; low != nil && high != nil {
		if text += fmt.Sprintf("/%d", *low); *low != *high {
			text += fmt.Sprintf("-%d", *high)
		}
	}
	switch {
	case rule.RemoteIPPrefix != "":
		return text + " from " + rule.RemoteIPPrefix
	case rule.RemoteGroupID != "":
		return text + " from group " + rule.RemoteGroupID
	}
	return text
}

// quotas reads the free part of the quotas that new Services use first. It notes missing read
// permissions.
func (rd *round) quotas(ctx context.Context) []Quota {
	var quotas []Quota
	var ofOctavia []octavia.Quota
	var err error
	if rd.needsOctavia() {
		ofOctavia, err = rd.options.Session.Octavia().Quotas(ctx, octavia.LoadBalancers, octavia.Listeners)
		noteQuotas(&rd.notes, "Octavia", err)
	}
	for _, q := range ofOctavia {
		if q.Limit >= 0 {
			quotas = append(quotas, Quota{Of: q.Class, Limit: q.Limit, Used: q.Used})
		}
	}
	ofNeutron, err := rd.options.Session.Neutron().Quotas(ctx)
	noteQuotas(&rd.notes, "Neutron", err)
	kinds := [][2]string{{"port", "ports"}, {"floatingip", "floating IPs"}}
	if rd.finder.Config.LoadBalancer.ManageSecurityGroups {
		kinds = append(kinds, [2]string{"security_group", "security groups"}, [2]string{"security_group_rule", "security group rules"})
	}
	for _, kind := range kinds {
		if q, known := ofNeutron[kind[0]]; known && q.Limit >= 0 {
			quotas = append(quotas, Quota{Of: kind[1], Limit: q.Limit, Used: q.Used + q.Reserved})
		}
	}
	return quotas
}

func noteQuotas(notes *[]string, service string, err error) {
	switch {
	case err == nil:
	case apierror.IsForbidden(err):
		*notes = append(*notes, "quotas of "+service+" may not be read by this user")
	default:
		*notes = append(*notes, "quotas of "+service+" cannot be read: "+err.Error())
	}
}
