package bench

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// controller is the part of a cloud controller manager for load balancers.
type controller struct {
	session *openstack.Session
	engine  *loadbalancer.Reconciler
	// drifted counts the load balancers that it reports as changed by another client. No client
	// changes any.
	drifted atomic.Int64

	stop       context.CancelFunc
	background sync.WaitGroup
	calls      calls
}

// dial opens connections.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// newController signs in and starts as the program does; if dial is nil, it uses the network of the
// machine.
func newController(ctx context.Context, conf *config.Config, dial dial, kept *notes, workers int) (*controller, error) {
	session, err := openstack.NewSession(ctx, conf.Global, openstack.SessionOptions{Dial: dial})
	if err != nil {
		return nil, err
	}
	c := &controller{session: session}
	c.engine, err = loadbalancer.New(loadbalancer.Options{
		Config:      conf,
		Session:     session,
		ClusterName: "kubernetes",
		ClusterID:   "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11",
		Records:     kept,
		Endpoints:   kept.endpointsOf,
		Recorder:    &record.FakeRecorder{}, // without a channel it drops events
		Workers:     workers,
		Hold:        2 * time.Minute, // the delays are those of a slow cloud
		Ended:       c.calls.again,
	})
	if err != nil {
		session.Close()
		return nil, err
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.background.Go(func() { c.engine.PersistRecords(ctx, unannotated) })
	return c, nil
}

func (c *controller) close() {
	c.stop()
	c.background.Wait()
	c.engine.Close()
	c.session.Close()
}

// watching runs the drift watch during work. Only some cases have it: a check happens at a random
// time, and all cases would have to allow for its requests.
func (c *controller) watching(ctx context.Context, work func(context.Context) error) error {
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.engine.WatchDrift(watch, func(types.NamespacedName) { c.drifted.Add(1) }) })
	defer watching.Wait()
	defer stop()
	return work(ctx)
}

// ensure calls Ensure and publishes the address, as the service controller does.
func (c *controller) ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node) error {
	status, err := c.engine.Ensure(ctx, svc, nodes)
	if err != nil {
		return err
	}
	svc.Status.LoadBalancer = *status
	return nil
}

// repair calls Repair, as for a change of nodes.
func (c *controller) repair(ctx context.Context, svc *v1.Service, nodes []*v1.Node) error {
	alive := func(context.Context) (bool, error) { return true, nil }
	_, err := c.engine.Repair(ctx, svc, nodes, alive)
	return err
}

// delete calls Get and Delete as the service controller does, which ignores the retry time of an
// error.
func (c *controller) delete(ctx context.Context, svc *v1.Service) error {
	svc = svc.DeepCopy()
	leaving := metav1.NewTime(svc.CreationTimestamp.Time)
	svc.DeletionTimestamp = &leaving
	_, exists, err := c.engine.Get(ctx, svc)
	if err != nil || !exists {
		return err
	}
	if err := c.engine.Delete(ctx, svc); err != nil {
		return fmt.Errorf("failed to delete load balancer: %v", err)
	}
	return nil
}

// notes has the records of Services.
type notes struct {
	// endpoints are those of all Services, nil while they are not watched.
	endpoints atomic.Pointer[members.Endpoints]

	mu    sync.Mutex
	texts map[types.UID]string
}

func newNotes() *notes { return &notes{texts: map[types.UID]string{}} }

// endpointsOf implements goal.Endpoints.
func (n *notes) endpointsOf(*v1.Service) (members.Endpoints, settings.Watch, bool) {
	if all := n.endpoints.Load(); all != nil {
		return *all, settings.Watched, false
	}
	return nil, settings.Unwatched, false
}

// Get implements goal.Records.
func (n *notes) Get(service types.UID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts[service]
}

// Set implements goal.Records.
func (n *notes) Set(service types.UID, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts[service] = text
}

// all returns the present records.
func (n *notes) all() map[types.UID]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.texts)
}

// unannotated writes no annotations: the cases count the cost without them.
func unannotated(context.Context, types.NamespacedName, types.UID, annotation.Record) error {
	return nil
}
