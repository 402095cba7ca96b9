package loadbalancer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// The subjects of warnings: each is sent once, and again only when it has changed.
const (
	// aboutSettings is what the Service says; aboutProvider what the cloud makes of it.
	aboutSettings = "settings"
	aboutProvider = "provider"
	aboutNodes    = "nodes"
	aboutMonitors = "monitors"
)

// tellIgnored tells of settings without effect.
func (r *Reconciler) tellIgnored(svc *v1.Service, about string, ignored []annotation.Notice) {
	texts := make([]string, 0, len(ignored))
	for _, notice := range ignored {
		texts = append(texts, notice.Annotation+": "+notice.Message)
	}
	text := message.Join(texts, "; ", message.MaxEvent)
	if r.store.Warn(svc.UID, about, text) {
		r.options.Recorder.Event(svc, v1.EventTypeWarning, ReasonIgnored, text)
	}
}
