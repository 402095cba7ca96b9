package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodeipam"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
)

// The settings of kube-controller-manager that have no flag here, as it has them.
const (
	startupGracePeriod     = time.Minute
	evictionRate           = 0.1
	secondaryEvictionRate  = 0.01
	largeCluster           = 50
	unhealthyZoneThreshold = 0.55
	namespaceResync        = 5 * time.Minute
	namespaceWorkers       = 10
	garbageWorkers         = 20
	garbageSync            = 30 * time.Second
	podNetworkBitsIPv4     = 24
	podNetworkBitsIPv6     = 64
)

// controllerManager is kube-controller-manager with those of its controllers that the
// tests need. All of them are half of what the control plane takes to compile.
type controllerManager struct {
	kubeconfig, podNetworks, serviceNetworks string
	monitorPeriod, monitorGracePeriod        time.Duration
	qps                                      float32
	burst                                    int

	config    *rest.Config
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
}

// flags are those that the control plane gives to any kube-controller-manager, and those
// that tests change.
func (m *controllerManager) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	flags.StringVar(&m.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&m.podNetworks, "cluster-cidr", "", "")
	flags.StringVar(&m.serviceNetworks, "service-cluster-ip-range", "", "")
	flags.DurationVar(&m.monitorPeriod, "node-monitor-period", 5*time.Second, "")
	flags.DurationVar(&m.monitorGracePeriod, "node-monitor-grace-period", 50*time.Second, "")
	flags.Float32Var(&m.qps, "kube-api-qps", 20, "")
	flags.IntVar(&m.burst, "kube-api-burst", 30, "")
	// These flags have no effect: there is no server, no leader election, and a fixed set of
	// controllers.
	for _, name := range []string{"secure-port", "leader-elect", "controllers", "cloud-provider", "allocate-node-cidrs"} {
		flags.String(name, "", "")
		flags.Lookup(name).NoOptDefVal = "true"
	}
	return flags
}

// runControllerManager returns the exit status.
func runControllerManager(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m := &controllerManager{}
	err := m.flags().Parse(args)
	if err == nil {
		err = m.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-controller-manager:", err)
		return 1
	}
	return 0
}

func (m *controllerManager) run(ctx context.Context) (err error) {
	if m.config, err = clientcmd.BuildConfigFromFlags("", m.kubeconfig); err != nil {
		return err
	}
	m.config.QPS, m.config.Burst = m.qps, m.burst
	if m.client, err = kubernetes.NewForConfig(m.config); err != nil {
		return err
	}
	m.informers = informers.NewSharedInformerFactory(m.client, 0)
	started := make(chan struct{})
	var controllers []func(context.Context)
	for _, make := range []func(context.Context, <-chan struct{}) (func(context.Context), error){
		m.serviceAccounts, m.namespaces, m.podCIDRs, m.nodeLifecycle, m.taintEviction, m.garbageCollector,
	} {
		controller, err := make(ctx, started)
		if err != nil {
			return err
		}
		controllers = append(controllers, controller)
	}
	m.informers.Start(ctx.Done())
	close(started)
	var running sync.WaitGroup
	for _, controller := range controllers {
		running.Go(func() { controller(ctx) })
	}
	running.Wait()
	return nil
}

func (m *controllerManager) serviceAccounts(ctx context.Context, _ <-chan struct{}) (func(context.Context), error) {
	c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), m.informers.Core().V1().ServiceAccounts(),
		m.informers.Core().V1().Namespaces(), m.client, serviceaccount.DefaultServiceAccountsControllerOptions())
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

// namespaces has a client of its own: deletions of all that is in a namespace are many.
func (m *controllerManager) namespaces(ctx context.Context, _ <-chan struct{}) (func(context.Context), error) {
	config := rest.CopyConfig(m.config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		m.informers.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, namespaceWorkers) }, nil
}

func (m *controllerManager) podCIDRs(ctx context.Context, _ <-chan struct{}) (func(context.Context), error) {
	pods, err := networks(m.podNetworks)
	if err != nil {
		return nil, err
	}
	services, err := networks(m.serviceNetworks)
	if err != nil {
		return nil, err
	}
	services = append(services, nil, nil)
	var bits []int
	for _, network := range pods {
		if network.IP.To4() != nil {
			bits = append(bits, podNetworkBitsIPv4)
		} else {
			bits = append(bits, podNetworkBitsIPv6)
		}
	}
	c, err := nodeipam.NewNodeIpamController(ctx, m.informers.Core().V1().Nodes(), nil, m.client,
		pods, services[0], services[1], bits, ipam.RangeAllocatorType)
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

// networks reads CIDRs with a comma between them.
func networks(list string) ([]*net.IPNet, error) {
	var networks []*net.IPNet
	for _, cidr := range strings.Split(list, ",") {
		_, network, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func (m *controllerManager) nodeLifecycle(ctx context.Context, _ <-chan struct{}) (func(context.Context), error) {
	c, err := nodelifecycle.NewNodeLifecycleController(ctx, m.informers.Coordination().V1().Leases(), m.informers.Core().V1().Pods(),
		m.informers.Core().V1().Nodes(), m.informers.Apps().V1().DaemonSets(), m.client, m.monitorPeriod, startupGracePeriod,
		m.monitorGracePeriod, evictionRate, secondaryEvictionRate, largeCluster, unhealthyZoneThreshold)
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func (m *controllerManager) taintEviction(ctx context.Context, _ <-chan struct{}) (func(context.Context), error) {
	c, err := tainteviction.New(ctx, m.client, m.informers.Core().V1().Pods(), m.informers.Core().V1().Nodes(), "taint-eviction-controller")
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func (m *controllerManager) garbageCollector(ctx context.Context, started <-chan struct{}) (func(context.Context), error) {
	objects, err := metadata.NewForConfig(m.config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(m.client.Discovery()))
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, objects, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(m.informers, metadatainformer.NewSharedInformerFactory(objects, 0)), started)
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, m.client, objects, mapper, graph)
	if err != nil {
		return nil, errors.Join(errors.New("garbage collector"), err)
	}
	return func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx, garbageWorkers, garbageSync) })
		running.Go(func() { c.Sync(ctx, m.client.Discovery(), garbageSync) })
		running.Wait()
	}, nil
}
