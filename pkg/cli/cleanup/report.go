package cleanup

import (
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Report is the cli.Report of a cleanup.
type Report struct{ *garbage.Report }

// Kind implements cli.Report.
func (r Report) Kind() string { return "Cleanup" }

// WriteText implements cli.Report: a line for each object, and the sums.
func (r Report) WriteText(out *screen.Screen) error {
	if r.Cloud != (garbage.Cloud{}) {
		out.Line(screen.Text(r.Cloud.String()))
	}
	var rows [][]screen.Cell
	for _, item := range r.Items {
		rows = append(rows, []screen.Cell{
			screen.Text(string(item.State)), screen.Text(string(item.Kind)), screen.Text(item.ID), screen.Text(item.Name), screen.Text(item.Why),
		})
	}
	out.Table(0, rows)
	counts := screen.Count(r.Items, func(i garbage.Item) garbage.State { return i.State })
	var sums []string
	for _, state := range []garbage.State{garbage.Found, garbage.Removed, garbage.Failed, garbage.Kept, garbage.LeftAlone} {
		sums = append(sums, fmt.Sprintf("%d %s", counts[state], state))
	}
	out.Line(screen.Text(fmt.Sprintf("%s: %s", r.Cluster, strings.Join(sums, ", "))))
	switch {
	case r.Interrupted:
		out.Line(screen.Text("Interrupted. The next run continues."))
	case counts[garbage.Found] > 0:
		out.Line(screen.Text("Nothing was removed. --yes removes the objects that were found."))
	case r.Unknown():
		out.Line(screen.Text(r.unknown()))
	}
	return out.Err()
}

// unknown returns the line for a cluster without objects. It lists the clusters of existing
// objects.
func (r Report) unknown() string {
	text := "No object of this project has the ID or the name of this cluster: it was removed before, or the flags or the project are wrong. "
	if len(r.Known) == 0 {
		return text + "No object of the project belongs to a cluster."
	}
	names := make([]string, len(r.Known))
	for i, cluster := range r.Known {
		names[i] = cluster.String()
	}
	return text + "Clusters with objects in the project: " + strings.Join(names, "; ") + "."
}
