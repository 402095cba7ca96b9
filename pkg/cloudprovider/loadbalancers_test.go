package cloudprovider

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// refusingEngine refuses a Service. Its load balancer has another address than the published one.
type refusingEngine struct{ engine }

func (*refusingEngine) Ensure(context.Context, *v1.Service, []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.7"}}}, errors.New("refused")
}

// The service controller publishes an address only after a call that succeeds.
func TestEnsureLoadBalancer_PublishesAddressOfRefusedService(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	p := started(t, &refusingEngine{}, web)
	if _, err := balancer(t, p).EnsureLoadBalancer(t.Context(), "", web, nil); err == nil || err.Error() != "refused" {
		t.Errorf("got error %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	now, err := p.options.Client.CoreV1().Services(web.Namespace).Get(t.Context(), web.Name, metav1.GetOptions{})
	if err != nil || len(now.Status.LoadBalancer.Ingress) != 1 || now.Status.LoadBalancer.Ingress[0].IP != "192.0.2.7" {
		t.Errorf("published %v, error %v", now.Status.LoadBalancer, err)
	}
}

// The service controller neither reports nor repeats a call if a background round reports its end.
func TestEnsureLoadBalancer_LeavesAloneWhatGoesOnByItself(t *testing.T) {
	t.Parallel()
	balancers := &loadBalancers{engine: &engine{err: loadbalancer.ErrInProgress}, calls: newCalls(t.Context(), nil)}
	if status, err := balancers.EnsureLoadBalancer(t.Context(), "", service("web"), nil); err != cloudprovider.ImplementedElsewhere || status != nil {
		t.Errorf("got %v, %v", status, err)
	}
}

func TestResyncEngine_KnowsServicesWithoutLoadBalancer(t *testing.T) {
	t.Parallel()
	balancers := &loadBalancers{engine: &engine{err: loadbalancer.ErrNoLoadBalancer}, calls: newCalls(t.Context(), nil)}
	if _, err := repaired(t.Context(), balancers, service("web")); !errors.Is(err, resync.ErrNoLoadBalancer) {
		t.Errorf("got %v", err)
	}
}
