package garbage

import (
	"cmp"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Cloud is where a run looks.
type Cloud struct {
	AuthURL string `json:"authURL"`
	Project string `json:"project"`
	// ProjectName is "" where cloud.conf does not name the project.
	ProjectName string `json:"projectName,omitempty"`
	Region      string `json:"region,omitempty"`
}

// Known is a cluster that objects of the project name.
type Known struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// mostKnown is how many clusters a report names.
const mostKnown = 50

// known returns the clusters that objects of the project name, and whether any object carries the
// ID or the name that is looked for.
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

// String names a cluster.
func (k Known) String() string { return Target{ID: k.ID, Name: k.Name}.words() }
