package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// What somebody can do to others who may write the Services of one namespace, and
// nothing else.

// in puts a Service into a namespace.
func in(namespace string, svc *v1.Service) *v1.Service {
	svc.Namespace, svc.UID = namespace, types.UID("uid-of-"+namespace+"-"+svc.Name)
	return svc
}

// refusedBeforeAnything fails unless the Service is refused for a field or annotation,
// and nothing is written for it.
func (w *world) refusedBeforeAnything(svc *v1.Service, nodes []*v1.Node, path string, words ...string) {
	w.t.Helper()
	w.cloud.Books.Reset()
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	if err == nil || !strings.HasPrefix(err.Error(), path+":") {
		w.t.Fatalf("Ensure: got error %v, want one of %s", err, path)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("error %q says nothing of %q", err, word)
		}
	}
	w.writes(0)
}

func TestAMonitorOpensNoPortOfTheNodesThatIsNotTheServices(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"shared", "per-service"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(3), in("evil", service("a", 1))
			annotate(annotation.Monitor, "true", annotation.MonitorPort, "10250", annotation.MonitorPath, "/anything")(svc)
			w.refusedBeforeAnything(svc, nodes, annotation.Path(annotation.MonitorPort).String(), "10250", "monitor-ports")
			if groups := w.groups(); len(groups) > 0 {
				t.Errorf("the nodes are opened by %v", groups)
			}
			svc.Annotations[annotation.MonitorPort] = "30080"
			w.ensure(svc, nodes)
			for _, rule := range rulesOf(w.group()) {
				if strings.Contains(rule, "10250") {
					t.Errorf("the nodes are opened by %s", rule)
				}
			}
		})
	}
}

// toldNow gives the events since the last time.
func (w *world) toldNow() []string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func TestAnErrorOfThousandsOfSourceRangesIsShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	for i := range 30000 {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("2001:db8:%x::/48", i))
	}
	w.refusedBeforeAnything(svc, nodes, "spec.loadBalancerSourceRanges[0]", "2001:db8:0::/48", "spec.loadBalancerSourceRanges[5]", "more")
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	if text := err.Error(); len(text) > message.MaxError {
		t.Errorf("an error of %d bytes", len(text))
	}
}

func TestAThousandUnknownAnnotationsAreToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	for i := range 900 {
		svc.Annotations[fmt.Sprintf("loadbalancer.openstack.org/x%03d", i)] = ""
	}
	ignored := func() []string {
		var all []string
		for _, event := range w.toldNow() {
			if strings.Contains(event, "there is no such annotation") {
				all = append(all, event)
			}
		}
		return all
	}
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 1 || !strings.Contains(told[0], "x000: there is") || !strings.HasSuffix(told[0], "and 890 more") {
		t.Errorf("told at first: %q", told)
	}
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 0 {
		t.Errorf("told again though nothing changed: %q", told)
	}
	delete(svc.Annotations, "loadbalancer.openstack.org/x000")
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 1 || strings.Contains(told[0], "x000") {
		t.Errorf("told after a change: %q", told)
	}
}
