package cloudprovider

import (
	"errors"
	"slices"
	"testing"
)

func TestProvider_OffersLoadBalancersAndInstances(t *testing.T) {
	t.Parallel()
	p := started(t, &engine{})
	if p.ProviderName() != "openstack" || !p.HasClusterID() {
		t.Errorf("name %q, cluster ID %v", p.ProviderName(), p.HasClusterID())
	}
	offers := map[string]bool{}
	_, offers["load balancers"] = p.LoadBalancer()
	_, offers["instances v2"] = p.InstancesV2()
	_, offers["routes"] = p.Routes()
	_, offers["instances v1"] = p.Instances()
	_, offers["zones"] = p.Zones()
	_, offers["clusters"] = p.Clusters()
	for what, offered := range offers {
		if want := what == "load balancers" || what == "instances v2"; offered != want {
			t.Errorf("%s: %v, want %v", what, offered, want)
		}
	}
}

func TestLoadBalancers_PassCallsToTheEngine(t *testing.T) {
	t.Parallel()
	e := &engine{}
	lb := balancer(t, started(t, e))
	svc := service("web")
	_, errEnsure := lb.EnsureLoadBalancer(t.Context(), "other-name", svc, nil)
	errUpdate := lb.UpdateLoadBalancer(t.Context(), "other-name", svc, nil)
	_, exists, errGet := lb.GetLoadBalancer(t.Context(), "other-name", svc)
	errDelete := lb.EnsureLoadBalancerDeleted(t.Context(), "other-name", svc)
	if err := errors.Join(errEnsure, errUpdate, errGet, errDelete); err != nil || !exists {
		t.Errorf("error %v, exists %v", err, exists)
	}
	if !slices.Equal(e.calls, []string{"ensure", "get", "delete"}) {
		t.Errorf("calls %v", e.calls)
	}
	if got := lb.GetLoadBalancerName(t.Context(), "other-name", svc); got != "kube_service_kubernetes_default_web" {
		t.Errorf("the name is %q, not the engine's", got)
	}
}

func TestLoadBalancers_ReturnTheErrorsOfTheEngine(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	lb := balancer(t, started(t, &engine{err: broken}))
	if _, err := lb.EnsureLoadBalancer(t.Context(), "", service("web"), nil); err != broken {
		t.Errorf("got %v", err)
	}
}

// If the service controller is switched off, Services belong to another implementation, such as
// MetalLB, and the load balancer interface is never requested.
func TestLoadBalancer_StartsResyncOnlyForTheServiceController(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"off": false, "on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{}
			p := started(t, e, publishedService("web"), node("node-1", "10.0.0.1"))
			if asked {
				balancer(t, p)
			}
			if err := p.Shutdown(t.Context()); err != nil { // waits for background work
				t.Fatal(err)
			}
			if got := e.watches > 0; got != asked {
				t.Errorf("Services are synced: %v, want %v", got, asked)
			}
		})
	}
}
