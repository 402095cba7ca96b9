package loadbalancer

import (
	"hash/fnv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// subject is what a notice is about: each is told by one event, and again only when it
// has changed.
type subject int

const (
	// aboutSettings is what the Service says; aboutProvider what the cloud makes of it.
	aboutSettings subject = iota
	aboutProvider
	aboutNodes
	aboutMonitors
)

// notices remembers what each Service was told last, until the Service goes: who writes
// a Service decides on how many there are, and events get lost where there are too many.
type notices struct {
	mu   sync.Mutex
	last map[types.UID]map[subject]uint64
}

// changed notes what is told now, "" for nothing, and tells whether it is something
// else than was told last.
func (n *notices) changed(uid types.UID, about subject, text string) bool {
	sum := fnv.New64a()
	sum.Write([]byte(text))
	n.mu.Lock()
	defer n.mu.Unlock()
	last, told := n.last[uid][about]
	switch {
	case text == "":
		delete(n.last[uid], about)
		return false
	case told && last == sum.Sum64():
		return false
	case n.last == nil:
		n.last = map[types.UID]map[subject]uint64{}
	}
	if n.last[uid] == nil {
		n.last[uid] = map[subject]uint64{}
	}
	n.last[uid][about] = sum.Sum64()
	return true
}

// forget drops what a Service that has gone was told.
func (n *notices) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.last, uid)
}

// tellIgnored tells of settings without effect.
func (r *Reconciler) tellIgnored(svc *v1.Service, about subject, ignored []annotation.Notice) {
	texts := make([]string, 0, len(ignored))
	for _, notice := range ignored {
		texts = append(texts, notice.Annotation+": "+notice.Message)
	}
	text := message.Join(texts, "; ", message.MaxEvent)
	if r.notices.changed(svc.UID, about, text) {
		r.options.Recorder.Event(svc, v1.EventTypeWarning, ReasonIgnored, text)
	}
}
