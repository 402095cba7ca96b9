package resync

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// nodeList is the sorted list of the nodes. As long as no node changes, it returns the same slice,
// so that results derived from it are computed once for thousands of Services. The zero value is
// ready.
type nodeList struct {
	mu sync.Mutex
	// version is the informer's at the last call, or an earlier one; "" if it is unknown.
	version string
	madeOf  map[*v1.Node]struct{}
	nodes   []*v1.Node
}

// of returns all nodes, sorted by name. Version is that of the informer before the call of all,
// which may return the nodes in any order. The list is never nil, and must not be changed.
func (l *nodeList) of(version string, all func() []*v1.Node) []*v1.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version == "" || version != l.version {
		l.rebuild(all())
		l.version = version
	}
	return l.nodes
}

// rebuild replaces the list, unless it consists of the same nodes.
func (l *nodeList) rebuild(all []*v1.Node) {
	if l.nodes == nil || !l.isMadeOf(all) {
		l.madeOf = make(map[*v1.Node]struct{}, len(all))
		for _, node := range all {
			l.madeOf[node] = struct{}{}
		}
		l.nodes = append([]*v1.Node{}, all...)
		slices.SortFunc(l.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	}
}

// isMadeOf reports whether the list consists of the same objects. An informer replaces the object
// of a node that changes.
func (l *nodeList) isMadeOf(all []*v1.Node) bool {
	if len(l.madeOf) != len(all) {
		return false
	}
	return !slices.ContainsFunc(all, func(node *v1.Node) bool { _, ok := l.madeOf[node]; return !ok })
}
