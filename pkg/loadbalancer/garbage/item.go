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
	FloatingIP    Kind = "floating-ip"
	Listener      Kind = "listener"
	Pool          Kind = "pool"
	LoadBalancer  Kind = "load-balancer"
	SecurityGroup Kind = "security-group"
	Route         Kind = "route"
)

// order returns the kinds as objects are removed and listed.
func order() []Kind { return []Kind{FloatingIP, Listener, Pool, LoadBalancer, SecurityGroup, Route} }

// State is what becomes of an object.
type State string

// States of objects.
const (
	// Found objects will be removed.
	Found State = "found"
	// Removed objects are gone.
	Removed State = "removed"
	// Failed objects could not be removed.
	Failed State = "failed"
	// Kept floating IPs are the cluster's, and stay unless that is asked for.
	Kept State = "kept"
	// LeftAlone objects are not the cluster's, or may not be.
	LeftAlone State = "left-alone"
)

// Item is an object and what becomes of it.
type Item struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Name is the address of a floating IP, or the router of a route.
	Name string `json:"name,omitempty"`
	// LoadBalancer is the ID of the one that it is a part of, or is on.
	LoadBalancer string `json:"loadBalancer,omitempty"`
	State        State  `json:"state"`
	// Unclear tells of an object that is left alone that it may be the cluster's.
	Unclear bool `json:"unclear,omitempty"`
	// Why is the reason for the state, "" where it needs none.
	Why string `json:"why,omitempty"`

	// portID and description are those of a floating IP when it was listed.
	portID, description string
	// route is a route of the router.
	route neutron.ExtraRoute
}

// onLoadBalancer returns the load balancer that an item is, or is on; "" for others.
func (i Item) onLoadBalancer() string {
	if i.Kind == LoadBalancer {
		return i.ID
	}
	return i.LoadBalancer
}

// Report is what a run has found and done.
type Report struct {
	Cloud   Cloud  `json:"cloud"`
	Cluster Target `json:"cluster"`
	// Carried tells whether anything in the project carries the ID or the name of the cluster.
	Carried bool `json:"carried"`
	// Known are the clusters that objects of the project name.
	Known []Known `json:"known,omitempty"`
	// Interrupted is set where the run was stopped before its end.
	Interrupted bool   `json:"interrupted,omitempty"`
	Items       []Item `json:"items"`
}

// Exit codes of the command.
const (
	// ExitClean tells that nothing of the cluster is left but what is kept.
	ExitClean = 0
	// ExitFailed tells that something could not be listed or removed.
	ExitFailed = 1
	// ExitFound tells that there is something to be removed.
	ExitFound = 3
	// ExitUnclear tells that there is nothing to be removed for sure, but something that may
	// be the cluster's.
	ExitUnclear = 4
	// ExitNotCarried tells that nothing in the project carries the ID or the name: it was removed
	// before, or there is a mistake in the flags.
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

// Unknown reports whether no object in the project carries the ID or the name, and none was removed.
func (r *Report) Unknown() bool {
	return !r.Carried && !slices.ContainsFunc(r.Items, func(i Item) bool { return i.State == Removed })
}

// String says where a cloud is.
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

// String names the cluster.
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
