package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// lookEvery is the pause between two looks.
const lookEvery = 100 * time.Millisecond

// watcher prints events in a namespace, and changes of load balancers. Each look lists all of them,
// so that none can be missed for long.
type watcher struct {
	out       *narrator
	client    kubernetes.Interface
	namespace string
	cloud     client.Cloud
	cancel    context.CancelFunc
	ended     chan struct{}

	// The printed state: the count of each event, and the description of each load balancer.
	events        map[types.UID]int32
	loadBalancers map[string]string
}

func startWatcher(ctx context.Context, out *narrator, client kubernetes.Interface, namespace string, c client.Cloud) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		out: out, client: client, namespace: namespace, cloud: c, cancel: cancel, ended: make(chan struct{}),
		events: map[types.UID]int32{}, loadBalancers: map[string]string{},
	}
	go w.run(ctx)
	return w
}

// stop ends the watcher after a last look.
func (w *watcher) stop() error {
	w.cancel()
	<-w.ended
	return nil
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.ended)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look prints no errors: the step that needs the answer fails as well.
func (w *watcher) look(ctx context.Context) {
	if events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{}); err == nil {
		for _, event := range events.Items {
			if w.events[event.UID] != event.Count {
				w.events[event.UID] = event.Count
				w.out.say("event    %s %s: %s", event.Type, event.Reason, event.Message)
			}
		}
	}
	if all, err := w.cloud.LoadBalancers(ctx); err == nil {
		w.compare(all)
	}
}

// compare prints the changes since the last look.
func (w *watcher) compare(all []client.LoadBalancer) {
	there := map[string]bool{}
	for _, lb := range all {
		there[lb.Name] = true
		if now := describe(lb); w.loadBalancers[lb.Name] != now {
			w.loadBalancers[lb.Name] = now
			w.out.say("cloud    load balancer %s: %s", lb.Name, now)
		}
	}
	for name := range w.loadBalancers {
		if !there[name] {
			delete(w.loadBalancers, name)
			w.out.say("cloud    load balancer %s: gone", name)
		}
	}
}

// describe is "ACTIVE, members: 2 ERROR, 1 ONLINE".
func describe(lb client.LoadBalancer) string {
	members := lb.MembersByStatus()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, fmt.Sprintf("%d %s", members[status], status))
	}
	if len(parts) == 0 {
		return lb.ProvisioningStatus
	}
	return fmt.Sprintf("%s, members: %s", lb.ProvisioningStatus, strings.Join(parts, ", "))
}
