package settings

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Validate returns errors for settings that the driver does not support, before the cloud is read,
// except for the version of Octavia.
func (f ForDriver) Validate() field.ErrorList { return validation{f}.all() }

// validation is that of the settings of a Service, or of one of its ports, for a driver. Its methods return
// the errors of their subjects.
type validation struct{ ForDriver }

// of returns the validation of the settings of a port.
func (v validation) of(port v1.ServicePort) validation {
	return validation{v.s.OfPort(port).For(v.drv)}
}

func (v validation) all() field.ErrorList {
	errs := v.ports()
	errs = append(errs, v.malformed()...)
	if v.s.ByPods() && v.s.Members.Watch == Forbidden {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Members), "pods cannot be members, because "+mayNotWatch))
	}
	if v.s.LoadBalancer.Share != "" && v.drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Share), "the provider "+v.drv.Name+" has no load balancers to share"))
	} else if v.s.LoadBalancer.ID != "" && v.drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.LoadBalancerID), "the provider "+v.drv.Name+" has no load balancers to share"))
	}
	if v.s.Monitor.Asked && v.drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Monitor), "the provider "+v.drv.Name+" has no health monitors"))
	}
	if v.s.ByPods() && v.drv.Quirks.Routed {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.Members), "the provider "+v.drv.Name+" leads to nodes, not to pods"))
	}
	if why := v.drv.Lacks(driver.Weights); v.s.Members.Drains() && why != "" {
		errs = append(errs, field.Forbidden(v.s.own.at(annotation.MemberWeights), v.s.Members.Weights+" has no effect: "+why))
	}
	if why := v.unenforced(); why != "" && !v.s.exists {
		errs = append(errs, field.Forbidden(inSpec("loadBalancerSourceRanges"), "cannot be enforced: "+why))
	}
	if why := v.drv.Lacks(driver.OwnPort); v.s.VIP.PortID != "" && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.PortID), why))
	}
	errs = append(errs, v.vip()...)
	errs = append(errs, v.dualStack()...)
	errs = append(errs, v.algorithm()...)
	errs = append(errs, v.persistence()...)
	errs = append(errs, v.metrics()...)
	errs = append(errs, v.perPort()...)
	errs = append(errs, v.listeners()...)
	return append(errs, v.monitors()...)
}

func (v validation) algorithm() field.ErrorList {
	if v.s.Pools.AlgorithmAsked && !slices.Contains(v.drv.Algorithms, v.s.Pools.Algorithm) {
		return field.ErrorList{notSupported(v.s.own.at(annotation.Method), v.s.Pools.Algorithm, v.drv.Algorithms, v.drv)}
	}
	return nil
}

// ports returns errors for ports that no load balancer could serve.
func (v validation) ports() field.ErrorList {
	var errs field.ErrorList
	path := inSpec("ports")
	if len(v.s.Traffic.Ports) == 0 {
		return field.ErrorList{field.Required(path, "a load balancer needs at least one port")}
	}
	seen := map[string]bool{}
	for i, port := range v.s.Traffic.Ports {
		at := path.Index(i)
		key := fmt.Sprintf("%s/%d", port.Protocol, port.Port)
		switch {
		case !slices.Contains(v.drv.Protocols, port.Protocol):
			errs = append(errs, notSupported(at.Child("protocol"), port.Protocol, v.drv.Protocols, v.drv))
		case port.Port < 1 || port.Port > 65535:
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "must be one port from 1 to 65535"))
		case seen[key]:
			errs = append(errs, field.Duplicate(at, key))
		case v.drv.Quirks.Routed && !v.drv.Quirks.NodePorts && v.s.ManagesGroups() && isOfNodes(port.Port):
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "is a port of the nodes themselves, which the rule in their security groups would open "+
				"to the Service's clients too; not allowed with provider router: 22, 2379, 2380, 6443, 10248 to 10260 and 30000 to 32767"))
		case v.s.ByPods() || v.drv.Quirks.Routed && !v.drv.Quirks.NodePorts:
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
