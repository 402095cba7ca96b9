package goal

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// publish returns the status of a Service that is reachable at an address.
func publish(address string, settings *settings.Settings) *v1.LoadBalancerStatus {
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{settings.Ingress(address)}}
}

// addressOf returns the address of a load balancer: the floating IP where there is one.
func addressOf(lb *model.LoadBalancer, settings *settings.Settings) string {
	if settings.FloatingIP() && lb.FloatingIP != nil {
		return lb.FloatingIP.Address
	}
	return lb.VIP.Address
}

// addressIn parses the address at the start of a name, as settings.Settings.Ingress writes it.
func addressIn(name string) (string, bool) {
	labels := strings.Split(name, ".")
	if len(labels) > 4 {
		if address, err := netip.ParseAddr(strings.Join(labels[:4], ".")); err == nil {
			return address.String(), true
		}
	}
	address, err := netip.ParseAddr(strings.ReplaceAll(labels[0], "-", ":"))
	return address.String(), err == nil
}
