package loadbalancer_test

import (
	"net/http"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// TestTags_OfUserAreSetAtCreationAndNeverRewritten creates a Service with tags, changes them, and
// adds a port: existing objects keep their tags, new ones have the new tags.
//
//proves:65
func TestTags_OfUserAreSetAtCreationAndNeverRewritten(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"tags": "section", "create-monitor": "true"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	for part, tags := range tagsIn(env.loadBalancer()) {
		if !slices.Contains(tags, "section") || !slices.Contains(tags, "kube_svc_uid_"+string(svc.UID)) {
			t.Errorf("%s has tags %q", part, tags)
		}
	}
	svc.Annotations[annotation.Tags] = "team-a, cost=7"
	env.unchanged(svc, nodes)

	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
	env.ensure(svc, nodes)
	for part, tags := range tagsIn(env.loadBalancer()) {
		old, young := slices.Contains(tags, "section"), slices.Contains(tags, "team-a") && slices.Contains(tags, "cost=7")
		if isNew := part == "UDP listener" || part == "UDP pool" || part == "UDP-CONNECT monitor"; old == isNew || young != isNew {
			t.Errorf("%s has tags %q", part, tags)
		}
	}
	env.unchanged(svc, nodes)

	delete(svc.Annotations, annotation.Tags)
	env.Conf.LoadBalancer.Tags = ""
	env.unchanged(svc, nodes)
	svc.Annotations[annotation.Tags] = "kube_svc_uid_of-another"
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, `"kube_svc_uid_of-another"`)
	env.writes(0)
	env.delete(svc)
	env.loadBalancers(0)
}

// An outage of the version document does not mean an Octavia without tags: nothing is created
// before the version is known.
func TestTags_WaitForTheVersionWhileItsDocumentHasAnOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]faults.Rule{
		"no answer": {Drop: true}, "a reset": {Reset: true}, "half an answer": {CutAfter: 20}, "503": {Status: http.StatusServiceUnavailable, Worded: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := env.nodes(2), service("web", 1)
			outage.Method = http.MethodGet
			for _, root := range []string{"/load-balancer/", "/load-balancer/v2.0/"} {
				outage.Route = root
				env.Cloud.Faults.Add(outage)
			}
			env.engine = env.coldController()
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				t.Error("the load balancer is served before the version is known")
			}
			env.loadBalancers(0)
			env.Cloud.Faults.Clear()
			env.ensure(svc, nodes)
			for part, tags := range tagsIn(env.loadBalancer()) {
				if !slices.Contains(tags, "kube_svc_uid_"+string(svc.UID)) {
					t.Errorf("%s has tags %q", part, tags)
				}
			}
		})
	}
}

// tagsIn returns the tags of the parts of a load balancer with a listener of TCP and one of UDP.
func tagsIn(lb octavia.LoadBalancer) map[string][]string {
	all := map[string][]string{"load balancer": lb.Tags}
	for _, l := range lb.Listeners {
		all[l.Protocol+" listener"] = l.Tags
	}
	for _, p := range lb.Pools {
		all[p.Protocol+" pool"] = p.Tags
		if p.Monitor != nil {
			all[p.Monitor.Type+" monitor"] = p.Monitor.Tags
		}
	}
	return all
}
