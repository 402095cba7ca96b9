package simulator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Orphan is an object in the first account's project that belongs to no Service.
type Orphan struct {
	// Kind is "load balancer", "listener", "pool", "floating IP", "port",
	// "security group", "security group rule" or "address group".
	Kind string
	ID   string
	Name string
	// Detail is a further property of the object: a status, an address, a description.
	Detail string
}

// LeakedPorts returns the VIP ports without a load balancer. Refused creations leave such ports.
func (c *Cloud) LeakedPorts() []neutron.Port {
	alive := map[string]bool{}
	for _, lb := range c.Octavia.Snapshot() {
		alive[lb.ID] = true
	}
	var leaked []neutron.Port
	for _, port := range c.Neutron.Ports() {
		if id := vipOwner(port); id != "" && !alive[id] {
			leaked = append(leaked, port)
		}
	}
	return leaked
}

// vipOwner returns the load balancer that a port was created for; "" for other ports.
func vipOwner(port neutron.Port) string {
	if numbered, is := strings.CutPrefix(port.Name, "ovn-lb-vip-additional-"); is {
		_, id, _ := strings.Cut(numbered, "-")
		return id
	}
	for _, prefix := range []string{"octavia-lb-vrrp-", "octavia-lb-", "ovn-lb-vip-"} {
		if id, is := strings.CutPrefix(port.Name, prefix); is {
			return id
		}
	}
	id, _ := strings.CutPrefix(port.DeviceID, "lb-")
	if port.DeviceOwner == "Octavia" {
		return id
	}
	return ""
}

// Orphans returns all objects in the first account's project that belong to no living Service. A
// Service is identified by its UID or by "namespace/name"; give both if names of objects may
// contain either. An object belongs to a Service if its name, description or tags contain the
// identifier, or if its name ends with _namespace_name. The objects that such a load balancer uses
// belong to it. Servers, the initial networks, groups named "default" and objects with a name in
// ignore are left out.
func (c *Cloud) Orphans(services, ignore []string) []Orphan {
	s := search{cloud: c, ignore: ignore, vips: map[string]bool{}}
	for _, service := range services {
		s.words = append(s.words, service)
		if namespace, name, is := strings.Cut(service, "/"); is {
			s.words = append(s.words, "_"+namespace+"_"+name)
		}
	}
	s.loadBalancers()
	s.network()
	slices.SortStableFunc(s.found, func(a, b Orphan) int { return cmp.Compare(a.Kind, b.Kind) })
	return s.found
}

// search collects orphans.
type search struct {
	cloud         *Cloud
	words, ignore []string
	vips          map[string]bool // VIP ports of load balancers with an owner
	found         []Orphan
}

// belongs reports whether any of the texts contains a living Service.
func (s *search) belongs(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(s.words, func(word string) bool { return mentions(text, word) })
	})
}

// mentions reports whether a text contains a word that is not a part of another one, as ns/web is
// of ns/web-2.
func mentions(text, word string) bool {
	for rest := text; ; {
		at := strings.Index(rest, word)
		if at < 0 {
			return false
		}
		end := at + len(word)
		if end == len(rest) || !isWordByte(rest[end]) {
			return true
		}
		rest = rest[at+1:]
	}
}

func isWordByte(b byte) bool {
	return b == '-' || b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func (s *search) add(kind, id, name, detail string) {
	if !slices.Contains(s.ignore, name) {
		s.found = append(s.found, Orphan{Kind: kind, ID: id, Name: name, Detail: detail})
	}
}

func (s *search) loadBalancers() {
	for _, lb := range s.cloud.Octavia.Snapshot() {
		if lb.ProjectID != s.cloud.Account.ProjectID {
			continue
		}
		if !s.belongs(texts(lb.Meta, lb.Description)...) {
			s.add("load balancer", lb.ID, lb.Name, lb.ProvisioningStatus)
			continue
		}
		s.vips[lb.VIP.PortID] = true
		for _, vip := range lb.AdditionalVIPs {
			s.vips[cmp.Or(vip.PortID, lb.VIP.PortID)] = true
		}
		for _, listener := range lb.Listeners {
			s.child("listener", listener.Meta, listener.Description)
		}
		for _, pool := range lb.Pools {
			s.child("pool", pool.Meta, pool.Description)
		}
	}
}

// child checks an object on a load balancer with an owner, which several Services may share. An
// object without tags belongs to that owner.
func (s *search) child(kind string, meta octavia.Meta, description string) {
	if len(meta.Tags) > 0 && !s.belongs(texts(meta, description)...) {
		s.add(kind, meta.ID, meta.Name, meta.ProvisioningStatus)
	}
}

func texts(meta octavia.Meta, description string) []string {
	return append([]string{meta.Name, description}, meta.Tags...)
}

func (s *search) network() {
	mine := s.cloud.Account.ProjectID
	for _, ip := range s.cloud.Neutron.FloatingIPs() {
		if ip.ProjectID == mine && !s.vips[ip.PortID] && !s.belongs(append(ip.Tags, ip.Description)...) {
			s.add("floating IP", ip.ID, ip.Address, ip.Description)
		}
	}
	for _, port := range s.cloud.Neutron.Ports() {
		own := strings.HasPrefix(port.DeviceOwner, "compute:") || strings.HasPrefix(port.DeviceOwner, "network:")
		if port.ProjectID == mine && !own && !s.vips[port.ID] && !s.belongs(append(port.Tags, port.Name, port.Description)...) {
			s.add("port", port.ID, port.Name, port.DeviceOwner)
		}
	}
	for _, group := range s.cloud.Neutron.SecurityGroups() {
		if group.ProjectID == mine {
			s.securityGroup(group)
		}
	}
	for _, group := range s.cloud.Neutron.AddressGroups() {
		if group.ProjectID == mine && !s.belongs(group.Name, group.Description) {
			s.add("address group", group.ID, group.Name, group.Description)
		}
	}
}

// securityGroup checks a group, and the rules of one that several Services share.
func (s *search) securityGroup(group neutron.SecurityGroup) {
	if s.belongs(append(group.Tags, group.Name, group.Description)...) {
		return
	}
	if group.Name != "default" {
		s.add("security group", group.ID, group.Name, group.Description)
	}
	for _, rule := range group.Rules {
		if rule.Description != "" && !s.belongs(rule.Description) {
			s.add("security group rule", rule.ID, group.Name, rule.Description)
		}
	}
}
