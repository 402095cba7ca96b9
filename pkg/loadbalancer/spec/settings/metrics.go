package settings

import (
	"fmt"
	"net/netip"
	"strings"

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
	values, path := r.from.values.Metrics, annotation.Path(annotation.MetricsCIDRs)
	if values.Port == nil {
		if values.AllowedCIDRs != nil {
			r.notice(annotation.MetricsCIDRs, "has no effect without "+annotation.MetricsPort)
		}
		return MetricsSettings{}
	}
	m := MetricsSettings{Port: ptr.Deref(values.Port, 0)}
	var ranges []netip.Prefix
	for _, text := range values.AllowedCIDRs {
		prefix := netip.MustParsePrefix(text) // which package annotation has formatted
		if !InFamily(prefix.Addr(), family) {
			r.refuse(field.Invalid(path, text, fmt.Sprintf("must be of the Service's first IP family, %s", family)))
			continue
		}
		ranges, m.AllowedCIDRs = append(ranges, prefix), append(m.AllowedCIDRs, text)
	}
	switch all, _ := anyAddress(family).Prefix(0); {
	case len(values.AllowedCIDRs) == 0:
		r.refuse(field.Required(path, annotation.MetricsPort+" needs the CIDRs of the clients that collect the metrics"))
	case covers(ranges, all):
		r.refuse(field.Invalid(path, strings.Join(values.AllowedCIDRs, ","), fmt.Sprintf(
			"admits all clients of %s: allowed are CIDRs that do not cover %s together, of the clients that collect the metrics", family, all)))
		m.AllowedCIDRs = nil
	}
	m.AllowedCIDRs = model.CanonicalCIDRs(m.AllowedCIDRs, false)
	return m
}

// anyAddress returns the first address of an IP family.
func anyAddress(family v1.IPFamily) netip.Addr {
	if family == v1.IPv6Protocol {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// covers reports whether each address of a range is in at least one of some ranges of its IP family.
func covers(ranges []netip.Prefix, whole netip.Prefix) bool {
	var parts []netip.Prefix
	for _, r := range ranges {
		switch {
		case r.Bits() <= whole.Bits() && r.Contains(whole.Addr()):
			return true
		case whole.Contains(r.Addr()):
			parts = append(parts, r)
		}
	}
	if len(parts) == 0 {
		return false
	}
	lower, upper := halves(whole)
	return covers(parts, lower) && covers(parts, upper)
}

// halves returns the two halves of a range of more than one address.
func halves(whole netip.Prefix) (lower, upper netip.Prefix) {
	bytes, bit := whole.Addr().AsSlice(), whole.Bits()
	bytes[bit/8] |= 0x80 >> (bit % 8)
	second, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(whole.Addr(), bit+1), netip.PrefixFrom(second, bit+1)
}

// metrics returns an error if the load balancer cannot have a listener with its metrics.
func (v validation) metrics() field.ErrorList {
	at, port := annotation.Path(annotation.MetricsPort), v.s.Metrics.Port
	if port == 0 {
		return nil
	}
	var errs field.ErrorList
	if v.s.guest {
		errs = append(errs, field.Forbidden(at, "the load balancer was created for another Service: only that one can serve its metrics"))
	}
	if why := v.drv.Lacks(driver.Metrics); why != "" {
		errs = append(errs, field.Forbidden(at, why))
	}
	if len(v.s.VIP.Settled().SecurityGroupIDs) > 0 {
		errs = append(errs, field.Forbidden(at, "Octavia accepts no "+annotation.MetricsCIDRs+" beside security groups of the VIP"))
	}
	for _, p := range v.s.Traffic.Ports {
		if p.Protocol == v1.ProtocolTCP && int(p.Port) == port {
			errs = append(errs, field.Invalid(at, port, "is a TCP port of the Service: choose another one"))
		}
	}
	return errs
}
