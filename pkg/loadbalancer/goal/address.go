package goal

import (
	"cmp"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
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

// publishedAddresses returns the addresses in the status of a Service. Only the controller writes
// them.
func publishedAddresses(svc *v1.Service) []string {
	var addresses []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			addresses = append(addresses, ingress.IP)
		}
	}
	return addresses
}

// namedAddresses returns the addresses in host names of the status, such as 203.0.113.7.nip.io.
// They prove nothing: the annotation hostname can request any name.
func namedAddresses(svc *v1.Service) []string {
	var addresses []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if address, ok := addressIn(ingress.Hostname); ok {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// statusAddress returns the address in the status of a Service, also from a host name; "" if there
// is none.
func statusAddress(svc *v1.Service) string {
	for _, address := range append(publishedAddresses(svc), namedAddresses(svc)...) {
		return address
	}
	return ""
}

// servedAt returns the address that clients use: of the status, else the recorded one; "" if
// unknown.
func servedAt(svc *v1.Service) string {
	return cmp.Or(statusAddress(svc), svc.Annotations[annotation.LoadBalancerAddress])
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
