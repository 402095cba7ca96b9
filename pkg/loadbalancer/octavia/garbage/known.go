package garbage

import (
	"cmp"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Cloud is the location of a run.
type Cloud struct {
	AuthURL string `json:"authURL"`
	Project string `json:"project"`
	// ProjectName is "" if cloud.conf does not have it.
	ProjectName string `json:"projectName,omitempty"`
	Region      string `json:"region,omitempty"`
}

// Known is a cluster that objects of the project name.
type Known struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// mostKnown is the maximum number of clusters in a report.
const mostKnown = 50

// known returns the clusters that objects of the project name, and whether any object has the
// requested ID or name.
func known(query Query, all []ownership.Signs) (clusters []Known, carried bool) {
	seen := map[Known]bool{}
	add := func(k Known) {
		if k != (Known{}) && !seen[k] {
			seen[k] = true
			clusters = append(clusters, k)
		}
	}
	for _, s := range all {
		for _, id := range s.ClusterIDs {
			add(Known{id, s.ClusterName})
			carried = carried || id == query.ClusterID
		}
		if len(s.ClusterIDs) == 0 {
			add(Known{Name: s.ClusterName})
		}
		carried = carried || s.ClusterName != "" && s.ClusterName == query.ClusterName
	}
	slices.SortFunc(clusters, func(a, b Known) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return clusters[:min(len(clusters), mostKnown)], carried
}

// String returns the names of a cluster.
func (k Known) String() string { return Target{ID: k.ID, Name: k.Name}.words() }
