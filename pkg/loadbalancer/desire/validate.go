package desire

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// sourceRanges reads the clients that may connect: the field, or the annotation
// where the field is empty. A range that lets everybody in is the same as none. Of
// ranges of both families those of the other one are left out, which is told; it is an
// error if no range is left.
func sourceRanges(svc *v1.Service, values annotation.Values) ([]string, []annotation.Notice, field.ErrorList) {
	ranges, path := svc.Spec.LoadBalancerSourceRanges, inSpec("loadBalancerSourceRanges")
	if len(ranges) == 0 {
		ranges, path = values.SourceRanges, annotation.Path(annotation.SourceRanges)
	}
	var (
		canonical     []string
		errs, foreign field.ErrorList
	)
	for i, text := range ranges {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		switch {
		case err != nil || prefix.Addr().Is4In6(): // Octavia takes addresses by the letter
			errs = append(errs, field.Invalid(path.Index(i), text, "must be a CIDR, such as 10.0.0.0/8"))
		case !sameFamily(prefix.Addr(), family(svc)):
			foreign = append(foreign, field.Invalid(path.Index(i), text, "must be of the Service's IP family, "+describe(family(svc))))
		default:
			canonical = append(canonical, prefix.Masked().String())
		}
	}
	switch {
	case len(foreign) == 0:
		return model.CanonicalCIDRs(canonical), nil, errs
	case len(canonical) == 0:
		return nil, nil, append(errs, foreign...)
	}
	return model.CanonicalCIDRs(canonical), []annotation.Notice{{Annotation: path.String(), Message: fmt.Sprintf(
		"%d ranges are left out, as the load balancer is %s: %s", len(foreign), describe(family(svc)), Some(badValues(foreign)))}}, errs
}

// badValues gives what errors are about.
func badValues(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, fmt.Sprint(err.BadValue))
	}
	return all
}

func loadBalancerIP(svc *v1.Service, wanted v1.IPFamily) (string, field.ErrorList) {
	text := svc.Spec.LoadBalancerIP
	if text == "" {
		return "", nil
	}
	path := inSpec("loadBalancerIP")
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return "", field.ErrorList{field.Invalid(path, text, "must be an IP address")}
	}
	if !sameFamily(address, wanted) {
		return "", field.ErrorList{field.Invalid(path, text, "must be of the Service's IP family, "+describe(wanted))}
	}
	return address.Unmap().String(), nil
}

// inSpec gives the path of a field of the Service's spec.
func inSpec(name string) *field.Path { return field.NewPath("spec", name) }

func sameFamily(address netip.Addr, wanted v1.IPFamily) bool {
	return address.Unmap().Is4() == (wanted == v1.IPv4Protocol)
}

// validatePorts refuses what no load balancer could serve.
func validatePorts(svc *v1.Service, drv driver.Driver) field.ErrorList {
	var errs field.ErrorList
	path := inSpec("ports")
	if len(svc.Spec.Ports) == 0 {
		return field.ErrorList{field.Required(path, "a load balancer needs at least one port")}
	}
	seen := map[string]bool{}
	for i, port := range svc.Spec.Ports {
		at := path.Index(i)
		key := fmt.Sprintf("%s/%d", port.Protocol, port.Port)
		switch {
		case !slices.Contains(drv.Protocols, port.Protocol):
			errs = append(errs, notSupported(at.Child("protocol"), port.Protocol, drv.Protocols, drv))
		case port.Port < 1 || port.Port > 65535:
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "must be one port from 1 to 65535"))
		case seen[key]:
			errs = append(errs, field.Duplicate(at, key))
		case port.NodePort == 0:
			errs = append(errs, field.Required(at.Child("nodePort"),
				"the members of the load balancer are NodePorts: set spec.allocateLoadBalancerNodePorts to true or give a nodePort"))
		case port.NodePort < 1 || port.NodePort > 65535:
			errs = append(errs, field.Invalid(at.Child("nodePort"), port.NodePort, "must be one port from 1 to 65535"))
		}
		seen[key] = true
	}
	return errs
}

// validateSettings refuses what the provider or the release of Octavia cannot do.
func validateSettings(svc *v1.Service, s Settings, drv driver.Driver) field.ErrorList {
	errs := s.refusedNew()
	if why := unenforced(s, drv); why != "" && !s.exists {
		errs = append(errs, field.Forbidden(inSpec("loadBalancerSourceRanges"), "cannot be enforced: "+why))
	}
	if why := drv.Lacks(driver.OwnPort); s.PortID != "" && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.PortID), why))
	}
	errs = append(errs, validateVIP(s, drv)...)
	if s.MethodAsked && !slices.Contains(drv.Algorithms, s.Method) {
		errs = append(errs, notSupported(annotation.Path(annotation.Method), s.Method, drv.Algorithms, drv))
	}
	errs = append(errs, s.Listeners.validate(svc, drv)...)
	errs = append(errs, s.Monitor.validate(svc, drv)...)
	return errs
}

// notSupported refuses a value that the provider does not have.
func notSupported[T ~string](path *field.Path, value T, supported []T, drv driver.Driver) *field.Error {
	err := field.NotSupported(path, value, supported)
	err.Detail += fmt.Sprintf(", as the provider is %s and the version of Octavia's API %s", drv.Name, drv.Version)
	return err
}

func local(svc *v1.Service) bool {
	return svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}
