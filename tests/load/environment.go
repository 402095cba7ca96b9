package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// namespace has all Services.
const namespace = "load"

// stopGrace is the maximum time that the controller may take to end.
const stopGrace = 30 * time.Second

// environment is a cluster on a simulated cloud, with all its processes and objects.
type environment struct {
	size    size
	options settings
	// say prints a line, wait the condition of the present wait.
	say  func(format string, args ...any)
	wait func(text string)

	cloud    *cluster.CloudProcess
	audit    *audit
	services *services
	nodes    *nodes
	client   kubernetes.Interface

	program cluster.CCM
	// own is the path of the controller of this checkout.
	own string
	// ccm is the running controller.
	ccm atomic.Pointer[cluster.Controller]
	// finished is when the cloud finished the phase.
	finished time.Time
	// endings run at the end, in reverse order.
	endings []func() error
}

// newEnvironment starts all processes: nodes, no Services, and the controller.
func newEnvironment(ctx context.Context, s size, options settings, out *screen) (*environment, error) {
	w := &environment{size: s, options: options, say: out.linef, wait: out.waiting}
	for _, start := range []func(context.Context) error{w.startControlPlane, w.startCloud, w.addObjects, w.startController} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, w.end())
		}
	}
	return w, nil
}

func (w *environment) later(ending func() error) { w.endings = append(w.endings, ending) }

// end ends every process by its own number, the last started first, and removes their files.
func (w *environment) end() error {
	w.wait("ending every process")
	var errs []error
	for i := len(w.endings) - 1; i >= 0; i-- {
		errs = append(errs, w.endings[i]())
	}
	w.endings = nil
	return errors.Join(errs...)
}

// nodePorts is a range with room for thousands of Services. No process listens on them.
const nodePorts = "10000-65000"

func (w *environment) startControlPlane(ctx context.Context) error {
	w.wait("starting etcd and kube-apiserver")
	directory, err := os.MkdirTemp("", "openstack-ccm-load-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	w.later(func() error { return os.RemoveAll(directory) })
	var flags []string
	if w.audit, flags, err = newAudit(directory); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		WithoutControllerManager: true, // nodes without a kubelet must not be marked
		APIServerArgs:            append(flags, "--service-node-port-range="+nodePorts),
		Logf:                     w.say,
	})
	if err != nil {
		return err
	}
	w.later(plane.Stop)
	w.client = plane.Client()
	w.program = cluster.CCM{
		Directory: directory, Env: w.options.env,
		Args: append([]string{"--profiling", "--authorization-always-allow-paths=/debug/pprof/*"}, w.options.args...),
	}
	// The namespace of its service account appears a moment after the API server.
	return await.Success(ctx, func(ctx context.Context) (err error) {
		w.program.Installation, err = cluster.Install(ctx, plane)
		return err
	})
}

// startCloud starts the simulator with the delays of docs/internals/cost.md.
func (w *environment) startCloud(ctx context.Context) error {
	w.wait("building and starting openstack-sim")
	program, err := cluster.BuildProgram(ctx, cluster.SimulatorProgram, w.program.Directory, w.say)
	if err != nil {
		return err
	}
	work := cost.Amphora()
	w.cloud, err = cluster.Simulator{
		Program: program, Directory: w.program.Directory,
		Args: []string{
			"--create-delay=" + w.options.boot.String(), "--update-delay=" + work.Update.String(),
			"--delete-delay=" + work.Delete.String(), "--vip-port-delay=" + cost.VIPPort.String(),
			"--whole-seconds", fmt.Sprintf("--speed=%v", w.options.speed),
			"--data-path=false", "--subnet-cidr=10.100.0.0/16", "--external-cidr=198.18.0.0/16",
		},
	}.Start(ctx)
	if err != nil {
		return err
	}
	w.later(func() error { w.cloud.End(); return nil })
	for _, resource := range []string{"port", "floatingip"} {
		if err := w.cloud.Cloud.SetQuota(ctx, resource, -1); err != nil {
			return err
		}
	}
	return w.configure()
}

// configure completes the cloud.conf that the simulator has written. Its last section is
// [LoadBalancer].
func (w *environment) configure() error {
	w.program.CloudConf = w.cloud.CloudConf
	file, err := os.OpenFile(w.program.CloudConf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("complete cloud.conf: %w", err)
	}
	lines := w.options.conf
	if w.size.maxMembers > 0 {
		lines = append([]string{fmt.Sprintf("max-members=%d", w.size.maxMembers)}, lines...)
	}
	for _, line := range lines {
		_, writeErr := fmt.Fprintln(file, line)
		err = errors.Join(err, writeErr)
	}
	return errors.Join(err, file.Close())
}

// addObjects adds servers with their nodes, and the namespace of the Services.
func (w *environment) addObjects(ctx context.Context) error {
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	w.wait(fmt.Sprintf("adding %d nodes", w.size.nodes))
	w.nodes = &nodes{cloud: w.cloud.Cloud, client: w.client}
	if err := w.nodes.addMany(ctx, w.size.nodes); err != nil {
		return err
	}
	w.services = watchServices(w.client)
	w.later(func() error { w.services.stop(); return nil })
	return nil
}

func (w *environment) startController(ctx context.Context) error {
	w.wait("building and starting the controller")
	own, err := cluster.BuildProgram(ctx, cluster.CCMProgram, w.program.Directory, w.say)
	if err != nil {
		return err
	}
	w.own, w.program.Program = own, own
	if w.options.controller != "" {
		w.program.Program, w.program.Ready = w.options.controller, "/healthz" // the only path of all controllers
	}
	w.later(func() error { w.stopController(); return nil })
	return w.runController(ctx)
}

// runController starts a controller, for the first time or again. It is ready when it answers, and
// leads at once, because the previous one has released the lease.
func (w *environment) runController(ctx context.Context) error {
	started, err := w.program.Start(ctx)
	if err != nil {
		return err
	}
	w.ccm.Store(started)
	return nil
}

func (w *environment) stopController() {
	if running := w.ccm.Load(); running != nil {
		running.Stop(stopGrace)
	}
}

// keepLog copies the controller's log to its permanent place.
func (w *environment) keepLog(path string) error {
	text, err := os.ReadFile(filepath.Join(w.program.Directory, "ccm.log"))
	if err != nil {
		return fmt.Errorf("keep the controller's log: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}
