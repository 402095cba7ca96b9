package conditions_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
)

// cluster has a Writer that runs, and counts its patches.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	stopped <-chan struct{}
	writer  *conditions.Writer

	mu      sync.Mutex
	patches int
	last    string // patch
	fail    error  // of patches
	during  func() // called in each patch
	log     *loglines.Log
}

// run calls test in a bubble of time, with a cluster that has these Services.
func run(t *testing.T, services []*v1.Service, test func(*cluster)) {
	t.Helper()
	runAfter(t, services, (*cluster).watch, test)
}

// runAfter is run, and calls before with the cluster before the Writer runs.
func runAfter(t *testing.T, services []*v1.Service, before, test func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &cluster{t: t, client: fake.NewClientset()}
		ctx, c.log = loglines.At(ctx, 0)
		for _, svc := range services {
			if err := c.client.Tracker().Add(svc.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		c.client.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.patches++
			c.last = string(action.(clienttesting.PatchAction).GetPatch())
			if c.during != nil {
				c.during()
			}
			if action.GetSubresource() != "status" {
				t.Errorf("patches %q", action.GetSubresource())
			}
			return c.fail != nil, nil, c.fail
		})
		c.factory = informers.NewSharedInformerFactory(c.client, 0)
		c.writer = conditions.NewWriter(c.client.CoreV1(), clock.RealClock{})
		c.stopped = ctx.Done()
		before(c)
		var work sync.WaitGroup
		work.Go(func() { c.writer.Run(ctx) })
		test(c)
		cancel()
		work.Wait()
		c.factory.Shutdown()
	})
}

// watch has the Writer use the informer of Services, and returns when that has all.
func (c *cluster) watch() {
	c.t.Helper()
	if err := c.writer.Use(c.factory.Core().V1().Services()); err != nil {
		c.t.Fatal(err)
	}
	c.factory.Start(c.stopped)
	c.factory.WaitForCacheSync(c.stopped)
	synctest.Wait()
}

func web() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid", ResourceVersion: "7"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
		Status: v1.ServiceStatus{
			Conditions:   []metav1.Condition{foreign()},
			LoadBalancer: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "203.0.113.5"}}},
		},
	}
}

// say passes the result of a round of a Service with this UID, and advances the clock.
func (c *cluster) say(uid types.UID, said ...conditions.Condition) {
	c.sayWith(annotation.Record{}, uid, said...)
}

// sayWith does so with the annotations of a record.
func (c *cluster) sayWith(record annotation.Record, uid types.UID, said ...conditions.Condition) {
	c.writer.Set(types.NamespacedName{Namespace: "shop", Name: "web"}, uid, said, record)
	c.pass(2 * time.Second)
}

func (c *cluster) pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

// setFail has patches fail.
func (c *cluster) setFail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// assert checks how many patches there were, and what the conditions are.
func (c *cluster) assert(patches int, want string) {
	c.t.Helper()
	c.mu.Lock()
	got := c.patches
	c.mu.Unlock()
	svc, err := c.client.CoreV1().Services("shop").Get(c.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var said []string
	for _, condition := range svc.Status.Conditions {
		_, name, _ := strings.Cut(condition.Type, "/")
		said = append(said, name+"="+string(condition.Status))
	}
	slices.Sort(said)
	if text := strings.Join(said, " "); got != patches || text != want {
		c.t.Errorf("%d patches and %q, want %d and %q", got, text, patches, want)
	}
}

func ready() conditions.Condition {
	return conditions.Condition{Type: reason.Provisioned, Is: true, Reason: reason.Ready, Message: "ready"}
}

func sound() conditions.Condition {
	return conditions.Condition{Type: reason.Degraded, Reason: reason.Sound}
}

//proves:100
func TestWriter_WritesOnceWhatIsSaidAndThenNothing(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.writer.Set(types.NamespacedName{Namespace: "shop", Name: "web"}, "uid", []conditions.Condition{ready()}, annotation.Record{})
		c.say("uid", sound())
		c.assert(1, "Degraded=False Other=True Provisioned=True")
		for range 10 {
			c.say("uid", ready(), sound())
		}
		c.assert(1, "Degraded=False Other=True Provisioned=True")
		c.say("another", conditions.Condition{Type: reason.Provisioned, Reason: reason.Refused})
		c.assert(1, "Degraded=False Other=True Provisioned=True")
	})
}

// record is what a load balancer writes into the annotations of the Service.
func record(address string) annotation.Record {
	return annotation.Record{Service: "uid", LoadBalancerID: "lb", Address: address}
}

// A creation is one write for conditions and annotations. One that meets a Service that has just
// changed leaves the annotations to who writes them alone.
//
//proves:100
func TestWriter_WritesAnnotationsWithConditionsAndNeverAlone(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.sayWith(record("203.0.113.5"), "uid", ready(), sound())
		c.assert(1, "Degraded=False Other=True Provisioned=True")
		c.assertAnnotations("203.0.113.5")
		if !strings.Contains(c.last, `"resourceVersion":"7"`) {
			t.Errorf("the patch has no version of the Service: %s", c.last)
		}
		c.sayWith(record("203.0.113.6"), "uid", ready(), sound())
		c.assert(1, "Degraded=False Other=True Provisioned=True")

		c.setFail(apierrors.NewConflict(v1.Resource("services"), "web", errors.New("it has changed")))
		c.writer.Set(types.NamespacedName{Namespace: "shop", Name: "web"}, "uid", []conditions.Condition{{Type: reason.Provisioned, Reason: reason.Refused}}, record("203.0.113.6"))
		c.pass(500 * time.Millisecond)
		c.assertBrings(true)
		c.pass(time.Second)
		c.assertBrings(false)
		c.setFail(nil)
		c.pass(time.Second)
		c.assert(3, "Degraded=False Other=True Provisioned=False")
		c.assertAnnotations("203.0.113.5")

		c.sayWith(annotation.Record{Service: "uid", Left: true}, "uid", ready())
		c.assert(4, "Degraded=False Other=True Provisioned=True")
		c.assertAnnotations("")
	})
}

// Who waits for the condition finds the address; and the write of the address by the service
// controller is no conflict with this one.
//
//proves:100
func TestWriter_SaysThatServiceIsProvisionedWhenItsAddressIsPublished(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{unaddressed()}, func(c *cluster) {
		c.sayOnce(record("203.0.113.5"), ready(), sound())
		c.assert(0, "Other=True")
		c.assertBrings(true)
		if _, err := c.client.CoreV1().Services("shop").UpdateStatus(t.Context(), web(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.pass(2 * time.Second)
		c.assert(1, "Degraded=False Other=True Provisioned=True")
		c.assertAnnotations("203.0.113.5")
		c.assertBrings(false)
	})
}

// A service controller that got its worker back before the load balancer was there looks at the
// Service in minutes, or when it changes: only then is the address published.
func TestWriter_WaitsForTheAddressOnlyOnce(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{unaddressed()}, func(c *cluster) {
		c.sayOnce(record("203.0.113.5"), ready())
		c.sayOnce(record("203.0.113.5"), sound()) // no second time for conditions that were added meanwhile
		c.assert(1, "Degraded=False Other=True Provisioned=True")
		c.assertAnnotations("203.0.113.5")
		c.assertBrings(false)
	})
}

func TestWriter_SaysAtOnceOfServiceWithoutAddressWhatKeepsItSo(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{unaddressed()}, func(c *cluster) {
		c.sayOnce(annotation.Record{}, ready())
		c.sayOnce(annotation.Record{}, conditions.Condition{Type: reason.Provisioned, Reason: reason.InError})
		c.assert(1, "Other=True Provisioned=False")
	})
}

// unaddressed is web without an address.
func unaddressed() *v1.Service {
	svc := web()
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	return svc
}

// sayOnce has the Writer look at the Service once after this was said.
func (c *cluster) sayOnce(record annotation.Record, said ...conditions.Condition) {
	c.writer.Set(types.NamespacedName{Namespace: "shop", Name: "web"}, "uid", said, record)
	c.pass(1500 * time.Millisecond)
}

// assertBrings checks whether the annotations are left to the Writer.
func (c *cluster) assertBrings(want bool) {
	c.t.Helper()
	if got := c.writer.Brings(types.NamespacedName{Namespace: "shop", Name: "web"}, "uid"); got != want {
		c.t.Errorf("the Writer brings the annotations: %t, want %t", got, want)
	}
}

// assertAnnotations checks which address the annotations have.
func (c *cluster) assertAnnotations(address string) {
	c.t.Helper()
	svc, err := c.client.CoreV1().Services("shop").Get(c.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	if got := svc.Annotations[annotation.LoadBalancerAddress]; got != address {
		c.t.Errorf("the annotations have the address %q, want %q", got, address)
	}
}

func TestWriter_TriesAgainWithTheNewest(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.setFail(errors.New("away"))
		c.say("uid", ready(), sound())
		c.setFail(nil)
		c.say("uid", conditions.Condition{Type: reason.Provisioned, Reason: reason.Refused})
		c.pass(time.Minute)
		c.assert(2, "Degraded=False Other=True Provisioned=False")
	})
}

// Annotations do not wait for conditions that cannot be written.
func TestWriter_LeavesAnnotationsToOthersWhereItFails(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.setFail(errors.New("away"))
		c.sayWith(record("203.0.113.5"), "uid", ready())
		c.assertBrings(false)
	})
}

func TestWriter_LeavesItWhereItMayNotWrite(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.setFail(apierrors.NewForbidden(v1.Resource("services/status"), "web", errors.New("no")))
		c.say("uid", ready())
		c.pass(time.Hour)
		c.assert(1, "Other=True")
		c.say("uid", sound())
		c.assert(2, "Other=True")
		if lines := c.log.Take(); len(lines) != 1 || lines[0]["msg"] != "Forbidden to patch the status of Services: their conditions are not written" {
			t.Errorf("the operator reads %v", lines)
		}
	})
}

//proves:100
func TestWriter_TakesConditionsOffServicesThatAreNotOursAnyMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.Service){
		"another type":  func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP },
		"another class": func(svc *v1.Service) { svc.Spec.LoadBalancerClass = ptr.To("example.com/other") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, []*v1.Service{web()}, func(c *cluster) {
				c.say("uid", ready(), sound())
				svc, err := c.client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				change(svc)
				if _, err := c.client.CoreV1().Services("shop").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				c.pass(2 * time.Second)
				c.assert(2, "Other=True")
				c.sayWith(record("203.0.113.5"), "uid", ready())
				c.assert(2, "Other=True")
				c.assertAnnotations("")
			})
		})
	}
}

func TestWriter_LeavesServicesThatAreBeingDeletedAlone(t *testing.T) {
	t.Parallel()
	svc := web()
	svc.DeletionTimestamp, svc.Finalizers = &earlier, []string{"example.com/stay"}
	run(t, []*v1.Service{svc}, func(c *cluster) {
		c.say("uid", ready())
		c.assert(0, "Other=True")
	})
}
