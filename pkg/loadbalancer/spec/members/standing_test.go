package members_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A request of a user or operator is followed down to the last node; the state of nodes is not.
func TestSelect_FollowsWhatIsAskedForToTheLastNode(t *testing.T) {
	t.Parallel()
	node := func(name, state string) *v1.Node {
		n := fixture.Node(name, "10.0.0."+name)
		for _, is := range strings.Fields(state) {
			switch is {
			case "labelled":
				n.Labels[v1.LabelNodeExcludeBalancers] = ""
			case "labelled=false":
				n.Labels[v1.LabelNodeExcludeBalancers] = "false"
			case "control-plane":
				n.Labels["node-role.kubernetes.io/control-plane"] = ""
			case "web":
				n.Labels["pool"] = "web"
			case "deleted":
				n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			case "tainted":
				n.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
			case "cordoned":
				n.Spec.Unschedulable, n.Spec.Taints = true, []v1.Taint{{Key: v1.TaintNodeUnschedulable}}
			case "unready":
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}
				n.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeNotReady}}
			case "shutdown":
				n.Spec.Taints = []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/shutdown"}}
			case "addressless":
				n.Status.Addresses = nil
			}
		}
		return n
	}
	for _, test := range []struct {
		selector string
		nodes    []string // of the names 1, 2 and so on
		want     string   // the members, or the error
		standing members.Standing
	}{
		{"", []string{"", ""}, "1 2", members.Usual},
		{"", []string{"labelled", "labelled=false"}, "2", members.Usual},
		{"", []string{"deleted", "tainted", ""}, "3", members.Usual},
		{"", []string{"labelled", "labelled"}, "", members.Excluded},
		{"", []string{"labelled deleted", "labelled tainted", "labelled addressless"}, "", members.Excluded},
		{"", []string{"unready", "cordoned", "shutdown"}, "1 2 3", members.Usual},
		{"", []string{"deleted", "tainted"}, "1 2", members.Last},
		{"", []string{"deleted", "labelled", "tainted addressless"}, "1", members.Last},
		{"", []string{"addressless", "tainted"}, "2", members.Last},
		{"", []string{"addressless", "labelled"}, "no node has an address of family IPv4: 1; keeping the existing members", members.Usual},
		{"", nil, "the cluster has no node that can be a member: keeping the existing members", members.Usual},
		{"", []string{"labelled control-plane"}, "the cluster has no node that can be a member: keeping the existing members", members.Usual}, // the workers are gone
		{"", []string{"labelled control-plane", "labelled"}, "", members.Excluded},
		{"", []string{"control-plane"}, "1", members.Usual},
		{"pool=web", []string{"control-plane", "labelled control-plane"}, "the cluster has no node that can be a member: keeping the existing members", members.Usual},
		{"pool=web", []string{"control-plane", ""}, "", members.Unselected},
		{"pool=web", []string{"web", ""}, "1", members.Usual},
		{"pool=web", []string{"", ""}, "", members.Unselected},
		{"pool=web", []string{"labelled web", ""}, "", members.Unselected},
		{"pool=web", []string{"labelled web", "labelled"}, "", members.Excluded},
		{"pool=web", []string{"tainted web", "deleted web", ""}, "1 2", members.Last},
		{"pool=web", []string{"tainted", "deleted"}, "", members.Unselected},
		{"pool=web", []string{"web addressless", ""}, "no node has an address of family IPv4: 1; keeping the existing members", members.Usual},
		{"pool=web", nil, "the cluster has no node that can be a member: keeping the existing members", members.Usual},
	} {
		var nodes []*v1.Node
		for i, state := range test.nodes {
			nodes = append(nodes, node(string(rune('1'+i)), state))
		}
		set, err := new(members.Selector).Select(fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.NodeSelector, test.selector)), fixture.Config()), nodes)
		var got string
		var standing members.Standing
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, b := range set.Backends {
				names = append(names, b.Node.Name)
			}
			got, standing = strings.Join(names, " "), set.Standing
		}
		if got != test.want || standing != test.standing {
			t.Errorf("selector %q, nodes %q: %q, standing %d; want %q, %d", test.selector, test.nodes, got, standing, test.want, test.standing)
		}
	}
}

// No more than max-members serve of those that are about to go, either.
func TestSelect_LimitsMembersThatAreAboutToGo(t *testing.T) {
	t.Parallel()
	nodes := zoned(6, 2)
	for _, node := range nodes {
		node.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	}
	set, err := new(members.Selector).Select(fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.MaxMembers, "4")), fixture.Config()), nodes)
	if err != nil || len(set.Backends) != 4 || set.Standing != members.Last {
		t.Errorf("%+v, %v", set, err)
	}
	if got := members.InLoadBalancers(append(slices.Clone(nodes), fixture.Node("z", "10.9.9.9"))); len(got) != 7 || len(members.InLoadBalancers(nodes)) != 6 {
		t.Errorf("in load balancers: %v", got)
	}
}
