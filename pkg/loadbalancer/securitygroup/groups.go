package securitygroup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Neutron is what is asked of the network service.
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

// Facts are what is asked of what others have read too.
type Facts interface {
	NodePorts(ctx context.Context, servers []string) (map[string][]neutron.Port, error)
	NodePortsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error)
	KnownPort(id string) (neutron.Port, bool)
	KeepPort(port neutron.Port)
	ForgetPorts(servers ...string)
	SubnetCIDR(ctx context.Context, id string) (string, error)
}

// Groups keeps the security groups of all Services. One Service at a time is the
// caller's to see to.
type Groups struct {
	*common
	// store has what is known of each Service.
	store Store
}

// common is what Groups with another store share with these: the cloud, and what was read of
// it for all Services.
type common struct {
	neutron Neutron
	facts   Facts
	clock   clock.PassiveClock
	// mode is PerService, Shared or, for none, "".
	mode string

	mu sync.Mutex
	// others are the names of all groups when this process first looked. It makes
	// groups of its own mode only, so those of other modes can only get fewer.
	others map[string][]neutron.SecurityGroup
	last   *snapshot

	snapshots async.Flight[*snapshot]
	names     async.Flight[struct{}] // what it reads is in others

	shared sharedGroup
	// ports serialises changes of one port, by its ID: Services come at the same time. They are held
	// during requests, and so are waited for as long as a context says.
	ports async.Locks
}

// New makes Groups. Mode is PerService, Shared or, for none, "".
func New(neutronAPI Neutron, facts Facts, store Store, clk clock.PassiveClock, mode string) *Groups {
	c := &common{neutron: neutronAPI, facts: facts, clock: clk, mode: mode, shared: newSharedGroup()}
	return &Groups{common: c, store: store}
}

// With returns the same Groups with another store of what is known of each Service.
func (g *Groups) With(store Store) *Groups { return &Groups{common: g.common, store: store} }

// Request is a Service whose groups are looked at.
type Request struct {
	ID ownership.Identity
	// Spec is nil when nothing is wanted.
	Spec *Spec
	// VIPSubnet is the subnet of the VIP, "" when it is not known yet.
	VIPSubnet string
	// Before tells that the Service may have been served by an earlier process, whose
	// configuration may have been another.
	Before bool
	// Kept has the same clients let in as are now, whatever the Spec says, and does not ask
	// what other groups let in: the Service is refused, and goes on with what it has.
	// Unread tells that the Spec does not say whom it wants to let in.
	Kept, Unread bool
	// NodesCurrent reports whether no Service has been looked at with later nodes; nil: it is so. The
	// shared group is taken off ports only as long as it is so: a later node may have one of them.
	NodesCurrent func() bool
}

// Task is a plan for one Service, and what it was made from.
type Task struct {
	Plan
	// Unfound are the nodes of which no port was found, Strayed those of them whose address is on a
	// port that is not in a subnet where the load balancer reaches members, of a server that is not
	// the node's by its provider ID, Taken those whose address is on the port of another server than the
	// one of their provider ID. Unfiltered are nodes whose port has no port security: everybody reaches
	// those.
	Unfound, Strayed, Taken, Unfiltered []string

	id      ownership.Identity
	desired *Desired
	state   *State
	// current is Request.NodesCurrent.
	current func() bool
	// beside are the groups that the ports of members use, ours among them.
	beside map[string]bool
}

// Plan reads what is not known yet and compares. It writes nothing. Where security
// groups must keep clients out and cannot, it is an error.
func (g *Groups) Plan(ctx context.Context, r Request) (*Task, error) {
	t := &Task{id: r.ID, current: r.NodesCurrent, beside: map[string]bool{}}
	var err error
	if r.Kept && r.Spec != nil && r.Spec.Direct {
		if r.Spec, err = g.keepClients(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.Spec != nil {
		if g.mode == Shared && r.ID.SharedGroupName() == "" {
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
		if err := g.openToAll(ctx, t); err != nil {
			return nil, err
		}
	}
	if r.Spec != nil || !r.Kept { // groups that a refused Service has are not given up: cloud.conf may be what is wrong
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

// desire returns what a Service needs in the cloud.
func (g *Groups) desire(ctx context.Context, r Request, t *Task) (*Desired, error) {
	nearby, err := g.nearby(ctx, r)
	if err != nil {
		return nil, err
	}
	d := &Desired{
		Name: r.ID.SecurityGroupName(), Description: r.ID.SecurityGroupDescription(), Tags: r.ID.SecurityGroupTags(),
	}
	own, common := r.Spec.Rules(nearby)
	if g.mode == Shared {
		d.Name, d.Description, d.Tags = r.ID.SharedGroupName(), r.ID.SharedGroupDescription(), r.ID.SharedGroupTags()
		d.Own, d.Common = own, common
	} else {
		d.Own = sortRules(slices.Concat(own, common))
	}
	err = g.nodePorts(ctx, r, t, d)
	return d, err
}

// nearby returns the CIDRs that the load balancer sends from: the subnets of members
// and VIP.
func (g *Groups) nearby(ctx context.Context, r Request) ([]string, error) {
	var cidrs []string
	for _, id := range append(slices.Clone(r.Spec.Subnets), r.VIPSubnet) {
		if id == "" {
			continue
		}
		cidr, err := g.facts.SubnetCIDR(ctx, id)
		if err != nil {
			return nil, err
		}
		if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is6() == r.Spec.IPv6 {
			cidrs = append(cidrs, prefix.Masked().String())
		} else if cidr == "" && id != r.VIPSubnet {
			return nil, fmt.Errorf("there is no subnet %s for members, or this project cannot see it", id)
		}
	}
	if len(cidrs) == 0 && !r.Spec.Direct {
		return nil, fmt.Errorf("it is not known from which subnet the load balancer reaches the nodes: name it with member-subnet-id")
	}
	slices.Sort(cidrs)
	return slices.Compact(cidrs), nil
}

// snapshotAge is how old a snapshot, or a list of the shared group's rules, may be for
// Services that come one after another: they share it.
const snapshotAge = time.Minute
