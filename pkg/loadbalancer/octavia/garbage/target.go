package garbage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Target is the cluster of a run.
type Target struct {
	// ID is the UID of its namespace kube-system. If only the name is known, it is that of the one
	// cluster with objects of this name.
	ID string `json:"id,omitempty"`
	// Name is its --cluster-name.
	Name string `json:"name,omitempty"`

	// doubt is the reason why the name proves nothing in this project; "" if it does.
	doubt string
	// names are the cluster names on objects with the ID.
	names []string
}

// claim is the owner of an object.
type claim int

const (
	// theirs are objects that are unrelated to the cluster.
	theirs claim = iota
	// mistakable are objects of others that a person could mistake for the cluster's.
	mistakable
	// unclear are objects that may belong to the cluster.
	unclear
	// ours are objects of the cluster.
	ours
)

// resolve returns the target, given the signs of all objects in the project.
//
//	given         objects with the name                     the target is
//	ID            any                                       objects with the ID
//	name          has no ID                                 objects with the name
//	name          has one ID, all of it                     objects with the ID
//	name          has several IDs, or one and none          nothing: the ID must be given
//	ID and name   has this ID or none                       objects with the ID, or with the name and no ID
//	ID and name   has another ID too                        objects with the ID
func resolve(id, name string, all []ownership.Signs) Target {
	t := Target{ID: id, Name: name}
	var others []string
	without := false
	for _, s := range all {
		switch {
		case id != "" && slices.Contains(s.ClusterIDs, id):
			t.names = append(t.names, s.ClusterName)
		case s.ClusterName == "" || s.ClusterName != name:
		case len(s.ClusterIDs) == 0:
			without = true
		default:
			others = append(others, s.ClusterIDs...)
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	switch {
	case name == "" || len(others) == 0:
	case id != "":
		t.doubt = fmt.Sprintf("it carries no cluster ID, and another cluster has the name %s too: %s", name, strings.Join(others, ", "))
	case len(others) == 1 && !without:
		t.ID = others[0]
	case without:
		t.doubt = fmt.Sprintf("some objects of the name %s carry the cluster ID %s, and some carry none: give --cluster-id as well", name, strings.Join(others, ", "))
	default:
		t.doubt = fmt.Sprintf("several clusters have the name %s: give --cluster-id as well, one of %s", name, strings.Join(others, ", "))
	}
	return t
}

// judge returns the owner of an object, and the reason to leave it alone if that is reported.
//
//	ID of the object        its cluster name            it is
//	this cluster's          any                         ours
//	this and another one's  any                         unclear
//	another's               this cluster's              mistakable, or unclear if only the name was given
//	another's               any other                   theirs
//	none                    this cluster's              ours, or unclear if the name proves nothing
//	none                    cannot be read              unclear, if a name was given and a cluster created it
//	none                    one of the ID, none given   unclear
//	none                    any other                   theirs
func (t Target) judge(s ownership.Signs) (claim, string) {
	named := t.Name != "" && s.ClusterName == t.Name
	switch {
	case t.ID != "" && slices.Contains(s.ClusterIDs, t.ID):
		if len(s.ClusterIDs) > 1 {
			return unclear, "it has the IDs of several clusters: " + strings.Join(s.ClusterIDs, ", ")
		}
		return ours, ""
	case len(s.ClusterIDs) > 0 && named && t.ID == "":
		return unclear, t.doubt
	case len(s.ClusterIDs) > 0 && named:
		return mistakable, "it has the ID of another cluster of this name: " + strings.Join(s.ClusterIDs, ", ")
	case len(s.ClusterIDs) > 0:
		return theirs, ""
	case named && t.doubt != "":
		return unclear, t.doubt
	case named:
		return ours, ""
	case t.Name != "" && s.Kubernetes && s.ClusterName == "":
		return unclear, "it does not say for sure of which cluster it is"
	case t.Name == "" && s.ClusterName != "" && slices.Contains(t.names, s.ClusterName):
		return unclear, fmt.Sprintf("it carries no cluster ID, only a name of this cluster: --cluster-name=%s adds it", s.ClusterName)
	default:
		return theirs, ""
	}
}
