package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

const (
	// rolloutPace is the time between the starts of two pods of a rollout.
	rolloutPace = 3 * time.Second
	// firstReplicaPort is the first port of the pods, which are in the network of their nodes. Node ports and other
	// pods there have other ports.
	firstReplicaPort = 24000
	// briefPods is the number of pods that are replaced without a preStop hook.
	briefPods = 3
)

// rollout replaces the pods of a Service with three ports one by one, as a Deployment does, while clients connect. The
// pods are the members. If they serve for longer than the removal of a member takes, no new connection may fail. Without a
// preStop hook, only those fail that begin after a pod has stopped and before its members have left, and
// an event has announced that. With ovn, which works through members one by one, a pod is ready when it is a member, as with a
// readiness gate: else the changes of many pods take longer than any hook.
func rollout(s *scene) {
	if s.Cloud.KubeProxy() == "" {
		s.Skip("played where nodes have addresses that EndpointSlices may have, and not those of loopback")
	}
	replicas, least := briefPods, 0
	if s.bears(corev1.ProtocolTCP) {
		replicas, least = 20, 10000
	}
	defer s.maySeePods()()

	brief := s.deploy("brief", replicas, 0)
	load := s.load("Rollout without a preStop hook", s.outside(), at(brief.address(), 8080), clientsOfEndpoints)
	for range briefPods {
		brief.replaceAtOnce()
	}
	brief.tells("connections fail during a rollout")
	removal := length(brief.left)
	s.report("Rollout without a preStop hook: %s from the end of a pod until its members have left, on average", removal)
	for _, failure := range outside(widened(brief.left), load.stop(0)) {
		s.Errorf("Rollout without a preStop hook, while a pod serves: %v", failure)
	}
	brief.remove()

	preStop := max(sufficient(removal), 3*brief.filled+20*time.Second).Round(time.Second)
	web := s.deploy("web", replicas, preStop)
	load = s.load(fmt.Sprintf("Rollout of %d pods with a preStop hook of %s", replicas, preStop), s.outside(), at(web.address(), 8080), clientsOfEndpoints)
	web.replaceAll(preStop)
	s.onlyCut("Rollout", replicas, load.stop(least))
	web.remove()
	s.nothingLeft()
}

// deployment are the pods of a Service in the network of their nodes, the oldest first.
type deployment struct {
	*service
	pods []cluster.HostPod
	made int
	// filled is how long it took until all of the first pods were members.
	filled time.Duration
	// left are the periods from the end of a pod until its members have left.
	left []period
}

// deploy creates a Service and its pods, with a preStop hook that sleeps.
func (s *scene) deploy(name string, replicas int, sleeps time.Duration) *deployment {
	s.Helper()
	s.hooked(name, sleeps)
	d := &deployment{service: s.create(name, func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080), port(corev1.ProtocolTCP, 8443)}
		svc.Annotations[prefix+"members"] = "pods"
		svc.Annotations[prefix+"enable-health-monitor"] = "false"
	})}
	for range replicas {
		d.add()
	}
	began := time.Now()
	d.write()
	d.followed()
	d.filled = time.Since(began)
	address := at(d.address(), 8080)
	s.answeredBy(s.outside(), address, nodeNames()...)
	s.answersUDP(s.outside(), address)
	return d
}

// add adds a pod on the next node, with ports that none before had.
func (d *deployment) add() {
	first := firstReplicaPort + d.made*len(d.get().Spec.Ports)
	d.pods = append(d.pods, cluster.HostPod{Node: nodeNames()[d.made%len(nodeNames())], FirstPort: int32(first)})
	d.made++
}

// write writes the EndpointSlices.
func (d *deployment) write() {
	d.Helper()
	d.must(cluster.SetEachHostPod(d.Context(), d.Client(), d.get(), d.pods))
}

// replaceAtOnce replaces the oldest pod, which stops when the next one is ready, and waits for the members.
func (d *deployment) replaceAtOnce() {
	d.Helper()
	d.add()
	d.pods = d.pods[1:]
	stopped := time.Now()
	d.write()
	d.followed()
	d.left = append(d.left, period{stopped, time.Now()})
}

// replaceAll replaces all pods at the pace of a rollout. Each of them serves for some time after its deletion.
func (d *deployment) replaceAll(serves time.Duration) {
	d.Helper()
	old := len(d.pods)
	var deleted []time.Time // of the oldest pods
	for next := 0; next < old || len(deleted) > 0; {
		if len(deleted) > 0 && time.Since(deleted[0]) >= serves {
			deleted, d.pods = deleted[1:], d.pods[1:]
			next, old = next-1, old-1
		} else if next < old {
			d.add()
			d.pods[next].Leaving = true
			deleted = append(deleted, time.Now())
			next++
		}
		d.write()
		if time.Sleep(rolloutPace); d.Provider == "ovn" {
			d.admitted()
		}
	}
	d.followed()
}

// followed waits until the members are the pods, at all ports of the Service.
func (d *deployment) followed() {
	d.Helper()
	d.membersAre(func(cluster.HostPod) bool { return true }, true)
}

// admitted waits until all pods that do not leave are members.
func (d *deployment) admitted() {
	d.Helper()
	d.membersAre(func(pod cluster.HostPod) bool { return !pod.Leaving }, false)
}

// membersAre waits until those of the pods that are wanted are members at all ports of the Service, and no others if only is set.
func (d *deployment) membersAre(wanted func(cluster.HostPod) bool, only bool) {
	d.Helper()
	var want []string
	for _, pod := range d.pods {
		if !wanted(pod) {
			continue
		}
		node, err := d.Client().CoreV1().Nodes().Get(d.Context(), pod.Node, metav1.GetOptions{})
		d.must(err)
		for i := range d.get().Spec.Ports {
			want = append(want, at(nodeAddress(node), pod.FirstPort+int32(i)))
		}
	}
	slices.Sort(want)
	d.eventually("members that follow the pods of "+d.name, func(ctx context.Context) error {
		all, err := d.Cloud.API().Pools(ctx, d.loadBalancer().ID)
		if err != nil {
			return err
		}
		var have []string
		for _, pool := range all {
			members, err := d.Cloud.API().Members(ctx, pool.ID)
			if err != nil {
				return err
			}
			for _, m := range members {
				have = append(have, at(m.Address, int32(m.ProtocolPort)))
			}
		}
		if !only {
			have = slices.DeleteFunc(have, func(at string) bool { return !slices.Contains(want, at) })
		}
		if slices.Sort(have); !slices.Equal(have, want) {
			return fmt.Errorf("they are %v, want %v", have, want)
		}
		return nil
	})
}
