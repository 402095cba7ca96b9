package state_test

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestStore_CountsServicesOfANamespaceUpToItsLimit(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	first, second, elsewhere := service("first", "1"), service("second", "1"), service("third", "1")
	elsewhere.Namespace = "other"
	if err := errors.Join(store.Count(ownerOf(first), 1), store.Count(ownerOf(first), 1), store.Count(ownerOf(elsewhere), 1)); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	var quota *state.QuotaError
	if err := store.Count(ownerOf(second), 1); !errors.As(err, &quota) || *quota != (state.QuotaError{Namespace: "default", Most: 1}) {
		t.Errorf("beyond the limit: %v", err)
	} else if want := "namespace default has 1 Services with load balancers, which is max-services-per-namespace"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it says %q", err)
	}
	if store.Get(second.UID).Namespace != "" {
		t.Error("a Service beyond the limit is counted")
	}
	if err := store.Count(ownerOf(second), 0); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	store.Update(first.UID, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
	if err := store.Count(ownerOf(first), 2); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
}

// A Service with applied state has a load balancer, even beyond the limit.
func TestStore_CountsServicesForWhichSomethingWasApplied(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	store.Update("uid", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	var quota *state.QuotaError
	if err := store.Count(ownerOf(service("second", "1")), 1); !errors.As(err, &quota) {
		t.Errorf("error %v, want that of the limit", err)
	}
}

func ownerOf(svc *v1.Service) model.Owner {
	return model.Owner{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
}
