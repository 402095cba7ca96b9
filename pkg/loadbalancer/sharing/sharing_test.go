package sharing_test

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// namespaces have these annotations.
func namespaces(allowed map[string]string) func(context.Context, string) (*v1.Namespace, error) {
	return func(_ context.Context, name string) (*v1.Namespace, error) {
		text, ok := allowed[name]
		if !ok {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name)
		}
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation.SharingFrom: text}}}, nil
	}
}

func TestAuthorize_DecidesByOwnerAndScope(t *testing.T) {
	t.Parallel()
	const cluster = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"
	of := ownership.Identity{ClusterName: "kubernetes", ClusterID: cluster, ServiceUID: "u", Namespace: "shop", Service: "web"}
	owner := func(namespace string) ownership.Owner {
		other := of
		other.Namespace, other.Service, other.ServiceUID = namespace, "edge", "v"
		return ownership.OwnerOf(other.Name(), other.Description(), other.Tags())
	}
	elsewhere := of
	elsewhere.ClusterID, elsewhere.ClusterName = "another", "another"
	foreign := ownership.OwnerOf(elsewhere.Name(), elsewhere.Description(), elsewhere.Tags())
	for name, test := range map[string]struct {
		owner     ownership.Owner
		scope     string
		unmanaged bool
		allowed   map[string]string
		refused   string // part of the error; "" for none
	}{
		"made by hand":                         {owner: ownership.Owner{}, unmanaged: true},
		"made by hand, which is forbidden":     {owner: ownership.Owner{}, refused: "shared-lb-unmanaged=false"},
		"its own namespace":                    {owner: owner("shop")},
		"another namespace":                    {owner: owner("infra"), refused: "another namespace"},
		"another namespace that lets it":       {owner: owner("infra"), allowed: map[string]string{"infra": "blog, shop"}},
		"another namespace that lets all":      {owner: owner("infra"), allowed: map[string]string{"infra": "*"}},
		"another namespace that lets somebody": {owner: owner("infra"), allowed: map[string]string{"infra": "blog"}, refused: "another namespace"},
		"another namespace, cluster scope":     {owner: owner("infra"), scope: config.SharedLBScopeCluster},
		"another cluster":                      {owner: foreign, refused: "another cluster"},
		"another cluster, cluster scope":       {owner: foreign, scope: config.SharedLBScopeCluster, refused: "another cluster"},
		"another cluster, project scope":       {owner: foreign, scope: config.SharedLBScopeProject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := sharing.Policy{
				Config:    config.LoadBalancer{SharedLBScope: test.scope, SharedLBUnmanaged: test.unmanaged},
				Namespace: namespaces(test.allowed),
			}
			as := of
			as.Sharing = ownership.Sharing{Is: true, Owner: test.owner}
			err := policy.Authorize(t.Context(), as, sharing.Request{}, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}})
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("error %v, want %q in it", err, test.refused)
			}
		})
	}
}

func TestAuthorize_AsksForNoMoreThanTheServicesThatFit(t *testing.T) {
	t.Parallel()
	policy := sharing.Policy{Config: config.LoadBalancer{SharedLBUnmanaged: true}}
	lb := &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, Foreign: []model.Foreign{{Service: "a"}, {Service: "a"}, {}}}
	if err := policy.Authorize(t.Context(), ownership.Identity{}, sharing.Request{}, lb); err != nil {
		t.Errorf("with one other: %v", err)
	}
	lb.Foreign = append(lb.Foreign, model.Foreign{Service: "b"})
	if err := policy.Authorize(t.Context(), ownership.Identity{}, sharing.Request{}, lb); err == nil || !strings.Contains(err.Error(), "max-shared-lb") {
		t.Errorf("with two others: %v", err)
	}
	byName := sharing.Request{Share: "edge"}
	if err := policy.Authorize(t.Context(), ownership.Identity{}, byName, lb); err != nil {
		t.Errorf("by name, with two others: %v", err)
	}
	policy.Config.MaxSharedLB = new(2)
	if err := policy.Authorize(t.Context(), ownership.Identity{}, byName, lb); err == nil || !strings.Contains(err.Error(), annotation.Share) {
		t.Errorf("by name, with two others and a limit: %v", err)
	}
	lb.Listeners = []model.Listener{{}}
	if err := policy.Authorize(t.Context(), ownership.Identity{}, sharing.Request{}, lb); err != nil {
		t.Errorf("a Service that is there already: %v", err)
	}
}

func TestAuthorize_RefusesAnAddressThatTheLoadBalancerDoesNotHave(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, VIP: model.VIP{Address: "10.0.0.5"}, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"},
		Listeners: []model.Listener{{}}}
	for address, allowed := range map[string]bool{"": true, "10.0.0.5": true, "203.0.113.7": true, "203.0.113.8": false} {
		if err := (sharing.Policy{}).Authorize(t.Context(), ownership.Identity{}, sharing.Request{Address: address}, lb); (err == nil) != allowed {
			t.Errorf("%q: %v", address, err)
		}
	}
}
