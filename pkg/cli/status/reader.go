package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Options are the dependencies and settings of a Reader.
type Options struct {
	Config  *config.Config
	Session *openstack.Session
	// Kubernetes needs the rights to get and list Services; reports note which other ones are
	// missing.
	Kubernetes kubernetes.Interface
	// ClusterName is --cluster-name of the controller, a part of the names of load balancers.
	ClusterName string
	// Clock is the real one when nil.
	Clock clock.WithTickerAndDelayedExecution
	// Progress is called with each step; may be nil.
	Progress func(text string)
}

// Query selects the Services of a report.
type Query struct {
	// Namespace is that of names without one, and of the list without names; "" lists all
	// namespaces.
	Namespace string
	// Services are those to show with their trees: NAME or NAMESPACE/NAME. Without any, all are
	// listed.
	Services []string
}

// Reader reads reports. It never writes. Read must not be called concurrently.
type Reader struct {
	options     Options
	parser      *settings.Parser
	drivers     *driver.Registry
	sharing     sharing.Policy
	finder      goal.Finder
	vips        *router.Ports
	forwardings *router.Forwardings
}

// lookupAge is how long subnets and ports are cached.
const lookupAge = 10 * time.Minute

// New returns a Reader, and sends no requests.
func New(options Options) (*Reader, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	conf := cloudprovider.WithKnownAnnotations(options.Config)
	parser, err := settings.NewParser(conf)
	if err != nil {
		return nil, err
	}
	octavia, neutron := options.Session.Octavia(), options.Session.Neutron()
	drivers := driver.NewRegistry(driver.Settings{
		DefaultProvider: conf.LoadBalancer.LBProvider, Serial: conf.LoadBalancer.ProviderRequiresSerialAPICalls,
	})
	r := &Reader{options: options, parser: parser, drivers: drivers}
	r.sharing = sharing.Policy{Config: conf.LoadBalancer, Namespace: r.namespace}
	r.finder = goal.Finder{
		Config:  conf,
		Cluster: goal.Cluster{Name: options.ClusterName},
		Lookup:  lookup.New(neutron, octavia, options.Session.LoadBalancerVersion, options.Clock, lookupAge),
		Reader:  reading.Reader{Observer: &observe.Observer{Octavia: octavia, Neutron: neutron, Version: options.Session.LoadBalancerVersion}},
		Memory:  goal.Memory{Store: state.New(options.Clock, nil)},
	}
	tables := &routes.Tables{New: func(routerID string) *routes.Table {
		return routes.New(routes.Options{Network: neutron, RouterID: routerID, Clock: options.Clock})
	}}
	r.vips = &router.Ports{Neutron: neutron, Table: tables.Of, Pools: r.finder.Lookup.Pools, Clock: options.Clock}
	r.forwardings = &router.Forwardings{Neutron: neutron, Clock: options.Clock}
	return r, nil
}

// Config returns cloud.conf.
func (r *Reader) Config() *config.Config { return r.options.Config }

// namespace reads the namespaces for rules of sharing.
func (r *Reader) namespace(ctx context.Context, name string) (*v1.Namespace, error) {
	return r.options.Kubernetes.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
}

// Read reads the status of Services. One that cannot be read is Unknown. It takes a list of
// Services, events and nodes each, and five reads from Kubernetes; without names, it takes lists of
// the whole project from OpenStack, and one or two reads for each Service without Octavia.
func (r *Reader) Read(ctx context.Context, query Query) (*Report, error) {
	ctx = klog.NewContext(ctx, klog.Logger{}) // the controller's log is not needed here
	defer r.options.Progress("")
	r.options.Progress("Reading the cluster")
	cluster, err := r.readCluster(ctx, query)
	if err != nil {
		return nil, err
	}
	round, err := r.begin(ctx, cluster, len(query.Services))
	if err != nil {
		return nil, err
	}
	report := &Report{At: r.options.Clock.Now().UTC(), Services: []Service{}, Notes: cluster.notes, detailed: len(query.Services) > 0}
	for i := range cluster.services {
		svc := &cluster.services[i]
		if report.detailed {
			r.options.Progress(fmt.Sprintf("Reading Service %s/%s, %d of %d", svc.Namespace, svc.Name, i+1, len(cluster.services)))
		}
		read, err := round.service(ctx, svc)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, fmt.Errorf("%s/%s: %w", svc.Namespace, svc.Name, ctx.Err())
		}
		if err != nil {
			read.unknown(err)
		}
		report.Services = append(report.Services, read)
	}
	report.Quotas = round.quotas(ctx)
	report.Notes = append(report.Notes, round.notes...)
	return report, nil
}

// round is one reading.
type round struct {
	*Reader
	cluster *cluster
	// finder searches for load balancers: in lists of the project, or one by one.
	finder   goal.Finder
	detailed bool
	// unhealthy are the bad statuses of pools, by listener, if trees are not read.
	unhealthy map[string]Status
	// routed are the VIPs of provider router.
	routed map[types.UID][]model.LoadBalancer
	// forwarded are the floating IPs with port forwardings of the project, after forwardedRead.
	forwarded     []neutron.ForwardedIP
	forwardedRead bool
	notes         []string
}

// begin makes the reads for all Services. One Service alone does not need lists.
func (r *Reader) begin(ctx context.Context, c *cluster, named int) (*round, error) {
	finder := r.finder
	finder.Cluster.ID, finder.Memory.Records = c.id, c.records
	finder.Cluster.Nodes = func(context.Context) ([]v1.Node, error) { return c.nodes, nil }
	rd := &round{Reader: r, cluster: c, finder: finder, detailed: named > 0}
	rd.readVIPs(ctx)
	if named == 1 || !rd.needsOctavia() {
		return rd, nil
	}
	r.options.Progress("Reading load balancers")
	octavia, neutron := r.options.Session.Octavia(), r.options.Session.Neutron()
	lists, err := project.New(octavia, neutron, r.options.Clock).Lists(ctx, 0)
	if err != nil {
		return nil, err
	}
	rd.finder.Reader.Observer = lists.Observer(r.finder.Reader.Observer, model.Full)
	if !rd.detailed {
		rd.unhealthy, err = r.readUnhealthy(ctx)
	}
	return rd, err
}

// readUnhealthy reads the pools that are in ERROR, or have members that do not answer.
func (r *Reader) readUnhealthy(ctx context.Context) (map[string]Status, error) {
	found := map[string]Status{}
	for _, ask := range []struct {
		setting, value string
		set            func(*Status, string)
	}{
		{"operating_status", "DEGRADED", func(s *Status, v string) { s.Operating = v }},
		{"operating_status", "ERROR", func(s *Status, v string) { s.Operating = v }},
		{"provisioning_status", "ERROR", func(s *Status, v string) { s.Provisioning = v }},
	} {
		pools, err := r.options.Session.Octavia().PoolsWith(ctx, ask.setting, ask.value)
		if err != nil {
			return nil, err
		}
		for _, pool := range pools {
			for _, listener := range pool.Listeners {
				status := found[listener.ID]
				ask.set(&status, ask.value)
				found[listener.ID] = status
			}
		}
	}
	return found, nil
}
