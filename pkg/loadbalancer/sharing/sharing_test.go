package sharing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

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

func TestAuthorize_ConcernsOnlySharedLoadBalancers(t *testing.T) {
	t.Parallel()
	asked := sharing.Request{Address: "203.0.113.8"}
	for name, lb := range map[string]*model.LoadBalancer{"none": nil, "its own": {ID: "lb", VIP: model.VIP{Address: "10.0.0.5"}}} {
		if err := (sharing.Policy{}).Authorize(t.Context(), ownership.Identity{}, asked, lb); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAuthorize_NamesAnnotationThatAsks(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}
	for share, by := range map[string]string{"": annotation.LoadBalancerID, "edge": annotation.Share} {
		err := (sharing.Policy{}).Authorize(t.Context(), ownership.Identity{}, sharing.Request{Share: share}, lb)
		if invalid := new(field.Error); !errors.As(err, &invalid) || invalid.Type != field.ErrorTypeForbidden || invalid.Field != annotation.Path(by).String() {
			t.Errorf("share %q: %v", share, err)
		}
	}
}

func TestAuthorize_CountsServicesUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit  *int
		share  string
		others int
		may    bool
	}{
		{nil, "", 0, true}, {nil, "", 1, true}, {nil, "", 2, false}, {nil, "edge", 2, true}, {nil, "edge", 100, true},
		{new(1), "", 0, true}, {new(1), "", 1, false}, {new(1), "edge", 1, false}, {new(3), "", 2, true}, {new(3), "edge", 2, true}, {new(3), "edge", 3, false}, {new(0), "", 0, false},
	} {
		policy := sharing.Policy{Config: config.LoadBalancer{SharedLBUnmanaged: true, MaxSharedLB: test.limit}}
		lb := &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}
		for i := range test.others {
			lb.Foreign = append(lb.Foreign, model.Foreign{Service: fmt.Sprintf("shop/web-%d", i)})
		}
		if err := policy.Authorize(t.Context(), ownership.Identity{}, sharing.Request{Share: test.share}, lb); (err == nil) != test.may {
			t.Errorf("limit %v, share %q, %d others: %v", ptr.Deref(test.limit, -1), test.share, test.others, err)
		}
	}
}

func TestSharers_AreOtherServicesOnce(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{Foreign: []model.Foreign{{Service: "shop/web"}, {Service: ""}, {Service: "blog/api"}, {Service: "shop/web"}}}
	if got, want := sharing.Sharers(lb), []string{"blog/api", "shop/web"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAllows_FollowsScopeClusterAndNamespace(t *testing.T) {
	t.Parallel()
	of := ownership.Identity{ClusterName: "kubernetes", ClusterID: "here", ServiceUID: "u", Namespace: "shop", Service: "web"}
	here := func(namespace string) ownership.Owner {
		return ownership.Owner{ClusterID: "here", ServiceUID: "v", ClusterName: "kubernetes", Namespace: namespace, Service: "edge", Kubernetes: true}
	}
	elsewhere := ownership.Owner{ClusterID: "elsewhere", ServiceUID: "v", Namespace: "shop", Kubernetes: true}
	const cluster, project = config.SharedLBScopeCluster, config.SharedLBScopeProject
	for name, test := range map[string]struct {
		owner   ownership.Owner
		scope   string
		allowed string // annotation of the namespace infra
		may     bool
	}{
		"the same namespace":                   {here("shop"), "", "", true},
		"another namespace":                    {here("infra"), "", "", false},
		"another namespace, named":             {here("infra"), "", "shop", true},
		"another namespace, named with others": {here("infra"), "", "blog ,  shop", true},
		"another namespace, others are named":  {here("infra"), "", "shops,sho", false},
		"another namespace, all are":           {here("infra"), "", "blog,*", true},
		"another namespace, scope cluster":     {here("infra"), cluster, "", true},
		"a namespace that is gone":             {here("gone"), "", "shop", false},
		"an unknown namespace":                 {here(""), "", "shop", false},
		"an unknown namespace, scope cluster":  {here(""), cluster, "", true},
		"another cluster":                      {elsewhere, "", "*", false},
		"another cluster, scope cluster":       {elsewhere, cluster, "*", false},
		"another cluster, scope project":       {elsewhere, project, "", true},
		"another namespace, scope project":     {here("infra"), project, "", true},
	} {
		policy := sharing.Policy{Config: config.LoadBalancer{SharedLBScope: test.scope}, Namespace: namespaces(map[string]string{"infra": test.allowed, "": test.allowed})}
		if may, err := policy.Allows(t.Context(), of, test.owner); err != nil || may != test.may {
			t.Errorf("%s: %v, error %v", name, may, err)
		}
	}
	if may, err := (sharing.Policy{}).Allows(t.Context(), of, here("infra")); may || err != nil {
		t.Errorf("no namespaces are read: %v, error %v", may, err)
	}
	as := of
	as.Sharing = ownership.Sharing{Is: true, Owner: here("")}
	if err := (sharing.Policy{}).Authorize(t.Context(), as, sharing.Request{}, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}); err == nil || !strings.Contains(err.Error(), "namespace of its owner is unknown") {
		t.Errorf("an unknown namespace: %v", err)
	}
}

// The decision waits for the namespace of the owner: an error is no refusal.
func TestAuthorize_FailsWithTheOwnersNamespace(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	policy := sharing.Policy{Namespace: func(context.Context, string) (*v1.Namespace, error) { return nil, failed }}
	as := ownership.Identity{ClusterID: "here", Namespace: "shop", Sharing: ownership.Sharing{Is: true, Owner: ownership.Owner{ClusterID: "here", Namespace: "infra", Kubernetes: true}}}
	err := policy.Authorize(t.Context(), as, sharing.Request{}, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}})
	if invalid := new(field.Error); !errors.Is(err, failed) || errors.As(err, &invalid) || !strings.Contains(err.Error(), "load balancer lb") {
		t.Errorf("%v", err)
	}
}
