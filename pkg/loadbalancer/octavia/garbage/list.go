package garbage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Inventory holds the objects of the project.
type Inventory struct {
	LoadBalancers  []octavia.LoadBalancer
	Listeners      []octavia.Listener
	Pools          []octavia.Pool
	FloatingIPs    []floatingips.FloatingIP
	SecurityGroups []neutron.SecurityGroup
	// VIPs are the ports that may be those of VIPs of provider router.
	VIPs []neutron.VIPPort
	// Routes are nil if cloud.conf has no router.
	Routes *Routes
}

// part is a listener or pool.
type part struct {
	kind     Kind
	id, name string
	tags     []string
	// listeners are the listeners that use the pool.
	listeners []string
}

// parts returns the listeners and pools of each load balancer, by its ID.
func (i Inventory) parts() map[string][]part {
	all := map[string][]part{}
	for _, l := range i.Listeners {
		for _, of := range l.LoadBalancers {
			all[of.ID] = append(all[of.ID], part{kind: Listener, id: l.ID, name: l.Name, tags: l.Tags})
		}
	}
	for _, p := range i.Pools {
		made := part{kind: Pool, id: p.ID, name: p.Name, tags: p.Tags}
		for _, user := range p.Listeners {
			made.listeners = append(made.listeners, user.ID)
		}
		for _, of := range p.LoadBalancers {
			all[of.ID] = append(all[of.ID], made)
		}
	}
	return all
}

// signs returns the signs of all objects.
func (i Inventory) signs() []ownership.Signs {
	var all []ownership.Signs
	for _, lb := range i.LoadBalancers {
		all = append(all, ownership.LoadBalancerSigns(lb.Name, lb.Description, lb.Tags))
	}
	for _, l := range i.Listeners {
		all = append(all, ownership.PartSigns(l.Name, l.Tags))
	}
	for _, p := range i.Pools {
		all = append(all, ownership.PartSigns(p.Name, p.Tags))
	}
	for _, fip := range i.FloatingIPs {
		all = append(all, ownership.FloatingIPSigns(fip.Description))
	}
	for _, port := range i.VIPs {
		if signs := vipSigns(port); len(signs.ClusterIDs) > 0 {
			all = append(all, signs)
		}
	}
	for _, group := range i.SecurityGroups {
		all = append(all, ownership.SecurityGroupSigns(group.Name, group.Description, group.Tags))
	}
	return all
}

// List returns the target cluster of a query, its objects, and those to leave alone, in the order
// of removal.
//
//	load balancer          holds parts of others        is
//	the cluster's          no                           removed with all its parts
//	the cluster's          yes                          left alone, but for the cluster's own parts
//	another's, none's      -                           left alone, but for the cluster's own parts
//
//	floating IP            is on                        is
//	the cluster's          a removed load balancer      removed before it
//	the cluster's          nothing                      kept, or removed if the query asks for it
//	the cluster's          nothing, with forwardings    removed, unless a Service has published its address, or another
//	                                                    owner has forwardings there
//	the cluster's          anything else                left alone
//	another's, none's      a removed load balancer      left alone: it is free then
//
// The VIPs of provider router are like load balancers without parts.
//
// For a live cluster, its objects are those that belong to none of its Services.
func List(inventory Inventory, query Query) (Target, []Item) {
	l := newLister(inventory, query, resolve(query.ClusterID, query.ClusterName, inventory.signs()))
	parts := inventory.parts()
	for _, lb := range inventory.LoadBalancers {
		l.loadBalancer(lb, parts[lb.ID])
	}
	for _, port := range inventory.VIPs {
		l.vip(port)
	}
	for _, fip := range inventory.FloatingIPs {
		l.floatingIP(fip)
	}
	for _, group := range inventory.SecurityGroups {
		owner, why := l.judge(ownership.SecurityGroupSigns(group.Name, group.Description, group.Tags))
		l.judged(owner, why, Item{Kind: SecurityGroup, ID: group.ID, Name: group.Name})
	}
	l.routes(inventory.Routes)
	kinds := order()
	slices.SortStableFunc(l.items, func(a, b Item) int {
		return cmp.Or(slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return l.target, l.items
}

// lister collects items.
type lister struct {
	query  Query
	target Target
	items  []Item
	// ports are the load balancers and VIPs to remove, by the port of their VIP.
	ports map[string]Item
	// addresses are those of the floating IPs on each port.
	addresses map[string][]string
}

func newLister(inventory Inventory, query Query, target Target) *lister {
	l := &lister{query: query, target: target, ports: map[string]Item{}, addresses: map[string][]string{}}
	for _, fip := range inventory.FloatingIPs {
		l.addresses[fip.PortID] = append(l.addresses[fip.PortID], fip.FloatingIP)
	}
	return l
}

// living reports whether the cluster is alive.
func (l *lister) living() bool { return l.query.Services != nil }

// judge returns the owner of an object, and the reason to leave it alone if that is reported.
func (l *lister) judge(s ownership.Signs) (claim, string) {
	if l.living() {
		return l.target.judgeLiving(l.query.Services, s)
	}
	return l.target.judge(s)
}

// judged adds an item according to its owner.
func (l *lister) judged(owner claim, why string, item Item) {
	switch item.Why = why; owner {
	case theirs:
		return
	case ours:
		item.State = Found
	case unclear:
		item.State, item.Unclear = LeftAlone, true
	case mistakable:
		item.State = LeftAlone
	}
	l.items = append(l.items, item)
}

func (l *lister) loadBalancer(lb octavia.LoadBalancer, parts []part) {
	on := l.judgeLoadBalancer(lb)
	own, others, clusters, served := map[string]bool{}, []string(nil), false, false
	for _, p := range parts {
		claimed, _ := l.part(p, on)
		if own[p.id] = claimed == ours; !own[p.id] {
			others = append(others, p.String())
			made := ownership.PartSigns(p.name, p.tags).Kubernetes
			clusters, served = clusters || made, served || made && claimed == theirs
		}
	}
	item := Item{Kind: LoadBalancer, ID: lb.ID, Name: lb.Name}
	switch {
	case on.owner == ours && len(others) == 0:
		item.State = Found
		l.judged(ours, "", item)
		l.ports[lb.VIPPortID] = item
		return
	case on.owner == ours && clusters:
		l.judged(mistakable, "it holds objects that are not this cluster's:  "+strings.Join(others, ", "), item)
	case on.owner == ours: // it may still be needed
		l.judged(unclear, "it holds objects that no cluster has created:  "+strings.Join(others, ", "), item)
	case l.living() && on.owner == unclear && served: // it is needed
	default:
		l.judged(on.owner, on.why, item)
	}
	for _, p := range parts {
		l.partOfAnothers(p, on, own)
	}
}

// judgedLoadBalancer is a load balancer with its owner.
type judgedLoadBalancer struct {
	octavia.LoadBalancer
	owner claim
	why   string
	// users are the Services of a live cluster that use it.
	users []Service
}

func (l *lister) judgeLoadBalancer(lb octavia.LoadBalancer) judgedLoadBalancer {
	on := judgedLoadBalancer{LoadBalancer: lb}
	on.owner, on.why = l.judge(ownership.LoadBalancerSigns(lb.Name, lb.Description, lb.Tags))
	if l.living() {
		on.users = l.query.Services.users(lb.ID, vipsOf(lb), l.addresses[lb.VIPPortID])
		on.owner, on.why = used(on.users, on.owner, on.why)
	}
	return on
}

// part returns the owner of a part of a load balancer: if it has no ID, but was created with the
// load balancer, it is the load balancer's owner.
func (l *lister) part(p part, on judgedLoadBalancer) (claim, string) {
	signs := ownership.PartSigns(p.name, p.tags)
	if ownership.IsPartOf(p.name, p.tags, on.Name) || recreated(on.users, signs) {
		return on.owner, ""
	}
	return l.judge(signs)
}

// partOfAnothers adds a part of a load balancer that is kept.
func (l *lister) partOfAnothers(p part, on judgedLoadBalancer, own map[string]bool) {
	claimed, why := l.part(p, on)
	if claimed != ours && (ownership.IsPartOf(p.name, p.tags, on.Name) || l.living() && claimed == on.owner) {
		return // the reason of the load balancer applies
	}
	item := Item{Kind: p.kind, ID: p.id, Name: p.name, LoadBalancer: on.ID}
	if i := slices.IndexFunc(p.listeners, func(user string) bool { return !own[user] }); i >= 0 && claimed == ours {
		claimed, why = mistakable, fmt.Sprintf("listener %s, which is not this cluster's, uses it", p.listeners[i])
	}
	l.judged(claimed, why, item)
}

// String returns a part for a message.
func (p part) String() string { return fmt.Sprintf("%s %s (%s)", p.kind, p.id, p.name) }

// vipsOf returns the addresses of the VIPs of a load balancer.
func vipsOf(lb octavia.LoadBalancer) []string {
	vips := []string{lb.VIPAddress}
	for _, vip := range lb.AdditionalVIPs {
		vips = append(vips, vip.Address)
	}
	return vips
}

func (l *lister) floatingIP(fip floatingips.FloatingIP) {
	owner, why := l.judge(ownership.FloatingIPSigns(fip.Description))
	item := Item{Kind: FloatingIP, ID: fip.ID, Name: fip.FloatingIP, portID: fip.PortID, description: fip.Description, forwards: neutron.Forwards(fip)}
	if l.living() && item.forwards {
		owner, why = used(l.query.Services.users("", nil, []string{fip.FloatingIP}), owner, why)
	}
	goes := fip.PortID != "" && l.ports[fip.PortID].State == Found
	if goes {
		item.LoadBalancer, item.on = l.ports[fip.PortID].ID, l.ports[fip.PortID].Kind
	}
	switch {
	case owner == theirs && goes:
		l.judged(mistakable, "it was not created for this cluster, and is free after its load balancer is removed", item)
	case owner != ours:
		l.judged(owner, why, item)
	case fip.PortID == "" && !item.forwards && !l.query.AllFloatingIPs:
		item.State, item.Why = Kept, "it is on no load balancer, as one that a Service asked to keep: --floating-ips=all removes it"
		if l.living() {
			item.Why = "it is on no load balancer, as one that its Service, which is gone, may have asked to keep"
		}
		l.items = append(l.items, item)
	case fip.PortID != "" && !goes:
		l.judged(mistakable, "it is on port "+fip.PortID+", which is not of a removed load balancer", item)
	default:
		l.judged(ours, "", item)
	}
}
