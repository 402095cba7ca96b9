package neutron

import "net/http"

type securityGroupRequest struct {
	TenantID    optional[string] `json:"tenant_id"`
	ProjectID   optional[string] `json:"project_id"`
	Name        optional[string] `json:"name" check:"text"`
	Description optional[string] `json:"description" check:"text"`
	Stateful    optional[bool]   `json:"stateful" check:"bool"`
}

type securityGroupUpdateRequest struct {
	Name        optional[string] `json:"name" check:"text"`
	Description optional[string] `json:"description" check:"text"`
	Stateful    optional[bool]   `json:"stateful" check:"bool"`
}

func (n *Neutron) securityGroupFor(c *call, id string) (*securityGroup, error) {
	record, ok := n.securityGroups.get(id)
	if !ok || !c.sees(record.ProjectID) {
		return nil, securityGroupNotFound(id)
	}
	return record, nil
}

func (n *Neutron) listSecurityGroups(c *call) (int, any, error) {
	if c.caller.ProjectID != "" {
		n.defaultGroup(c.caller.ProjectID)
	}
	seen := visible(n.securityGroups.all(), func(record *securityGroup) bool { return c.sees(record.ProjectID) })
	return list(n, c, "security_groups", seen, securityGroupNotFound)
}

func (n *Neutron) showSecurityGroup(c *call) (int, any, error) {
	record, err := n.securityGroupFor(c, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return show(c, "security_group", record)
}

func (n *Neutron) postSecurityGroup(c *call) (int, any, error) {
	request, err := decode[securityGroupRequest](c, "security_group", securityGroup{})
	if err != nil {
		return 0, nil, err
	}
	if request.Name.get() == "default" {
		return 0, nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	project, err := c.project(request.ProjectID.get(), request.TenantID.get())
	if err != nil {
		return 0, nil, err
	}
	record, err := n.createSecurityGroup(SecurityGroupSpec{
		ProjectID: project, Name: request.Name.get(), Description: request.Description.get(),
	})
	if err != nil {
		return 0, nil, err
	}
	set(&record.Stateful, request.Stateful.value)
	return http.StatusCreated, map[string]any{"security_group": record}, nil
}

func (n *Neutron) putSecurityGroup(c *call) (int, any, error) {
	record, err := n.securityGroupFor(c, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[securityGroupUpdateRequest](c, "security_group", securityGroup{})
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if record.Name == "default" && request.Name.present && request.Name.get() != "default" {
		return 0, nil, conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	}
	if record.Name != "default" && request.Name.get() == "default" {
		return 0, nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	set(&record.Name, request.Name.value)
	set(&record.Description, request.Description.value)
	set(&record.Stateful, request.Stateful.value)
	n.bump(&record.standard)
	return http.StatusOK, map[string]any{"security_group": record}, nil
}

func (n *Neutron) deleteSecurityGroup(c *call) (int, any, error) {
	record, err := n.securityGroupFor(c, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if err := n.dropSecurityGroup(record); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, nil
}

// rulesSeen are the rules of all groups that the caller may see.
func (n *Neutron) rulesSeen(c *call) []*securityGroupRule {
	var rules []*securityGroupRule
	for _, group := range n.securityGroups.all() {
		if c.sees(group.ProjectID) {
			rules = append(rules, group.Rules...)
		}
	}
	return rules
}

func (n *Neutron) ruleFor(c *call) (*securityGroupRule, error) {
	for _, rule := range n.rulesSeen(c) {
		if rule.ID == c.PathValue("id") {
			return rule, nil
		}
	}
	return nil, ruleNotFound(c.PathValue("id"))
}

func (n *Neutron) listRules(c *call) (int, any, error) {
	return list(n, c, "security_group_rules", shownRules(n.rulesSeen(c)), ruleNotFound)
}

func (n *Neutron) showRule(c *call) (int, any, error) {
	rule, err := n.ruleFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "security_group_rule", shownRules([]*securityGroupRule{rule})[0])
}

func (n *Neutron) deleteRule(c *call) (int, any, error) {
	rule, err := n.ruleFor(c)
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, rule.standard); err != nil {
		return 0, nil, err
	}
	n.dropRule(rule)
	return http.StatusNoContent, nil, nil
}

// postRules creates one rule or, given a list, all of them or none.
func (n *Neutron) postRules(c *call) (int, any, error) {
	requests, bulk, err := decodeBulk[ruleRequest](c, "security_group_rules", "security_group_rule", securityGroupRule{})
	if err != nil {
		return 0, nil, err
	}
	if bulk {
		rules, err := n.addRules(c, requests)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, map[string]any{"security_group_rules": shownRules(rules)}, nil
	}
	request, err := decode[ruleRequest](c, "security_group_rule", securityGroupRule{})
	if err != nil {
		return 0, nil, err
	}
	rules, err := n.addRules(c, []ruleRequest{request})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"security_group_rule": shownRules(rules)[0]}, nil
}
