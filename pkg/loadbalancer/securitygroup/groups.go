package securitygroup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Neutron is the part of the network service that this package uses.
type Neutron interface {
	AllSecurityGroups(ctx context.Context) ([]neutron.SecurityGroup, error)
	SecurityGroupNames(ctx context.Context) ([]neutron.SecurityGroup, error)
	SecurityGroupsNamed(ctx context.Context, name string) ([]neutron.SecurityGroup, error)
	SecurityGroups(ctx context.Context, ids []string) ([]neutron.SecurityGroup, error)
	CreateSecurityGroup(ctx context.Context, name, description string) (*neutron.SecurityGroup, error)
	TagSecurityGroup(ctx context.Context, id string, tags []string) error
	DeleteSecurityGroup(ctx context.Context, id string) error
	SecurityGroupRules(ctx context.Context, groupID string, descriptions ...string) ([]neutron.SecurityGroupRule, error)
	SomeSecurityGroupRules(ctx context.Context, groupID string, most int) ([]neutron.SecurityGroupRule, error)
	CreateSecurityGroupRules(ctx context.Context, groupID string, wanted []rules.CreateOpts) ([]neutron.SecurityGroupRule, error)
	DeleteSecurityGroupRule(ctx context.Context, id string) error
	SecurityGroupRuleIDs(ctx context.Context) (map[string][]string, error)
	GroupsOfPorts(ctx context.Context) ([]neutron.Port, error)
	Port(ctx context.Context, id string) (*neutron.Port, error)
	PortsInGroup(ctx context.Context, groupID string) ([]neutron.Port, error)
	SetPortGroups(ctx context.Context, port neutron.Port, groupIDs []string) (*neutron.Port, error)
}

// Facts are cached facts that other packages read too.
type Facts interface {
	NodePorts(ctx context.Context, servers []string) (map[string][]neutron.Port, error)
	NodePortsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error)
	KnownPort(id string) (neutron.Port, bool)
	KeepPort(port neutron.Port)
	ForgetPorts(servers ...string)
	SubnetCIDR(ctx context.Context, id string) (string, error)
}

// Groups manages the security groups of all Services. The caller must serialize the calls for each
// Service.
type Groups struct {
	*common
	entries entries
}

// common is shared by Groups with different stores: the cloud, and the facts about all Services.
type common struct {
	neutron Neutron
	facts   Facts
	clock   clock.PassiveClock
	// mode is PerService, Shared or, for none, "".
	mode string

	inventory *inventory
	shared    *sharedGroup
	ports     *portGroups
}

// New returns Groups. mode is PerService, Shared or, for none, "".
func New(neutronAPI Neutron, facts Facts, store Store, clk clock.PassiveClock, mode string) *Groups {
	shared := newSharedGroup(neutronAPI, facts, clk)
	c := &common{
		neutron: neutronAPI, facts: facts, clock: clk, mode: mode, shared: shared,
		inventory: &inventory{neutron: neutronAPI, clock: clk},
		ports:     &portGroups{neutron: neutronAPI, facts: facts, shared: shared},
	}
	return &Groups{c, entries{store}}
}

// With returns the same Groups with another store.
func (g *Groups) With(store Store) *Groups { return &Groups{g.common, entries{store}} }

// Request is the input of Plan for a Service.
type Request struct {
	ID ownership.Identity
	// Spec is nil if nothing is wanted.
	Spec *Spec
	// VIPSubnet is the subnet of the VIP, "" if it is unknown.
	VIPSubnet string
	// Before is set if an earlier process, possibly with another configuration, may have served the
	// Service.
	Before bool
	// Kept keeps the present clients regardless of the Spec, and ignores the rules of other groups:
	// the Service is refused and kept in operation. Unread is set if the Spec does not contain the
	// wanted clients.
	Kept, Unread bool
	// KeepPorts is set if a kept Service also gets no port that its rules do not open now, because the
	// Spec has the refused ones. With provider router they are ports of the nodes, such as SSH, or those
	// of other Services.
	KeepPorts bool
	// NodesCurrent reports whether no Service has been reconciled with later nodes; nil means true.
	// The shared group is removed from ports only while it is true, because a later node may use
	// one of them.
	NodesCurrent func() bool
}

// Task is a plan for one Service, with its inputs.
type Task struct {
	Plan
	// Unfound are the nodes without a known port. Strayed are those of them with an address on a
	// port outside of the members' subnets, of a server that is not the one in the node's provider
	// ID. Taken are those of them with an address on the port of another server than that of their
	// provider ID. Unfiltered are nodes with a port without port security, which all clients can reach.
	Unfound, Strayed, Taken, Unfiltered []string
	// Spec is that of the Request, with the ports and clients that are kept.
	Spec *Spec

	id      ownership.Identity
	desired *Desired
	state   *State
	// current is Request.NodesCurrent.
	current func() bool
	// beside are the groups of the members' ports, including ours.
	beside map[string]bool
}

// Plan reads the unknown facts and compares. It writes nothing. It returns an error if security
// groups must exclude clients and cannot.
func (g *Groups) Plan(ctx context.Context, r Request) (*Task, error) {
	t := &Task{id: r.ID, current: r.NodesCurrent, beside: map[string]bool{}}
	var err error
	if r.Kept && r.Spec != nil && r.Spec.Direct {
		if r.Spec, err = g.keepClients(ctx, r); err != nil {
			return nil, err
		}
	}
	t.Spec = r.Spec
	if r.Spec != nil {
		if g.mode == Shared && r.ID.SharedGroup().Name == "" {
			return nil, fmt.Errorf("security-group-mode=%s needs to tell clusters apart: let the controller read the namespace kube-system", Shared)
		}
		if t.desired, err = g.desire(ctx, r, t); err != nil {
			return nil, err
		}
		if err := enforceable(r.Spec, t); err != nil {
			return nil, err
		}
	}
	if t.state, err = g.observe(ctx, r); err != nil {
		return nil, err
	}
	if r.Spec != nil && r.Spec.Restricted() && !r.Kept {
		if err := openToAll(ctx, g.neutron, t); err != nil {
			return nil, err
		}
	}
	if r.Spec != nil || !r.Kept { // the groups of a refused Service are kept, because cloud.conf may be wrong
		t.Plan = Diff(t.desired, *t.state)
	}
	return t, nil
}

func names(all []string) string {
	const most = 5
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// desire returns the wanted state of a Service.
func (g *Groups) desire(ctx context.Context, r Request, t *Task) (*Desired, error) {
	from, err := nearby(ctx, g.facts, r.Spec, r.VIPSubnet)
	if err != nil {
		return nil, err
	}
	group := r.ID.SecurityGroup()
	d := &Desired{Name: group.Name, Description: group.Description, Tags: group.Tags}
	own, common := r.Spec.Rules(from)
	if g.mode == Shared {
		group = r.ID.SharedGroup()
		d.Name, d.Description, d.Tags = group.Name, group.Description, group.Tags
		d.Own, d.Common = own, common
	} else {
		d.Own = sortRules(slices.Concat(own, common))
	}
	err = g.nodePorts(ctx, r, t, d)
	return d, err
}

// nearby returns the CIDRs from which the load balancer sends: the subnets of members and VIP.
func nearby(ctx context.Context, facts Facts, spec *Spec, vipSubnet string) ([]string, error) {
	var cidrs []string
	for _, id := range append(slices.Clone(spec.Subnets), vipSubnet) {
		if id == "" {
			continue
		}
		cidr, err := facts.SubnetCIDR(ctx, id)
		if err != nil {
			return nil, err
		}
		if prefix, err := netip.ParsePrefix(cidr); err == nil && (spec.DualStack || prefix.Addr().Is6() == spec.IPv6) {
			cidrs = append(cidrs, prefix.Masked().String())
		} else if cidr == "" && id != vipSubnet {
			return nil, fmt.Errorf("there is no subnet %s for members, or this project cannot see it", id)
		}
	}
	if len(cidrs) == 0 && !spec.Direct {
		return nil, fmt.Errorf("cannot determine the subnet from which the load balancer reaches the nodes: set member-subnet-id")
	}
	slices.Sort(cidrs)
	return slices.Compact(cidrs), nil
}

// snapshotAge is the maximum age of a snapshot, or of a list of the shared group's rules, for
// consecutive Services, which share it.
const snapshotAge = time.Minute
