package neutron

import (
	"context"
	"net/url"
	"strconv"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// SecurityGroup holds the attributes of a security group that the client reads.
type SecurityGroup struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Tags        []string            `json:"tags"`
	Rules       []SecurityGroupRule `json:"security_group_rules"`
}

// SecurityGroupRule is a rule of a security group. Nil ports and empty strings mean
// any.
type SecurityGroupRule struct {
	ID                   string `json:"id"`
	Description          string `json:"description"`
	Direction            string `json:"direction"` // ingress or egress
	EtherType            string `json:"ethertype"` // IPv4 or IPv6
	Protocol             string `json:"protocol"`
	PortRangeMin         *int   `json:"port_range_min"`
	PortRangeMax         *int   `json:"port_range_max"`
	RemoteIPPrefix       string `json:"remote_ip_prefix"`
	RemoteGroupID        string `json:"remote_group_id"`
	RemoteAddressGroupID string `json:"remote_address_group_id"`
}

// securityGroupAPI reads and writes security groups.
type securityGroupAPI struct{ requests }

// SecurityGroupsNamed lists the project's security groups of a name, with their
// rules.
func (c securityGroupAPI) SecurityGroupsNamed(ctx context.Context, name string) ([]SecurityGroup, error) {
	return c.securityGroups(ctx, url.Values{"name": {name}})
}

// AllSecurityGroups lists all security groups of the project, with their rules.
func (c securityGroupAPI) AllSecurityGroups(ctx context.Context) ([]SecurityGroup, error) {
	return c.securityGroups(ctx, url.Values{})
}

// SecurityGroupNames lists all security groups of the project, without their rules.
func (c securityGroupAPI) SecurityGroupNames(ctx context.Context) ([]SecurityGroup, error) {
	return c.securityGroups(ctx, url.Values{"fields": {"id", "name", "description", "tags"}})
}

// SecurityGroups lists security groups of any project by ID, with their rules. It sends a request
// for every 150 of them.
func (c securityGroupAPI) SecurityGroups(ctx context.Context, ids []string) ([]SecurityGroup, error) {
	return inChunks(ids, func(chunk []string) ([]SecurityGroup, error) {
		return c.securityGroups(ctx, url.Values{"id": chunk})
	})
}

func (c securityGroupAPI) securityGroups(ctx context.Context, q url.Values) ([]SecurityGroup, error) {
	if project := c.session.ProjectID(); project != "" && q.Get("id") == "" {
		q.Set("project_id", project)
	}
	found, err := list(ctx, c.requests, "security-groups", q, func(g SecurityGroup) string { return g.ID })
	return found, apierror.Wrap(err, "list security groups")
}

// CreateSecurityGroup creates a security group. Neutron adds two rules that allow all egress. It
// may exist if apierror.IsUnsure(err).
func (c securityGroupAPI) CreateSecurityGroup(ctx context.Context, name, description string) (*SecurityGroup, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Group SecurityGroup `json:"security_group"`
	}
	err = groups.Create(ctx, client, groups.CreateOpts{Name: name, Description: description}).ExtractInto(&answer)
	if err != nil {
		return nil, apierror.Wrap(err, "create security group "+name)
	}
	return &answer.Group, nil
}

// TagSecurityGroup replaces the tags of a security group, which cannot be set at its creation.
func (c securityGroupAPI) TagSecurityGroup(ctx context.Context, id string, tags []string) error {
	return c.tag(ctx, "security-groups", id, tags)
}

// DeleteSecurityGroup deletes a security group with its rules. apierror.IsInUse(err) if ports use
// it. After a 404 it sends a second request to read it.
func (c securityGroupAPI) DeleteSecurityGroup(ctx context.Context, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	return c.gone(ctx, apierror.Wrap(groups.Delete(ctx, client, id).ExtractErr(), "delete security group "+id), "security-groups/"+id)
}

// SecurityGroupRules lists the rules of a group. If descriptions are given, it lists only rules
// with one of them.
func (c securityGroupAPI) SecurityGroupRules(ctx context.Context, groupID string, descriptions ...string) ([]SecurityGroupRule, error) {
	q := url.Values{"security_group_id": {groupID}}
	if len(descriptions) > 0 {
		q["description"] = descriptions
	}
	found, err := list(ctx, c.requests, "security-group-rules", q, func(r SecurityGroupRule) string { return r.ID })
	return found, apierror.Wrap(err, "list rules of security group "+groupID)
}

// SomeSecurityGroupRules lists the first ingress rules of a group.
func (c securityGroupAPI) SomeSecurityGroupRules(ctx context.Context, groupID string, most int) ([]SecurityGroupRule, error) {
	q := url.Values{
		"security_group_id": {groupID}, "direction": {"ingress"}, "limit": {strconv.Itoa(most)}, "fields": {"id", "description"},
	}
	var answer struct {
		Rules []SecurityGroupRule `json:"security_group_rules"`
	}
	if err := c.get(ctx, "security-group-rules", q, &answer); err != nil {
		return nil, apierror.Wrap(err, "list rules of security group "+groupID)
	}
	return answer.Rules, nil
}

// SecurityGroupRuleIDs lists the IDs of all rules of the project, by group.
func (c securityGroupAPI) SecurityGroupRuleIDs(ctx context.Context) (map[string][]string, error) {
	type rule struct {
		ID      string `json:"id"`
		GroupID string `json:"security_group_id"`
	}
	q := url.Values{"fields": {"id", "security_group_id"}}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	found, err := list(ctx, c.requests, "security-group-rules", q, func(r rule) string { return r.ID })
	if err != nil {
		return nil, apierror.Wrap(err, "list security group rules")
	}
	byGroup := map[string][]string{}
	for _, r := range found {
		byGroup[r.GroupID] = append(byGroup[r.GroupID], r.ID)
	}
	return byGroup, nil
}

// CreateSecurityGroupRules adds rules to a group atomically. apierror.IsRuleThere(err) if one of
// them exists already.
func (c securityGroupAPI) CreateSecurityGroupRules(ctx context.Context, groupID string, wanted []rules.CreateOpts) ([]SecurityGroupRule, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	for i := range wanted {
		wanted[i].SecGroupID = groupID
	}
	var answer struct {
		Rules []SecurityGroupRule `json:"security_group_rules"`
	}
	if err := rules.CreateBulk(ctx, client, wanted).ExtractInto(&answer); err != nil {
		return nil, apierror.Wrap(err, "add rules to security group "+groupID)
	}
	return answer.Rules, nil
}

// DeleteSecurityGroupRule deletes one rule. Neutron has no request for several.
func (c securityGroupAPI) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	return apierror.IgnoreNotFound(apierror.Wrap(rules.Delete(ctx, client, id).ExtractErr(), "delete security group rule "+id))
}

// inChunks splits IDs into several requests, because a URL is limited to 8 KiB.
func inChunks[T any](ids []string, ask func([]string) ([]T, error)) ([]T, error) {
	return inChunksOf(150, ids, ask)
}

func inChunksOf[T any](perRequest int, values []string, ask func([]string) ([]T, error)) ([]T, error) {
	var all []T
	for len(values) > 0 {
		chunk := values[:min(perRequest, len(values))]
		values = values[len(chunk):]
		found, err := ask(chunk)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
