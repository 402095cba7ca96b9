package loadbalancer_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// A warning is emitted only if it has changed, whichever process emitted the last one.
func TestRestart_RepeatsNoWarning(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	const unknown, another = annotation.Prefix + "unknown", annotation.Prefix + "another"
	svc.Annotations[unknown] = "x"
	env.ensure(svc, nodes[:2])
	env.writeDown(svc)
	if emitted := env.emitted(); !strings.Contains(emitted, unknown) {
		t.Fatalf("events\n%s", emitted)
	}
	for range 2 {
		env.restart()
		env.ensure(svc, nodes[:2])
		if emitted := env.emitted(); emitted != "" {
			t.Errorf("events after a restart\n%s", emitted)
		}
	}
	env.ensure(svc, nodes) // a change of nodes
	if emitted := env.emitted(); strings.Contains(emitted, unknown) {
		t.Errorf("events after a change of nodes\n%s", emitted)
	}
	env.writeDown(svc)
	env.restart()
	svc.Annotations[another] = "x" // while no process ran
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, another) {
		t.Errorf("events after a change of the Service\n%s", emitted)
	}
}

// A change of a Service that this process has written needs no round.
func TestIsWritten_KnowsWhatThisProcessHasWritten(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	before := svc.DeepCopy()
	env.ensure(svc, nodes)
	env.writeDown(svc)
	if !env.engine.IsWritten(before, svc) {
		t.Errorf("%v were %v: nothing but what was written differs", svc.Annotations, before.Annotations)
	}
	for what, change := range map[string]func(*v1.Service){
		"a port":         func(svc *v1.Service) { svc.Spec.Ports[0].Port++ },
		"another one":    func(svc *v1.Service) { svc.UID = "another" },
		"its deletion":   func(svc *v1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"an annotation":  func(svc *v1.Service) { svc.Annotations[annotation.Prefix+"timeout-member-data"] = "1" },
		"what was there": func(svc *v1.Service) { maps.Copy(before.Annotations, svc.Annotations) },
	} {
		changed := svc.DeepCopy()
		change(changed)
		if env.engine.IsWritten(before, changed) {
			t.Errorf("%s: is taken for what was written", what)
		}
		before = service("web", 1)
	}
	env.restart()
	if env.engine.IsWritten(before, svc) {
		t.Error("what an earlier process has written is taken for what this one has")
	}
}
