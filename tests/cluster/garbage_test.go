package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// assertGarbageGoes removes a Service while no controller runs, as a user does who removes its
// finalizer by hand. It fails unless the next controller reports the orphaned objects and deletes
// them.
func (w *crowd) assertGarbageGoes(name string) {
	w.t.Helper()
	services := w.Client().CoreV1().Services("default")
	service, err := services.Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := services.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := services.Patch(w.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
	before, address := len(w.cloud.Octavia.Snapshot()), service.Status.LoadBalancer.Ingress[0].IP
	if err := w.StartCCM(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("what the Service has left goes", func(ctx context.Context) error {
		if now := len(w.cloud.Octavia.Snapshot()); now != before-1 {
			return fmt.Errorf("%d load balancers of %d", now, before)
		}
		for _, fip := range w.cloud.Neutron.FloatingIPs() {
			if fip.Address == address {
				return errors.New("its floating IP is there")
			}
		}
		events, err := w.Client().CoreV1().Events(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=ConfigMap"})
		if err != nil {
			return err
		}
		reasons := ""
		for _, event := range events.Items {
			reasons += event.Reason + " "
		}
		if !strings.Contains(reasons, "GarbageFound") || !strings.Contains(reasons, "GarbageRemoved") {
			return fmt.Errorf("events are %s", reasons)
		}
		return nil
	})
	w.StopCCM()
}
