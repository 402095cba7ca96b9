package neutron

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

type ruleRequest struct {
	TenantID             optional[string]   `json:"tenant_id"`
	ProjectID            optional[string]   `json:"project_id"`
	SecurityGroupID      optional[string]   `json:"security_group_id" check:"required,uuid"`
	Direction            optional[string]   `json:"direction" check:"required,direction"`
	EtherType            optional[string]   `json:"ethertype"`
	Protocol             optional[protocol] `json:"protocol"`
	PortRangeMin         optional[int]      `json:"port_range_min" check:"port"`
	PortRangeMax         optional[int]      `json:"port_range_max" check:"port"`
	RemoteIPPrefix       optional[string]   `json:"remote_ip_prefix"`
	RemoteGroupID        optional[string]   `json:"remote_group_id" check:"uuid"`
	RemoteAddressGroupID optional[string]   `json:"remote_address_group_id" check:"uuid"`
	Description          optional[string]   `json:"description" check:"text"`
}

// protocol is a name or a number, the latter with or without quotes.
type protocol string

// UnmarshalJSON implements json.Unmarshaler.
func (p *protocol) UnmarshalJSON(encoded []byte) error {
	*p = protocol(strings.ToLower(strings.Trim(string(encoded), `"`)))
	return nil
}

// AddSecurityGroupRules adds rules to a group: all of them or, on error, none.
// IDs and project of the rules are filled in.
func (n *Neutron) AddSecurityGroupRules(groupID string, rules ...SecurityGroupRule) ([]SecurityGroupRule, error) {
	n.lock()
	defer n.unlock()
	group, ok := n.securityGroups.get(groupID)
	if !ok {
		return nil, securityGroupNotFound(groupID)
	}
	records := make([]*securityGroupRule, 0, len(rules))
	for _, rule := range rules {
		record, err := n.newRule(group, rule)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	if err := n.storeRules(group, records); err != nil {
		return nil, err
	}
	return views(records, (*securityGroupRule).view), nil
}

// addRules creates the rules of one request, which must all be of one group.
func (n *Neutron) addRules(c *call, requests []ruleRequest) ([]*securityGroupRule, error) {
	var group *securityGroup
	records := make([]*securityGroupRule, 0, len(requests))
	for _, request := range requests {
		if _, err := c.project(request.ProjectID.get(), request.TenantID.get()); err != nil {
			return nil, err
		}
		if group != nil && group.ID != request.SecurityGroupID.get() {
			return nil, badRequest("SecurityGroupNotSingleGroupRules", "Only allowed to update rules for one security profile at a time")
		}
		var err error
		if group, err = n.securityGroupFor(c, request.SecurityGroupID.get()); err != nil {
			return nil, err
		}
		record, err := n.newRule(group, request.rule())
		if err != nil {
			return nil, err
		}
		record.setPorts(request)
		if err := record.check(); err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	if group == nil {
		return records, nil
	}
	return records, n.storeRules(group, records)
}

func (r ruleRequest) rule() SecurityGroupRule {
	return SecurityGroupRule{
		Direction: r.Direction.get(), EtherType: r.EtherType.get(), Protocol: string(r.Protocol.get()),
		RemoteIPPrefix: r.RemoteIPPrefix.get(), RemoteGroupID: r.RemoteGroupID.get(),
		RemoteAddressGroupID: r.RemoteAddressGroupID.get(), Description: r.Description.get(),
	}
}

// setPorts takes over the ports of a request, where 0 (an ICMP type) is not null.
func (r *securityGroupRule) setPorts(request ruleRequest) {
	r.PortRangeMin, r.PortRangeMax = request.PortRangeMin.value, request.PortRangeMax.value
}

// newRule checks what each attribute of a rule may be and fills in the rest.
func (n *Neutron) newRule(group *securityGroup, rule SecurityGroupRule) (*securityGroupRule, error) {
	if rule.Direction != "ingress" && rule.Direction != "egress" {
		return nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for direction. Reason: '%s' is not in ['ingress', 'egress'].", rule.Direction)
	}
	etherType, err := parseEtherType(rule.EtherType)
	if err != nil {
		return nil, err
	}
	if err := n.checkRemote(rule); err != nil {
		return nil, err
	}
	record := &securityGroupRule{
		standard: n.newStandard("", group.ProjectID, "", nil), Description: &rule.Description,
		Direction: rule.Direction, EtherType: etherType, Protocol: pointerTo(rule.Protocol),
		PortRangeMin: pointerTo(rule.PortRangeMin), PortRangeMax: pointerTo(rule.PortRangeMax),
		RemoteGroupID: pointerTo(rule.RemoteGroupID), RemoteAddressGroupID: pointerTo(rule.RemoteAddressGroupID),
		SecurityGroupID: group.ID,
	}
	if err := record.setPrefix(rule.RemoteIPPrefix); err != nil {
		return nil, err
	}
	return record, record.check()
}

// checkRemote allows one remote at most, and only one that exists.
func (n *Neutron) checkRemote(rule SecurityGroupRule) error {
	remotes := 0
	for _, remote := range []string{rule.RemoteIPPrefix, rule.RemoteGroupID, rule.RemoteAddressGroupID} {
		if remote != "" {
			remotes++
		}
	}
	if remotes > 1 {
		return badRequest("SecurityGroupMultipleRemoteEntites", "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	}
	if _, ok := n.securityGroups.get(rule.RemoteGroupID); !ok && rule.RemoteGroupID != "" {
		return securityGroupNotFound(rule.RemoteGroupID)
	}
	if _, ok := n.addressGroups.get(rule.RemoteAddressGroupID); !ok && rule.RemoteAddressGroupID != "" {
		return addressGroupNotFound(rule.RemoteAddressGroupID)
	}
	return nil
}

func parseEtherType(text string) (string, error) {
	for _, known := range []string{"IPv4", "IPv6"} {
		if strings.EqualFold(cmp.Or(text, "IPv4"), known) {
			return known, nil
		}
	}
	return "", badRequest("SecurityGroupRuleInvalidEtherType", "Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", text)
}

// setPrefix stores a prefix in its normal spelling: a bare address gets its
// length, host bits stay, and normalized_cidr is without them.
func (r *securityGroupRule) setPrefix(text string) error {
	if text == "" {
		return nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return badRequest("InvalidCIDR", "Invalid CIDR %s given as IP prefix.", text)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	if prefix.Addr().Is4() != (r.EtherType == "IPv4") {
		return badRequest("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s", r.EtherType, prefix)
	}
	r.RemoteIPPrefix, r.NormalizedCIDR = pointerTo(prefix.String()), pointerTo(prefix.Masked().String())
	return nil
}

// storeRules adds checked rules to their group, unless one is there already,
// in the request twice, or too many.
func (n *Neutron) storeRules(group *securityGroup, rules []*securityGroupRule) error {
	if err := n.checkQuota("security_group_rule", group.ProjectID, len(rules)); err != nil {
		return err
	}
	inRequest := map[string]bool{}
	for _, rule := range rules {
		if inRequest[rule.key()] {
			return conflict("DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.")
		}
		inRequest[rule.key()] = true
	}
	for _, existing := range group.Rules {
		if inRequest[existing.key()] {
			return conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", existing.ID)
		}
	}
	for _, rule := range rules {
		n.storeRule(group, rule)
	}
	return nil
}

func (n *Neutron) storeRule(group *securityGroup, rule *securityGroupRule) {
	n.standardAttributes++
	rule.StandardAttrID = n.standardAttributes
	group.Rules = append(group.Rules, rule)
	n.bump(&group.standard)
}

func (n *Neutron) dropRule(rule *securityGroupRule) {
	group, ok := n.securityGroups.get(rule.SecurityGroupID)
	if !ok {
		return
	}
	group.Rules = slices.DeleteFunc(slices.Clone(group.Rules), func(other *securityGroupRule) bool { return other == rule })
	n.bump(&group.standard)
}

// key is what makes two rules the same to Neutron: not the description, any
// spelling of the protocol, and a prefix of all addresses equals none.
func (r *securityGroupRule) key() string {
	protocol := valueOf(r.Protocol)
	if number, ok := protocolNumbers()[protocol]; ok {
		protocol = strconv.Itoa(number)
	}
	prefix := valueOf(r.RemoteIPPrefix)
	if prefix == "0.0.0.0/0" || prefix == "::/0" {
		prefix = ""
	}
	port := func(value *int, otherwise int) int {
		if value == nil {
			return otherwise
		}
		return *value
	}
	return fmt.Sprint(
		r.Direction, "|", r.EtherType, "|", protocol, "|", port(r.PortRangeMin, 1), "|", port(r.PortRangeMax, 65535), "|",
		prefix, "|", valueOf(r.RemoteGroupID), "|", valueOf(r.RemoteAddressGroupID),
	)
}

func (r *securityGroupRule) view() SecurityGroupRule {
	return SecurityGroupRule{
		ID: r.ID, SecurityGroupID: r.SecurityGroupID, ProjectID: r.ProjectID,
		Direction: r.Direction, EtherType: r.EtherType, Protocol: valueOf(r.Protocol),
		PortRangeMin: valueOf(r.PortRangeMin), PortRangeMax: valueOf(r.PortRangeMax),
		RemoteIPPrefix: valueOf(r.RemoteIPPrefix), RemoteGroupID: valueOf(r.RemoteGroupID), Description: valueOf(r.Description),
		RemoteAddressGroupID: valueOf(r.RemoteAddressGroupID),
	}
}
