package settings

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Validate returns errors for settings that a driver does not support, before the cloud is read,
// except for the version of Octavia.
func (s *Settings) Validate(drv driver.Driver) field.ErrorList {
	errs := s.validatePorts(drv)
	errs = append(errs, s.refusedForNew()...)
	if s.ByPods() && s.Members.Watch == Forbidden {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Members), "pods cannot be members, because "+mayNotWatch))
	}
	if s.LoadBalancer.Share != "" && drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Share), "the provider "+drv.Name+" has no load balancers to share"))
	} else if s.LoadBalancer.ID != "" && drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.LoadBalancerID), "the provider "+drv.Name+" has no load balancers to share"))
	}
	if s.Monitor.Asked && drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Monitor), "the provider "+drv.Name+" has no health monitors"))
	}
	if s.ByPods() && drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Members), "the provider "+drv.Name+" leads to nodes, not to pods"))
	}
	if why := drv.Lacks(driver.Weights); s.Members.Drains() && why != "" {
		errs = append(errs, field.Forbidden(s.at(annotation.MemberWeights), s.Members.Weights+" has no effect: "+why))
	}
	if why := s.unenforced(drv); why != "" && !s.exists {
		errs = append(errs, field.Forbidden(inSpec("loadBalancerSourceRanges"), "cannot be enforced: "+why))
	}
	if why := drv.Lacks(driver.OwnPort); s.VIP.PortID != "" && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.PortID), why))
	}
	errs = append(errs, s.validateVIP(drv)...)
	errs = append(errs, s.validateDualStack(drv)...)
	errs = append(errs, s.validateAlgorithm(drv)...)
	errs = append(errs, s.validatePersistence()...)
	errs = append(errs, s.validateMetrics(drv)...)
	errs = append(errs, s.validatePerPort(drv)...)
	errs = append(errs, s.validateListeners(drv)...)
	return append(errs, s.validateMonitors(drv)...)
}

func (s *Settings) validateAlgorithm(drv driver.Driver) field.ErrorList {
	if s.Pools.AlgorithmAsked && !slices.Contains(drv.Algorithms, s.Pools.Algorithm) {
		return field.ErrorList{notSupported(s.at(annotation.Method), s.Pools.Algorithm, drv.Algorithms, drv)}
	}
	return nil
}

// validatePorts returns errors for ports that no load balancer could serve.
func (s *Settings) validatePorts(drv driver.Driver) field.ErrorList {
	var errs field.ErrorList
	path := inSpec("ports")
	if len(s.Traffic.Ports) == 0 {
		return field.ErrorList{field.Required(path, "a load balancer needs at least one port")}
	}
	seen := map[string]bool{}
	for i, port := range s.Traffic.Ports {
		at := path.Index(i)
		key := fmt.Sprintf("%s/%d", port.Protocol, port.Port)
		switch {
		case !slices.Contains(drv.Protocols, port.Protocol):
			errs = append(errs, notSupported(at.Child("protocol"), port.Protocol, drv.Protocols, drv))
		case port.Port < 1 || port.Port > 65535:
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "must be one port from 1 to 65535"))
		case seen[key]:
			errs = append(errs, field.Duplicate(at, key))
		case drv.Quirks.Routed && !drv.Quirks.NodePorts && s.ManagesGroups() && isOfNodes(port.Port):
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "is a port of the nodes themselves, which the rule in their security groups would open "+
				"to the Service's clients too; not allowed with provider router: 22, 2379, 2380, 6443, 10248 to 10260 and 30000 to 32767"))
		case s.ByPods() || drv.Quirks.Routed && !drv.Quirks.NodePorts:
		case port.NodePort == 0:
			errs = append(errs, field.Required(at.Child("nodePort"),
				"the members of the load balancer are NodePorts: set spec.allocateLoadBalancerNodePorts to true, set a nodePort, or set "+
					annotation.Members+": "+annotation.MembersPods))
		case port.NodePort < 1 || port.NodePort > 65535:
			errs = append(errs, field.Invalid(at.Child("nodePort"), port.NodePort, "must be one port from 1 to 65535"))
		}
		seen[key] = true
	}
	return errs
}

// notSupported returns an error for a value that the driver does not support.
func notSupported[T ~string](path *field.Path, value T, supported []T, drv driver.Driver) *field.Error {
	err, why := field.NotSupported(path, value, supported), "because the provider is "+drv.Name
	if !driver.WithoutOctavia(drv.Name) {
		why += fmt.Sprintf(" and the version of Octavia's API %s", drv.Version)
	}
	if err.Detail != "" {
		err.Detail += ", "
	}
	err.Detail += why
	return err
}

// isOfNodes reports whether a port is one of SSH, etcd, the API server, the kubelet and other parts of Kubernetes, or in
// the default range of NodePorts, where other Services may admit fewer clients.
func isOfNodes(port int32) bool {
	switch port {
	case 22, 2379, 2380, 6443:
		return true
	}
	return port >= 10248 && port <= 10260 || port >= 30000 && port <= 32767
}
