package settings

import (
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// MetricsSettings are those of the listener with the metrics of the load balancer.
type MetricsSettings struct {
	// Port is its port, 0 for none.
	Port int
	// AllowedCIDRs are the clients that may read the metrics, in canonical form and sorted. There is at least
	// one, and none that admits all clients.
	AllowedCIDRs []string
}

func (r *reading) metrics(family v1.IPFamily) MetricsSettings {
	values, path := r.values.Metrics, annotation.Path(annotation.MetricsCIDRs)
	if values.Port == nil {
		if values.AllowedCIDRs != nil {
			r.notice(annotation.MetricsCIDRs, "has no effect without "+annotation.MetricsPort)
		}
		return MetricsSettings{}
	}
	m := MetricsSettings{Port: ptr.Deref(values.Port, 0)}
	for _, text := range values.AllowedCIDRs {
		prefix := netip.MustParsePrefix(text) // which package annotation has formatted
		switch {
		case !InFamily(prefix.Addr(), family):
			r.refuse(field.Invalid(path, text, fmt.Sprintf("must be of the Service's first IP family, %s", family)))
		case prefix.Bits() == 0:
			r.refuse(field.Invalid(path, text, "admits all clients: allowed are the CIDRs of those that collect the metrics"))
		default:
			m.AllowedCIDRs = append(m.AllowedCIDRs, text)
		}
	}
	if len(values.AllowedCIDRs) == 0 {
		r.refuse(field.Required(path, annotation.MetricsPort+" needs the CIDRs of the clients that collect the metrics"))
	}
	m.AllowedCIDRs = model.CanonicalCIDRs(m.AllowedCIDRs, false)
	return m
}

// validateMetrics returns an error if the load balancer cannot have a listener with its metrics.
func (s *Settings) validateMetrics(drv driver.Driver) field.ErrorList {
	at, port := annotation.Path(annotation.MetricsPort), s.Metrics.Port
	if port == 0 {
		return nil
	}
	var errs field.ErrorList
	if s.guest {
		errs = append(errs, field.Forbidden(at, "the load balancer was created for another Service: only that one can serve its metrics"))
	}
	if why := drv.Lacks(driver.Metrics); why != "" {
		errs = append(errs, field.Forbidden(at, why))
	}
	if len(s.VIP.Settled().SecurityGroupIDs) > 0 {
		errs = append(errs, field.Forbidden(at, "Octavia accepts no "+annotation.MetricsCIDRs+" beside security groups of the VIP"))
	}
	for _, p := range s.Traffic.Ports {
		if p.Protocol == v1.ProtocolTCP && int(p.Port) == port {
			errs = append(errs, field.Invalid(at, port, "is a TCP port of the Service: choose another one"))
		}
	}
	return errs
}
