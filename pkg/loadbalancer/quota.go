package loadbalancer

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// QuotaError tells that a namespace has as many load balancers as cloud.conf allows.
type QuotaError struct {
	Namespace string
	Most      int
}

// Error implements error.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("namespace %s has %d Services with load balancers, which is max-services-per-namespace of cloud.conf: delete one first, or ask the cluster's operator for more", e.Namespace, e.Most)
}

// namespaces counts the Services that have load balancers, or are about to. After a
// start it knows those that a call has come for.
type namespaces struct {
	mu  sync.Mutex
	had map[string]map[types.UID]bool
}

// take counts a Service in, unless its namespace has so many already; 0 is no limit.
// It is a *QuotaError then.
func (n *namespaces) take(namespace string, uid types.UID, most int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	services := n.had[namespace]
	if !services[uid] && most > 0 && len(services) >= most {
		return &QuotaError{namespace, most}
	}
	if n.had == nil {
		n.had = map[string]map[types.UID]bool{}
	}
	if services == nil {
		services = map[types.UID]bool{}
		n.had[namespace] = services
	}
	services[uid] = true
	return nil
}

// drop counts a Service out that has gone.
func (n *namespaces) drop(namespace string, uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.had[namespace], uid)
	if len(n.had[namespace]) == 0 {
		delete(n.had, namespace)
	}
}

// withinLimits refuses what is more than cloud.conf allows, before anything is written.
func (p *pass) withinLimits(todo plan.Plan) error {
	limits := p.options.Config.LoadBalancer
	opens := false
	for _, step := range p.groups.Open {
		_, adds := step.(securitygroup.AddRules)
		opens = opens || adds
	}
	if err := message.Invalid(desire.Exceeds(p.settings, limits, p.wanted, p.observed.LoadBalancer, opens)); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if p.observed.LoadBalancer != nil || !todo.Creates() {
		most = 0
	}
	return p.namespaces.take(p.svc.Namespace, p.svc.UID, most)
}
