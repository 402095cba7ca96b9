package main

import (
	"context"
	"errors"
	"os"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/utils/ptr"
)

const leaseName = "cloud-controller-manager"

// heldBy returns a cluster with a lease of this holder, and our view of it.
func heldBy(holder string) (*fake.Clientset, *lease) {
	client := fake.NewClientset(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: leaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](15), LeaseTransitions: ptr.To[int32](4)},
	})
	return client, &lease{leases: client.CoordinationV1().Leases("kube-system"), name: leaseName}
}

func spec(t *testing.T, client *fake.Clientset) coordinationv1.LeaseSpec {
	t.Helper()
	got, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Spec
}

func ownHolder(t *testing.T) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return host + "_a5b0"
}

func TestLease_IsReleased(t *testing.T) {
	t.Parallel()
	client, l := heldBy(ownHolder(t))
	l.readHolder(t.Context())
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := spec(t, client)
	if got.HolderIdentity != nil || *got.LeaseDurationSeconds != 1 || *got.LeaseTransitions != 4 {
		t.Errorf("the lease is %+v", got)
	}
}

func TestLease_OfAnotherProcessIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ whenLeading, atTheEnd string }{
		"another host leads":      {"elsewhere_1", "elsewhere_1"},
		"another took it over":    {ownHolder(t), "elsewhere_1"},
		"another of our own host": {ownHolder(t), ownHolder(t) + "b"},
	} {
		client, l := heldBy(test.whenLeading)
		l.readHolder(t.Context())
		taken, _ := client.CoordinationV1().Leases("kube-system").Get(t.Context(), leaseName, metav1.GetOptions{})
		taken.Spec.HolderIdentity = ptr.To(test.atTheEnd)
		if _, err := client.CoordinationV1().Leases("kube-system").Update(t.Context(), taken, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := l.release(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := spec(t, client); ptr.Deref(got.HolderIdentity, "") != test.atTheEnd {
			t.Errorf("%s: the lease is now of %v", name, got.HolderIdentity)
		}
	}
}

func TestLease_IsNotReleasedByReplicaThatNeverLed(t *testing.T) {
	t.Parallel()
	client, l := heldBy(ownHolder(t))
	if err := l.release(t.Context()); err != nil || len(client.Actions()) != 0 {
		t.Errorf("error %v, requests %v", err, client.Actions())
	}
	var none *lease
	none.readHolder(t.Context())
	if err := none.release(t.Context()); err != nil {
		t.Errorf("without leader election: %v", err)
	}
}

func TestLease_IsReleasedDespiteConflicts(t *testing.T) {
	t.Parallel()
	client, l := heldBy(ownHolder(t))
	l.readHolder(t.Context())
	conflicts := 2
	client.PrependReactor("update", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, leaseName, errors.New("renewed"))
	})
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := spec(t, client); got.HolderIdentity != nil {
		t.Errorf("the lease is still of %v", *got.HolderIdentity)
	}
}

func TestLease_MayBeUnreadable(t *testing.T) {
	t.Parallel()
	client, l := heldBy(ownHolder(t))
	client.PrependReactor("get", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, context.DeadlineExceeded
	})
	l.readHolder(t.Context())
	if l.holder != "" {
		t.Errorf("holder %q out of nothing", l.holder)
	}
}

func TestControllerName_TellsControllersOfOneClusterApart(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct {
		namespace, name string
		elect, regional bool
	}{
		"":                                {"kube-system", "cloud-controller-manager", true, false},
		"ccm-region-two":                  {"kube-system", "ccm-region-two", true, true},
		"ccm-without-election":            {"kube-system", "ccm-without-election", false, true},
		"two.cloud-controller-manager":    {"two", "cloud-controller-manager", true, true},
		"ccm-of-a-dry-run":                {"kube-system", "ccm-of-a-dry-run-dry-run", true, true},
		"RegionTwo":                       {"kube-system", "cloud-controller-manager", false, true},
		"two.another-lease-of-the-region": {"two", "another-lease-of-the-region", true, false},
	} {
		completed := withLease(test.namespace, test.name, test.elect)
		if got := controllerName(completed, test.regional, "RegionTwo"); got != want {
			t.Errorf("%+v: %q, want %q", test, got, want)
		}
	}
	for _, name := range []string{"cloud-controller-manager", "cloud-controller-manager-dry-run"} {
		for _, elect := range []bool{true, false} {
			if got := controllerName(withLease("kube-system", name, elect), elect, "RegionOne"); got != "" {
				t.Errorf("lease %s, leader election %v: %q", name, elect, got)
			}
		}
	}
}

func withLease(namespace, name string, elect bool) *appconfig.CompletedConfig {
	config := &appconfig.Config{}
	election := &config.ComponentConfig.Generic.LeaderElection
	election.ResourceNamespace, election.ResourceName, election.LeaderElect = namespace, name, elect
	return config.Complete()
}
