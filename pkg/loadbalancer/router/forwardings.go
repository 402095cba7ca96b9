package router

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// ForwardingNeutron is the part of the network service that Forwardings use.
type ForwardingNeutron interface {
	ForwardedIPs(ctx context.Context) ([]neutron.ForwardedIP, error)
	HasForwardings(ctx context.Context) (bool, error)
	Forwardings(ctx context.Context, floatingIPID string) ([]neutron.Forwarding, error)
	CreateForwarding(ctx context.Context, floatingIPID string, want neutron.Forwarding) (id string, err error)
	RetargetForwarding(ctx context.Context, floatingIPID string, to neutron.Forwarding) error
	DeleteForwarding(ctx context.Context, floatingIPID, id string) error
	FloatingIPsOn(ctx context.Context, portIDs []string) ([]floatingips.FloatingIP, error)
	PortsAtAddresses(ctx context.Context, addresses []string) ([]neutron.Port, error)
}

// Forwardings reads and writes port forwardings of floating IPs. Their descriptions prove which Service they belong
// to. It is safe for concurrent use.
type Forwardings struct {
	Neutron ForwardingNeutron
	Clock   clock.PassiveClock

	first async.Recent[[]neutron.ForwardedIP]
}

// Of reads the port forwardings that a Service has on a floating IP.
func (f *Forwardings) Of(ctx context.Context, id ownership.Identity, floatingIPID string) ([]model.Forwarding, error) {
	all, err := f.on(ctx, floatingIPID)
	all = slices.DeleteFunc(all, func(has neutron.Forwarding) bool { return !id.ProvenBy(has.Description) })
	return forwardingsOf(all), err
}

// AllOf reports whether all port forwardings on a floating IP are a Service's.
func (f *Forwardings) AllOf(ctx context.Context, id ownership.Identity, floatingIPID string) (bool, error) {
	all, err := f.on(ctx, floatingIPID)
	return !slices.ContainsFunc(all, func(has neutron.Forwarding) bool { return !id.ProvenBy(has.Description) }), err
}

// on reads the port forwardings on a floating IP; none if it is gone.
func (f *Forwardings) on(ctx context.Context, floatingIPID string) ([]neutron.Forwarding, error) {
	all, err := f.Neutron.Forwardings(ctx, floatingIPID)
	return all, apierror.IgnoreNotFound(err)
}

// First returns the floating IPs with port forwardings of the project, from a list that is at most as old as age. A
// list costs one request. Its port forwardings have no descriptions.
func (f *Forwardings) First(ctx context.Context, age time.Duration) ([]neutron.ForwardedIP, error) {
	if age == 0 { // a read that others have begun may miss changes of this caller
		return f.Neutron.ForwardedIPs(ctx)
	}
	return f.first.Get(ctx, f.Clock, age, func(ctx context.Context, _ time.Time) ([]neutron.ForwardedIP, error) {
		return f.Neutron.ForwardedIPs(ctx)
	})
}

// ListedOf returns the port forwardings of a listed floating IP, of any owner.
func ListedOf(fip neutron.ForwardedIP) []model.Forwarding { return forwardingsOf(fip.Forwardings) }

func forwardingsOf(all []neutron.Forwarding) []model.Forwarding {
	var found []model.Forwarding
	for _, has := range all {
		found = append(found, model.Forwarding{
			ID: has.ID, PortID: has.InternalPortID, Address: has.InternalIPAddress, NodePort: has.InternalPort,
			Key: KeyOf(has),
		})
	}
	model.SortForwardings(found)
	return found
}

// KeyOf returns the port of the floating IP that is forwarded.
func KeyOf(f neutron.Forwarding) model.ListenerKey {
	return model.ListenerKey{Transport: model.Protocol(strings.ToUpper(f.Protocol)), Port: f.ExternalPort}
}

// Set makes the port forwardings of a Service on a floating IP the desired ones, one after the other, and returns
// them with their IDs. Neutron permits one to each port of a node. So those that are not desired, or have the target of
// another desired one, are deleted first. Desired ones that are missing then, or were deleted with the port of their node,
// are created.
func (f *Forwardings) Set(ctx context.Context, id ownership.Identity, floatingIPID string, from, to []model.Forwarding) ([]model.Forwarding, error) {
	var stay []model.Forwarding
	for _, has := range from {
		if at(to, has.Key) >= 0 && !slices.ContainsFunc(to, has.Blocks) {
			stay = append(stay, has)
			continue
		}
		if err := f.Neutron.DeleteForwarding(ctx, floatingIPID, has.ID); err != nil {
			return nil, err
		}
	}
	set := slices.Clone(to)
	for i := range set {
		want := neutron.Forwarding{
			Protocol: strings.ToLower(string(set[i].Key.Transport)), ExternalPort: set[i].Key.Port, InternalPort: set[i].NodePort,
			InternalPortID: set[i].PortID, InternalIPAddress: set[i].Address, Description: id.ProvenDescription(),
		}
		if has := at(stay, set[i].Key); has >= 0 {
			want.ID, set[i].ID = stay[has].ID, stay[has].ID
			if stay[has].Same(set[i]) {
				continue
			}
			err := f.Neutron.RetargetForwarding(ctx, floatingIPID, want)
			if err == nil {
				continue
			}
			if !apierror.IsNotFound(err) {
				return nil, err
			}
		}
		var err error
		if set[i].ID, err = f.Neutron.CreateForwarding(ctx, floatingIPID, want); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func at(all []model.Forwarding, key model.ListenerKey) int {
	return slices.IndexFunc(all, func(f model.Forwarding) bool { return f.Key == key })
}

// Targets returns those of some nodes that can be targets, with their ports: those with one port that this project
// sees, and that has no floating IP of its own. Owned returns those of the ports with its address that are a node's:
// they may be another server's. It costs two requests.
func (f *Forwardings) Targets(ctx context.Context, nodes []Node, owned func(Node, []neutron.Port) []neutron.Port) (fit []Node, ports map[string]neutron.Port, err error) {
	addresses := make([]string, 0, len(nodes))
	for _, node := range nodes {
		addresses = append(addresses, node.Address)
	}
	found, err := f.Neutron.PortsAtAddresses(ctx, addresses)
	if err != nil {
		return nil, nil, err
	}
	ids := make([]string, 0, len(found))
	for _, port := range found {
		ids = append(ids, port.ID)
	}
	bound, err := f.Neutron.FloatingIPsOn(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	ports = map[string]neutron.Port{}
	for _, node := range nodes {
		port, is := portOf(node, owned, found)
		if is && !slices.ContainsFunc(bound, func(fip floatingips.FloatingIP) bool { return fip.PortID == port.ID }) {
			fit, ports[node.Address] = append(fit, node), port
		}
	}
	return fit, ports, nil
}

// portOf returns the port of a node; false if it has none with its address, or several.
func portOf(node Node, owned func(Node, []neutron.Port) []neutron.Port, all []neutron.Port) (neutron.Port, bool) {
	there := map[string]neutron.Port{}
	for _, port := range all {
		if slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool { return ip.IPAddress == node.Address }) {
			there[port.ID] = port
		}
	}
	if own := owned(node, slices.Collect(maps.Values(there))); len(own) == 1 {
		return own[0], true
	}
	return neutron.Port{}, false
}

// Changed returns the Services with port forwardings that another client has changed since they were applied, with
// the difference. It costs one request.
func (f *Forwardings) Changed(ctx context.Context, known map[types.UID]*state.Routed) (map[types.UID]string, error) {
	all, err := f.Neutron.ForwardedIPs(ctx)
	if err != nil {
		return nil, err
	}
	changed := map[types.UID]string{}
	for uid, applied := range known {
		lb := applied.LoadBalancer
		i := slices.IndexFunc(all, func(fip neutron.ForwardedIP) bool { return fip.ID == lb.FloatingIP.ID })
		if i < 0 {
			if len(lb.Forwardings) > 0 {
				changed[uid] = "the floating IP has no port forwardings any more"
			}
			continue
		}
		if !contains(ListedOf(all[i]), lb.Forwardings) {
			changed[uid] = "the port forwardings were changed"
		}
	}
	return changed, nil
}

// contains reports whether a list has all of some forwardings. It may have others, of other owners.
func contains(all, some []model.Forwarding) bool {
	return !slices.ContainsFunc(some, func(f model.Forwarding) bool { return !slices.ContainsFunc(all, f.Same) })
}
