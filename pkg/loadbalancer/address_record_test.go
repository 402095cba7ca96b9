package loadbalancer_test

import (
	"context"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// A write of annotations that was under way when its process ended can succeed after the writes of
// the next process, because the Service has not changed meanwhile. That change of the Service
// causes a round, which finds only the annotations out of date.
func TestRecord_IsWrittenAgainAfterLateWriteOfAnother(t *testing.T) {
	t.Parallel()
	late := map[string]func(annotations map[string]string){
		"an address that is gone":      func(a map[string]string) { a[annotation.LoadBalancerAddress] = "127.200.0.99" },
		"another load balancer before": func(a map[string]string) { a[annotation.WrittenFor] = "" },
		"one that is gone":             func(a map[string]string) { a[annotation.WrittenFor] = "gone" + a[annotation.WrittenFor] },
		"nothing":                      func(a map[string]string) { delete(a, annotation.LoadBalancerAddress) },
	}
	for name, late := range late {
		for _, restarted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", of the process before"}[restarted], func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes, svc := env.nodes(2), service("web", 1)
				svc.Annotations[annotation.Internal] = "true"
				env.ensure(svc, nodes)
				env.writeDown(svc)
				if restarted {
					env.restart()
					env.ensure(svc, nodes)
				}
				want := maps.Clone(svc.Annotations)
				late(svc.Annotations)
				env.Cloud.RequestLog.Reset()
				env.ensure(svc, nodes) // nothing needs a change
				if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
					t.Errorf("it costs\n%s", printed(all))
				}
				ctx, stop := context.WithCancel(env.ctx)
				defer stop()
				writes := 0
				env.engine.PersistRecords(ctx, func(_ context.Context, _ types.NamespacedName, _ types.UID, record annotation.Record) error {
					writeRecord(svc, record)
					writes++
					stop()
					return nil
				})
				if !maps.Equal(svc.Annotations, want) || writes != 1 {
					t.Errorf("after %d writes the annotations are %v, want %v", writes, svc.Annotations, want)
				}
			})
		}
	}
}
