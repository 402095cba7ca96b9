package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// The Service of the story.
const (
	namespace   = "demo"
	serviceName = "web"
)

// serviceChapter is where what comes before is a cluster that works.
const serviceChapter = "A Service of type LoadBalancer is created"

// patience bounds a chapter; a build may take as long as it needs.
const (
	patience  = 2 * time.Minute
	unlimited = time.Duration(0)
)

// chapter is a part of the story.
type chapter struct {
	title    string
	patience time.Duration
	play     func(context.Context) error
}

// story is all of it.
func (d *demo) story() []chapter {
	return []chapter{
		{"Build: etcd, kube-apiserver and kube-controller-manager", unlimited, d.buildControlPlane},
		{"Build: the simulator, the cloud controller manager, the node", unlimited, d.buildPrograms},
		{"Kubernetes: a real control plane", patience, d.startControlPlane},
		{"OpenStack: a simulated cloud with provider " + d.options.provider, patience, d.startCloud},
		{"The cloud controller manager starts", patience, d.startCCM},
		{"Three nodes join", patience, d.startNodes},
		{serviceChapter, patience, d.createService},
		{"Clients send requests", patience, d.askEverybody},
		{"A fourth node joins", patience, d.addFourthNode},
		{"externalTrafficPolicy: Local, with pods on node-2 alone", patience, d.goLocal},
		{"The Service is deleted", patience, d.deleteService},
	}
}

// intro prints the purpose and the duration of the demo.
func (d *demo) intro(total int) {
	if d.options.playground != "" {
		d.out.say("A cluster on a simulated OpenStack, in %d steps, on loopback and without root. It stays until Ctrl-C; then", total)
		d.out.say("nothing is left but Go's build cache and the programs of Kubernetes in the user's cache directory.")
		return
	}
	d.out.say("A Service of type LoadBalancer from its creation to its deletion, in %d steps, all on loopback and", total)
	d.out.say("without root: about a minute, and some minutes more the first time, to build missing programs.")
	d.out.say("Nothing stays but Go's build cache and the programs of Kubernetes in the user's cache directory.")
}

// play plays the chapters in order, up to the first that fails.
func (d *demo) play(ctx context.Context, story []chapter) error {
	for i, c := range story {
		d.out.title("%d/%d %s", i+1, len(story), c.title)
		if err := c.within(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

// within plays the chapter for no longer than its patience.
func (c chapter) within(ctx context.Context) error {
	limited := ctx
	if c.patience != unlimited {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, c.patience, fmt.Errorf("not done in %v", c.patience))
		defer cancel()
	}
	err := c.play(limited)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return errInterrupted
	}
	return err
}

func (d *demo) startNodes(ctx context.Context) error {
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		if err := d.addNode(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) createService(ctx context.Context) error {
	if err := d.cloud.ResetRequests(ctx); err != nil {
		return err
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := d.plane.Client().CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return err
	}
	// It watches until the end of the demo.
	w := startWatcher(context.WithoutCancel(ctx), d.out, d.plane.Client(), namespace, d.cloud)
	d.later(w.stop)
	d.port = d.servicePort()
	service, err := d.plane.Client().CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Port: d.port, Protocol: corev1.ProtocolTCP}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	d.out.say("created service %s/%s, port %d, node port %d", namespace, serviceName, d.port, service.Spec.Ports[0].NodePort)
	// The pods of the Deployment that would be behind it.
	if err := cluster.SetPods(ctx, d.plane.Client(), service, map[string]int{"node-1": 1, "node-2": 1, "node-3": 1}); err != nil {
		return err
	}
	d.out.waitFor("waiting for the external IP")
	var address string
	err = await.Success(ctx, func(ctx context.Context) error {
		address, err = cluster.ExternalIP(ctx, d.plane.Client(), namespace, serviceName)
		return err
	})
	if err != nil {
		return err
	}
	d.address = net.JoinHostPort(address, fmt.Sprint(d.port))
	d.out.say("service  %s/%s has the external IP %s", namespace, serviceName, address)
	return d.account(ctx, "Creating it")
}

func (d *demo) askEverybody(ctx context.Context) error {
	return d.awaitAnswers(ctx, "node-1", "node-2", "node-3")
}

func (d *demo) addFourthNode(ctx context.Context) error {
	if err := d.addNode(ctx, "node-4"); err != nil {
		return err
	}
	if err := d.awaitMembers(ctx, map[string]int{"NO_MONITOR": 4}); err != nil {
		return err
	}
	if err := d.awaitAnswers(ctx, "node-1", "node-2", "node-3", "node-4"); err != nil {
		return err
	}
	return d.account(ctx, "Adding the node")
}

func (d *demo) goLocal(ctx context.Context) error {
	services := d.plane.Client().CoreV1().Services(namespace)
	patch := []byte(`{"spec":{"externalTrafficPolicy":"Local"}}`)
	service, err := services.Patch(ctx, serviceName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	d.out.say("health checks go to node port %d from now on", service.Spec.HealthCheckNodePort)
	if err := cluster.SetPods(ctx, d.plane.Client(), service, map[string]int{"node-2": 2}); err != nil {
		return err
	}
	if err := d.awaitMembers(ctx, map[string]int{"ONLINE": 1, "ERROR": 3}); err != nil {
		return err
	}
	if err := d.awaitAnswers(ctx, "node-2"); err != nil {
		return err
	}
	return d.account(ctx, "The change")
}

func (d *demo) deleteService(ctx context.Context) error {
	services := d.plane.Client().CoreV1().Services(namespace)
	if err := services.Delete(ctx, serviceName, metav1.DeleteOptions{}); err != nil {
		return err
	}
	d.out.waitFor("waiting for the Service to go")
	err := await.Success(ctx, func(ctx context.Context) error {
		return cluster.Gone(ctx, d.plane.Client(), namespace, serviceName)
	})
	if err != nil {
		return err
	}
	if err := d.account(ctx, "Deleting it"); err != nil {
		return err
	}
	left, err := d.cloud.Leftovers(ctx)
	if err != nil {
		return err
	}
	d.out.say("left in the cloud: %d load balancers, %d floating IPs, %d ports, %d security groups",
		len(left.LoadBalancers), len(left.FloatingIPs), len(left.Ports), len(left.SecurityGroups))
	if left.Count > 0 {
		return fmt.Errorf("the cloud is not clean: %+v", left)
	}
	return nil
}

// awaitMembers waits until the load balancer is ACTIVE with so many members of
// each operating status.
func (d *demo) awaitMembers(ctx context.Context, want map[string]int) error {
	d.out.waitFor("waiting for the load balancer's members")
	return await.Success(ctx, func(ctx context.Context) error {
		all, err := d.cloud.LoadBalancers(ctx)
		if err != nil {
			return err
		}
		if len(all) != 1 || all[0].ProvisioningStatus != "ACTIVE" || !maps.Equal(all[0].MembersByStatus(), want) {
			return fmt.Errorf("the load balancers are %v", all)
		}
		return nil
	})
}

// awaitAnswers asks the Service until all of these nodes answer, and no other.
func (d *demo) awaitAnswers(ctx context.Context, nodes ...string) error {
	requests := max(12, 4*len(nodes))
	d.out.waitFor("asking http://%s until %s answer", d.address, strings.Join(nodes, ", "))
	var answers map[string]int
	err := await.Success(ctx, func(ctx context.Context) (err error) {
		answers, err = cluster.Client{}.Answers(ctx, d.address, requests)
		if err == nil && !slices.Equal(slices.Sorted(maps.Keys(answers)), nodes) {
			err = fmt.Errorf("answers came from %v", answers)
		}
		return err
	})
	if err != nil {
		return err
	}
	var counts []string
	for _, name := range nodes {
		counts = append(counts, fmt.Sprintf("%s %d", name, answers[name]))
	}
	d.out.say("traffic  %d requests to http://%s, answered by %s", requests, d.address, strings.Join(counts, ", "))
	return nil
}

// account prints the requests to the cloud since the last account.
func (d *demo) account(ctx context.Context, what string) error {
	b, err := d.cloud.Requests(ctx)
	if err != nil {
		return err
	}
	var writes []string
	for _, r := range b.Requests {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.Route, "/auth/tokens") {
			writes = append(writes, fmt.Sprintf("%d %s %s", r.Count, r.Method, r.Route))
		}
	}
	d.out.say("requests %s took %d requests, %d of them writes, and %d PENDING cycles:", what, b.Total, b.Writes, b.TotalCycles)
	for _, write := range writes {
		d.out.say("           %s", write)
	}
	d.requests += b.Writes
	d.cycles += b.TotalCycles
	return d.cloud.ResetRequests(ctx)
}
