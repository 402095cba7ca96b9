package conditions_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

func name() types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: "web"} }

// assertPatches checks only how many patches there were.
func (c *cluster) assertPatches(want int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.patches != want {
		c.t.Errorf("%d patches, want %d", c.patches, want)
	}
}

// The delay doubles with each failure, and begins anew after a success.
func TestWriter_RetriesByItselfWithGrowingDelay(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		for _, status := range []bool{true, false} {
			c.mu.Lock()
			c.patches = 0
			c.mu.Unlock()
			c.setFail(errors.New("away"))
			c.writer.Set(name(), "uid", []conditions.Condition{{Type: reason.Provisioned, Is: status, Reason: reason.Ready}}, annotation.Record{})
			c.pass(1500 * time.Millisecond)
			for n, delay := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
				c.pass(delay - time.Second)
				c.assertPatches(n + 1)
				c.pass(time.Second)
				c.assertPatches(n + 2)
			}
			c.setFail(nil)
			c.pass(5 * time.Minute)
			c.assertPatches(5)
			c.pass(time.Hour)
			c.assertPatches(5)
		}
	})
}

func TestWriter_IsDoneWithServicesThatAreGone(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.setFail(apierrors.NewNotFound(v1.Resource("services"), "web"))
		c.say("uid", ready())
		c.pass(time.Hour)
		c.assertPatches(1)
		c.writer.Set(types.NamespacedName{Namespace: "shop", Name: "never"}, "uid", []conditions.Condition{ready()}, annotation.Record{})
		c.pass(time.Hour)
		c.assertPatches(1)
	})
}

// Patches name the Service by its UID: a new Service of the name has other conditions.
func TestWriter_NamesServiceByUIDAndItsVersionOnlyWithAnnotations(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.sayWith(record("203.0.113.5"), "uid", ready())
		if !strings.Contains(c.last, `"uid":"uid"`) || !strings.Contains(c.last, "resourceVersion") {
			t.Errorf("the patch with annotations is %s", c.last)
		}
		c.sayWith(record("203.0.113.5"), "uid", sound())
		if !strings.Contains(c.last, `"uid":"uid"`) || strings.Contains(c.last, "resourceVersion") || strings.Contains(c.last, "annotations") {
			t.Errorf("the patch without them is %s", c.last)
		}
	})
}

func TestWriter_WritesTheNewestRecord(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.writer.Set(name(), "uid", []conditions.Condition{ready()}, record("203.0.113.5"))
		c.sayWith(record("203.0.113.6"), "uid", sound())
		c.assertPatches(1)
		c.assertAnnotations("203.0.113.6")
	})
}

// Conditions of an earlier Service of the name must not displace those of the present one.
func TestWriter_WritesTheConditionsOfTheLastService(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.writer.Set(name(), "earlier", []conditions.Condition{{Type: reason.IsDrifted, Is: true, Reason: reason.Drifted}}, record("203.0.113.5"))
		c.say("uid", ready())
		c.assert(1, "Other=True Provisioned=True")
		c.assertAnnotations("")
	})
}

func TestBrings_IsFalseForConditionsThatNeedNoWrite(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.say("uid", ready())
		c.writer.Set(name(), "uid", []conditions.Condition{ready()}, record("203.0.113.5"))
		c.assertBrings(false)
		c.writer.Set(name(), "uid", []conditions.Condition{sound()}, annotation.Record{})
		c.assertBrings(false) // no annotations are written
		c.writer.Set(name(), "uid", []conditions.Condition{sound()}, record("203.0.113.5"))
		c.assertBrings(true)
		if c.writer.Brings(name(), "another") {
			t.Error("it brings the annotations of another Service")
		}
		c.pass(2 * time.Second)
		c.assertBrings(false)
	})
}

func TestBrings_IsTrueDuringAWrite(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		var brings, others bool
		c.during = func() {
			brings = c.writer.Brings(name(), "uid")
			others = c.writer.Brings(types.NamespacedName{Namespace: "shop", Name: "api"}, "uid")
		}
		c.say("uid", ready())
		c.assertPatches(1)
		if !brings || others {
			t.Errorf("during a write it brings the annotations: %v, those of another Service: %v", brings, others)
		}
	})
}

func TestWriter_WritesWhatWasSaidBeforeItRan(t *testing.T) {
	t.Parallel()
	runAfter(t, []*v1.Service{web()}, func(c *cluster) {
		c.writer.Set(name(), "uid", []conditions.Condition{ready()}, record("203.0.113.5"))
		c.assertBrings(false) // nobody knows when it runs
		c.watch()
	}, func(c *cluster) {
		c.pass(2 * time.Second)
		c.assert(1, "Other=True Provisioned=True")
	})
}

func TestWriter_WaitsForItsInformer(t *testing.T) {
	t.Parallel()
	runAfter(t, []*v1.Service{web()}, func(*cluster) {}, func(c *cluster) {
		c.writer.Set(name(), "uid", []conditions.Condition{ready()}, annotation.Record{})
		c.pass(time.Minute)
		c.assertPatches(0)
		c.watch()
		c.pass(10 * time.Minute)
		c.assert(1, "Other=True Provisioned=True")
	})
}

// The controller was down while the type of the Service changed.
func TestWriter_TakesConditionsOffServicesThatItFindsAtItsStart(t *testing.T) {
	t.Parallel()
	svc := web()
	svc.Spec.Type = v1.ServiceTypeClusterIP
	svc.Status.Conditions = append(svc.Status.Conditions, condition(reason.Provisioned, metav1.ConditionTrue, reason.Ready, "", earlier))
	run(t, []*v1.Service{svc}, func(c *cluster) {
		c.setFail(errors.New("away"))
		c.pass(2 * time.Second)
		c.assert(1, "Other=True Provisioned=True")
		c.setFail(nil)
		c.pass(10 * time.Second)
		c.assert(2, "Other=True")
	})
}

func TestUse_FailsWithAnInformerThatHasStopped(t *testing.T) {
	t.Parallel()
	runAfter(t, nil, (*cluster).watch, func(c *cluster) {
		stop := make(chan struct{})
		other := c.client.CoreV1()
		writer := conditions.NewWriter(other, nil)
		informer := c.factory.Core().V1().Pods().Informer()
		go informer.Run(stop)
		synctest.Wait()
		close(stop)
		synctest.Wait()
		if err := writer.Use(stopped{c.factory.Core().V1().Services(), informer}); err == nil {
			t.Error("conditions of Services of other types would never be removed, and nobody notices")
		}
	})
}

// One delay for the address is for one request of the Service: a failure of another write is none.
func TestWriter_WaitsForTheAddressAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{unaddressed()}, func(c *cluster) {
		c.setFail(errors.New("away"))
		c.sayOnce(annotation.Record{}, sound())
		c.assertPatches(1)
		c.setFail(nil)
		c.sayOnce(annotation.Record{}, ready())
		c.assertPatches(1)
		c.pass(time.Second)
		c.assert(2, "Degraded=False Other=True Provisioned=True")
	})
}

// stopped is an informer of Services that has stopped.
type stopped struct {
	coreinformers.ServiceInformer

	informer cache.SharedIndexInformer
}

func (s stopped) Informer() cache.SharedIndexInformer { return s.informer }

// Services change at any time, also between the end of a round and the write of its conditions.
func TestWriter_KeepsConditionsOfServicesThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	run(t, []*v1.Service{web()}, func(c *cluster) {
		c.say("uid", sound())
		c.writer.Set(name(), "uid", []conditions.Condition{ready()}, annotation.Record{})
		svc, err := c.client.CoreV1().Services("shop").Get(c.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		svc.Labels = map[string]string{"team": "blue"}
		if _, err := c.client.CoreV1().Services("shop").Update(c.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.pass(2 * time.Second)
		c.assert(2, "Degraded=False Other=True Provisioned=True")
	})
}
