package garbage

import (
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Kind is the kind of an object.
type Kind string

// Kinds of objects.
const (
	FloatingIP   Kind = "floating-ip"
	Listener     Kind = "listener"
	Pool         Kind = "pool"
	LoadBalancer Kind = "load-balancer"
	// VIP is the port of a VIP of provider router, with the routes to it.
	VIP           Kind = "vip"
	SecurityGroup Kind = "security-group"
	Route         Kind = "route"
)

// order returns the kinds in the order of removal and of lists.
func order() []Kind {
	return []Kind{FloatingIP, Listener, Pool, LoadBalancer, VIP, SecurityGroup, Route}
}

// State is the result for an object.
type State string

// States of objects.
const (
	// Found objects will be removed.
	Found State = "found"
	// Removed objects no longer exist.
	Removed State = "removed"
	// Failed objects could not be removed.
	Failed State = "failed"
	// Kept floating IPs belong to the cluster, and are removed only on request.
	Kept State = "kept"
	// LeftAlone objects do not belong to the cluster, or may not.
	LeftAlone State = "left-alone"
)

// Item is an object with its result.
type Item struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Name is the address of a floating IP or a VIP, or the router of a route.
	Name string `json:"name,omitempty"`
	// LoadBalancer is the ID of the load balancer that it is a part of, or is on; for a floating IP on a VIP
	// that of its port.
	LoadBalancer string `json:"loadBalancer,omitempty"`
	State        State  `json:"state"`
	// Unclear is set for an object that is left alone and may belong to the cluster.
	Unclear bool `json:"unclear,omitempty"`
	// Why is the reason for the state, "" if it needs none.
	Why string `json:"why,omitempty"`

	// portID and description are those of a listed floating IP.
	portID, description string
	// forwards is set for a listed floating IP with port forwardings.
	forwards bool
	// on is LoadBalancer or VIP for a floating IP that is on one.
	on Kind
	// vip is the port of a VIP.
	vip neutron.VIPPort
	// route is a route of the router.
	route neutron.ExtraRoute
}

// onLoadBalancer returns the load balancer, or the port of the VIP, that an item is or is on; "" for others.
func (i Item) onLoadBalancer() string {
	if i.Kind == LoadBalancer || i.Kind == VIP {
		return i.ID
	}
	return i.LoadBalancer
}

// Report is the result of a run.
type Report struct {
	Cloud   Cloud  `json:"cloud"`
	Cluster Target `json:"cluster"`
	// Carried is set if any object in the project has the ID or the name of the cluster.
	Carried bool `json:"carried"`
	// Known are the clusters that objects of the project name.
	Known []Known `json:"known,omitempty"`
	// Interrupted is set if the run was stopped before its end.
	Interrupted bool   `json:"interrupted,omitempty"`
	Items       []Item `json:"items"`
}

// Exit codes of the command.
const (
	// ExitClean: no objects of the cluster remain, except for kept ones.
	ExitClean = 0
	// ExitFailed: an object could not be listed or removed.
	ExitFailed = 1
	// ExitFound: there are objects to remove.
	ExitFound = 3
	// ExitUnclear: there are no objects to remove for certain, but some that may belong to the
	// cluster.
	ExitUnclear = 4
	// ExitNotCarried: no object in the project has the ID or the name: they were removed before, or
	// the flags are wrong.
	ExitNotCarried = 5
)

// ExitCode returns the exit code for the report.
func (r *Report) ExitCode() int {
	has := func(is func(Item) bool) bool { return slices.ContainsFunc(r.Items, is) }
	switch {
	case r.Interrupted || has(func(i Item) bool { return i.State == Failed }):
		return ExitFailed
	case has(func(i Item) bool { return i.State == Found }):
		return ExitFound
	case has(func(i Item) bool { return i.Unclear }):
		return ExitUnclear
	case r.Unknown():
		return ExitNotCarried
	default:
		return ExitClean
	}
}

// Unknown reports whether no object in the project has the ID or the name, and none was removed.
func (r *Report) Unknown() bool {
	return !r.Carried && !slices.ContainsFunc(r.Items, func(i Item) bool { return i.State == Removed })
}

// String returns the location of a cloud.
func (c Cloud) String() string {
	text := "cloud " + c.AuthURL + ", project "
	if c.ProjectName != "" {
		text += c.ProjectName + " (" + c.Project + ")"
	} else {
		text += c.Project
	}
	if c.Region != "" {
		text += ", region " + c.Region
	}
	return text
}

// String returns the names of the cluster.
func (t Target) String() string { return "cluster " + t.words() }

func (t Target) words() string {
	var words []string
	if t.Name != "" {
		words = append(words, t.Name)
	}
	if t.ID != "" {
		words = append(words, "ID "+t.ID)
	}
	return strings.Join(words, ", ")
}
