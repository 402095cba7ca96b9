package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// playground is the story up to a cluster that has nodes, and then everybody's own:
// docs/tutorial.md goes on from there.
func (d *demo) playground() []chapter {
	story := d.story()
	for i, c := range story {
		if c.title == serviceChapter {
			story = story[:i]
			break
		}
	}
	return append(story, chapter{"kubectl, for another terminal", unlimited, d.writeEnvironment}, chapter{"The playground is yours", unlimited, d.stay})
}

// stay waits for the end.
func (d *demo) stay(ctx context.Context) error {
	played, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { d.runPods(played); close(ended) }()
	d.later(func() error { end(); <-ended; return nil })
	d.open = true
	d.out.say("In another terminal:")
	d.out.say("")
	d.out.say("    . %s", filepath.Join(d.options.playground, environment))
	d.out.say("    kubectl get nodes")
	d.out.say("")
	d.out.say("See docs/tutorial.md for what to try. Ctrl-C ends it.")
	d.out.waitFor("")
	if d.ready != nil {
		close(d.ready)
	}
	<-ctx.Done()
	return nil
}

// The files in the directory of the playground.
const (
	environment = "env"
	binaries    = "bin"
	cache       = "cache"
)

// sweep removes what the playground has in its directory, and the directory if it has nothing else.
func sweep(directory string) error {
	for _, name := range []string{environment, binaries, cache} {
		if err := os.RemoveAll(filepath.Join(directory, name)); err != nil {
			return err
		}
	}
	_ = os.Remove(directory) // what else is in it is the user's
	return nil
}

// writeEnvironment writes what a shell needs to play: a directory of programs, and a file for it
// to read.
func (d *demo) writeEnvironment(ctx context.Context) error {
	directory, err := filepath.Abs(d.options.playground)
	if err != nil {
		return err
	}
	kubectl, err := controlplane.BuildKubectl(ctx, d.out.say)
	if err != nil {
		return err
	}
	if err := sweep(directory); err != nil {
		return err
	}
	d.later(func() error { return sweep(directory) })
	bin := filepath.Join(directory, binaries)
	if err := os.MkdirAll(bin, 0o750); err != nil {
		return err
	}
	for name, program := range map[string]string{
		"kubectl": kubectl, "openstack-cloud-controller-manager": d.programs[cluster.CCMProgram], "kubectl-openstack_lb": d.programs[cluster.CCMProgram],
	} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, variable := range [][2]string{
		{"KUBECONFIG", d.plane.AdminKubeconfig()}, {"KUBECACHEDIR", filepath.Join(directory, cache)},
		{"CLOUD_CONFIG", d.cloudConf}, {"PATH", bin + ":$PATH"},
	} {
		fmt.Fprintf(&text, "export %s=\"%s\"\n", variable[0], variable[1])
	}
	return os.WriteFile(filepath.Join(directory, environment), []byte(text.String()), 0o600)
}

// podsEvery is how often Services without pods are looked for.
const podsEvery = 500 * time.Millisecond

// runPods gives each new Service of type LoadBalancer a pod on each node.
func (d *demo) runPods(ctx context.Context) {
	client, known := d.plane.Client(), map[types.UID]bool{}
	ticker := time.NewTicker(podsEvery)
	defer ticker.Stop()
	for {
		services, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.type=LoadBalancer"})
		if err != nil {
			services = &corev1.ServiceList{} // at the next look
		}
		for _, service := range services.Items {
			if known[service.UID] {
				continue
			}
			if err := cluster.SetPods(ctx, client, &service, map[string]int{"node-1": 1, "node-2": 1, "node-3": 1}); err != nil {
				klog.FromContext(ctx).V(1).Info("No pods yet", "service", klog.KObj(&service), "reason", err.Error())
				continue
			}
			known[service.UID] = true
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
