package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

func kubeSystem() *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster-uid"}}
}

// instantClock is a clock with waits that end at once; it records them.
type instantClock struct {
	clock.RealClock
	waits []time.Duration
}

func (c *instantClock) After(d time.Duration) <-chan time.Time {
	c.waits = append(c.waits, d)
	over := make(chan time.Time, 1)
	over <- time.Time{}
	return over
}

// refusing returns a client that refuses the first n reads of a namespace.
func refusing(n int, refusal error) *fake.Clientset {
	client := fake.NewClientset(kubeSystem())
	client.PrependReactor("get", "namespaces", func(k8stesting.Action) (bool, runtime.Object, error) {
		n--
		return n >= 0, nil, refusal
	})
	client.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, refusal // the role has no rules yet
	})
	return client
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "kube-system", errors.New("RBAC"))
}

func TestReadID_ReturnsUIDOfKubeSystem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures int
		failure  error
		id       string
		waits    int
	}{
		"at once":                       {0, nil, "cluster-uid", 0},
		"once the API server is there":  {20, apierrors.NewServiceUnavailable("starting"), "cluster-uid", 20},
		"once the namespace is there":   {2, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-system"), "cluster-uid", 2},
		"once the RBAC rule is there":   {forbiddenAttempts - 1, forbidden(), "cluster-uid", forbiddenAttempts - 1},
		"not at all without RBAC rules": {1000, forbidden(), "", forbiddenAttempts - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &instantClock{}
			id, err := ReadID(t.Context(), refusing(test.failures, test.failure), clock)
			if err != nil || id != test.id {
				t.Errorf("got %q, %v; want %q", id, err, test.id)
			}
			if len(clock.waits) != test.waits {
				t.Errorf("waited %d times, want %d", len(clock.waits), test.waits)
			}
		})
	}
}

// A role that only lacks this right, such as that of cloud-provider-openstack, causes no wait at
// each change of the leader.
func TestReadID_DoesNotWaitForRoleThatLacksTheRight(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(kubeSystem())
	client.PrependReactor("get", "namespaces", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, forbidden()
	})
	clock := &instantClock{}
	if id, err := ReadID(t.Context(), client, clock); id != "" || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
	if len(clock.waits) != 0 {
		t.Errorf("waited %d times", len(clock.waits))
	}
}

func TestReadID_DelaysGrowAndAreBounded(t *testing.T) {
	t.Parallel()
	clock := &instantClock{}
	if _, err := ReadID(t.Context(), refusing(30, apierrors.NewServiceUnavailable("starting")), clock); err != nil {
		t.Fatal(err)
	}
	for n, wait := range clock.waits {
		if wait < time.Second || wait > time.Minute {
			t.Errorf("pause %d is %s", n, wait)
		}
	}
	if first, last := clock.waits[0], clock.waits[len(clock.waits)-1]; last < 8*first {
		t.Errorf("pauses do not grow: %s at first, %s at last", first, last)
	}
}

func TestReadID_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := refusing(1000, apierrors.NewServiceUnavailable("starting"))
	if _, err := ReadID(ctx, client, clock.RealClock{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
