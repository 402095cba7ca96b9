package cleanup

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
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
	// Found objects are to be removed.
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
	case r.nothing():
		return ExitNotCarried
	default:
		return ExitClean
	}
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(out io.Writer) error {
	whole := *r
	if whole.Items == nil {
		whole.Items = []Item{}
	}
	return screen.WriteJSON(out, "Cleanup", struct {
		Report
		ExitCode int `json:"exitCode"`
	}{whole, r.ExitCode()})
}

// WriteText writes the report for people: a line for each object, and the sums.
func (r *Report) WriteText(out io.Writer) error {
	if r.Cloud != (Cloud{}) {
		if _, err := fmt.Fprintln(out, r.Cloud); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	counts := map[State]int{}
	for _, item := range r.Items {
		counts[item.State]++
		fmt.Fprintln(table, strings.TrimRight(strings.Join([]string{
			string(item.State), string(item.Kind), screen.Printable(item.ID), screen.Printable(item.Name), screen.Printable(item.Why),
		}, "\t"), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var sums []string
	for _, state := range []State{Found, Removed, Failed, Kept, LeftAlone} {
		sums = append(sums, fmt.Sprintf("%d %s", counts[state], state))
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", r.Cluster, strings.Join(sums, ", "))
	switch {
	case err != nil:
	case r.Interrupted:
		_, err = fmt.Fprintln(out, "Interrupted. The next run continues.")
	case counts[Found] > 0:
		_, err = fmt.Fprintln(out, "Nothing was removed. --yes removes what was found.")
	case r.nothing():
		_, err = fmt.Fprintln(out, r.notCarried())
	}
	return err
}

// nothing reports whether the project has nothing that carries the ID or the name, and had nothing
// that is removed.
func (r *Report) nothing() bool {
	return !r.Carried && !slices.ContainsFunc(r.Items, func(i Item) bool { return i.State == Removed })
}

// notCarried says that nothing carries the ID or the name, and which ones there are.
func (r *Report) notCarried() string {
	text := "Nothing in this project carries the ID or the name of this cluster: it was removed before, or the flags or the project are wrong. "
	if len(r.Known) == 0 {
		return text + "No object of the project names a cluster."
	}
	names := make([]string, len(r.Known))
	for i, cluster := range r.Known {
		names[i] = screen.Printable(cluster.String())
	}
	return text + "Clusters that objects of the project name: " + strings.Join(names, "; ") + "."
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
	return screen.Printable(text)
}

// String names the cluster.
func (t Target) String() string { return screen.Printable("cluster " + t.words()) }

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
