package resync

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// nodeList is the list of the nodes in order. It is the same one, and not only an equal
// one, as long as no node changes: thousands of Services are brought to it at the same time, and
// what follows from it is found out once for all of them. The zero value is ready.
type nodeList struct {
	mu sync.Mutex
	// version is what the informer had when it was asked for the nodes last, or less; "" where it
	// does not tell.
	version string
	madeOf  map[*v1.Node]struct{}
	nodes   []*v1.Node
}

// of returns all nodes in the order of their names. Version is that of
// the informer before all is called, which may return them in any order. The list is never nil,
// and must not be changed.
func (l *nodeList) of(version string, all func() []*v1.Node) []*v1.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version == "" || version != l.version {
		l.rebuild(all())
		l.version = version
	}
	return l.nodes
}

// rebuild makes the list anew, unless it is made of the same nodes.
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

// isMadeOf reports whether the list was made of the same nodes. An informer has another object of
// a node that has changed.
func (l *nodeList) isMadeOf(all []*v1.Node) bool {
	if len(l.madeOf) != len(all) {
		return false
	}
	return !slices.ContainsFunc(all, func(node *v1.Node) bool { _, ok := l.madeOf[node]; return !ok })
}
