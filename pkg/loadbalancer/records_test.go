package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// A tenant may edit the annotation, and what is recorded is never older.
func TestRecord_InAnnotationCountsOnlyAsLongAsNoneWasKept(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(2), service("web", 1)
		env.ensure(svc, nodes)
		env.writeDown(svc)
		svc.Annotations[annotation.Fingerprint] = env.records.texts[svc.UID]
		env.records.Set(svc.UID, "")
		env.records.empty = kept
		env.restart()
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, nodes)
		env.writes(0)
		if believed := len(env.contentReads()) == 0; believed == kept {
			t.Errorf("records were kept: %v; the annotation is believed: %v", kept, believed)
		}
		env.writeDown(svc) // in the place for records
		env.restart()
		delete(svc.Annotations, annotation.Fingerprint)
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, nodes)
		if reads := env.contentReads(); len(reads) > 0 {
			t.Errorf("then read\n%s", printed(reads))
		}
	}
}

// A warning is sent when it changes, whichever process has sent the last one.
func TestRestart_RepeatsNoWarning(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	const unknown, another = annotation.Prefix + "unknown", annotation.Prefix + "another"
	svc.Annotations[unknown] = "x"
	env.ensure(svc, nodes[:2])
	env.writeDown(svc)
	if told := env.told(); !strings.Contains(told, unknown) {
		t.Fatalf("events\n%s", told)
	}
	for range 2 {
		env.restart()
		env.ensure(svc, nodes[:2])
		if told := env.told(); told != "" {
			t.Errorf("events after a restart\n%s", told)
		}
	}
	env.ensure(svc, nodes) // a change of nodes
	if told := env.told(); strings.Contains(told, unknown) {
		t.Errorf("events after a change of nodes\n%s", told)
	}
	env.writeDown(svc)
	env.restart()
	svc.Annotations[another] = "x" // while nothing ran
	env.ensure(svc, nodes)
	if told := env.told(); !strings.Contains(told, another) {
		t.Errorf("events after a change of the Service\n%s", told)
	}
}
