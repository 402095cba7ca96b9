package resync

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With five thousand nodes, a pass over them for each Service would dominate a restart.
func TestNodeList_LooksAtNodesOnceForEachVersion(t *testing.T) {
	t.Parallel()
	var list nodeList
	var nodes []*v1.Node
	looks := 0
	get := func(version string) []*v1.Node {
		return list.of(version, func() []*v1.Node {
			looks++
			return nodes
		})
	}
	node := func(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	b := node("b")
	for i, step := range []struct {
		version     string
		nodes       []*v1.Node
		want, looks int
	}{
		{"", nil, 0, 1},
		{"", []*v1.Node{b}, 1, 2}, // without a version, any node may have changed
		{"", []*v1.Node{b}, 1, 3},
		{"7", []*v1.Node{b, node("a")}, 2, 4},
		{"7", nil, 2, 4},
		{"8", []*v1.Node{b}, 1, 5},
		{"8", nil, 1, 5},
		{"9", nil, 0, 6},
	} {
		nodes = step.nodes
		got := get(step.version)
		if got == nil || len(got) != step.want || looks != step.looks {
			t.Errorf("step %d: %d nodes, %d looks, want %d and %d", i, len(got), looks, step.want, step.looks)
		}
	}
}
