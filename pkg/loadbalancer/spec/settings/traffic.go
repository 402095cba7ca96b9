package settings

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
)

// defaultAffinity is the timeoutSeconds that Kubernetes sets in a Service with sessionAffinity
// ClientIP if it has none.
const defaultAffinity = int(v1.DefaultClientIPServiceAffinitySeconds)

// traffic returns the traffic settings in the spec of a Service. With member-port=service of cloud.conf, its
// own ports are in place of the NodePorts. Unlike NodePorts, several Services may have the same: in one
// security group, each would take the rule of the other.
func (r *reading) traffic() TrafficSettings {
	svc := r.svc
	ports := svc.Spec.Ports
	if r.from.conf.MemberPort == config.MemberPortService {
		ports = slices.Clone(ports)
		for i := range ports {
			ports[i].NodePort = ports[i].Port
		}
		if r.from.conf.SecurityGroups() == config.SecurityGroupsShared {
			r.refuse(field.Forbidden(inSpec("ports"), "member-port=service of cloud.conf needs security-group-mode=per-service: "+
				"Services with the same port would take each other's rule in a shared group; ask the cluster's operator"))
		}
	}
	t := TrafficSettings{
		Ports:               ports,
		ownPorts:            r.from.conf.MemberPort == config.MemberPortService,
		Local:               local(svc),
		HealthCheckNodePort: int(svc.Spec.HealthCheckNodePort),
		ClientAffinity:      svc.Spec.SessionAffinity == v1.ServiceAffinityClientIP,
		AffinityTimeout:     defaultAffinity,
	}
	if c := svc.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		t.AffinityTimeout = int(*c.ClientIP.TimeoutSeconds)
	}
	return t
}

// CustomAffinityTimeout reports whether the timeout of the session affinity is not the default of
// Kubernetes, which cloud-provider-openstack never sends.
func (t TrafficSettings) CustomAffinityTimeout() bool { return t.AffinityTimeout != defaultAffinity }

func (t TrafficSettings) hasTCP() bool {
	return slices.ContainsFunc(t.Ports, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP })
}

// NeedsOneFamily reports whether the members of any port must be of the VIP's IP family.
func (t TrafficSettings) NeedsOneFamily(drv driver.Driver) bool {
	return slices.ContainsFunc(t.Ports, func(p v1.ServicePort) bool { return slices.Contains(drv.SameFamily, p.Protocol) })
}

func local(svc *v1.Service) bool {
	return svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}

// FamilyOf returns the Service's first IP family.
func FamilyOf(svc *v1.Service) v1.IPFamily {
	if len(svc.Spec.IPFamilies) > 0 {
		return svc.Spec.IPFamilies[0]
	}
	if strings.Contains(svc.Spec.ClusterIP, ":") {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// InFamily reports whether an address is of an IP family. An IPv4-mapped IPv6 address is IPv4.
func InFamily(address netip.Addr, family v1.IPFamily) bool {
	return address.Unmap().Is4() == (family == v1.IPv4Protocol)
}

// inFamilies reports whether an address is of one of some IP families.
func inFamilies(address netip.Addr, families []v1.IPFamily) bool {
	return slices.ContainsFunc(families, func(family v1.IPFamily) bool { return InFamily(address, family) })
}

// inSpec returns the path of a field of the Service's spec.
func inSpec(name string) *field.Path { return field.NewPath("spec", name) }
