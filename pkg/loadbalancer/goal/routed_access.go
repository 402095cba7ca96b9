package goal

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// clientsSpec returns the specification of the nodes' security groups: they admit clients to the ports of
// the Service, because nodes get the packets for the VIP, or to its forwarded NodePorts. It is nil if groups are not managed.
func clientsSpec(in Inputs, want *Desired) *securitygroup.Spec {
	if !managesGroups(in) {
		return nil
	}
	on, asked := *want, *want.Settings
	asked.Traffic.HealthCheckNodePort = 0
	on.Settings = &asked
	opened := &model.LoadBalancer{}
	for _, port := range asked.Traffic.Ports {
		protocol, number := model.Protocol(port.Protocol), port.Port
		if in.Settings.LoadBalancer.Provider == driver.PortForwarding {
			number = port.NodePort
		}
		opened.Listeners = append(opened.Listeners, model.Listener{
			Protocol: protocol, Pool: model.Pool{Protocol: protocol, Members: model.MembersOf(model.Member{Port: int(number)})},
		})
	}
	return specOn(in, opened, &on)
}

// accessOf returns the ports and clients that security groups shall admit; none if they are not managed.
func accessOf(s *settings.Settings) state.Access {
	if !s.ManagesGroups() {
		return state.Access{}
	}
	access := state.Access{Ranges: s.Access.SourceRanges}
	for _, port := range s.Traffic.Ports {
		access.Ports = append(access.Ports, fmt.Sprintf("%s/%d", port.Protocol, port.Port))
	}
	return access
}

// accessIn returns the ports and clients that a specification of security groups admits, without the refused ones of a
// refused Service; none for nil.
func accessIn(spec *securitygroup.Spec) state.Access {
	if spec == nil {
		return state.Access{}
	}
	access := state.Access{Ranges: spec.Clients}
	for _, port := range spec.NodePorts {
		access.Ports = append(access.Ports, strings.ToUpper(port.String()))
	}
	return access
}

// claims compares the source ranges of the Services of provider router that open the same port of the nodes.
type claims struct {
	services Services
	settings *settings.Parser
	store    *state.Store
	clock    clock.WithDelayedExecution
}

// claim refuses a Service that opens a port with other source ranges than another one.
func (c *claims) claim(ctx context.Context, in Inputs) error {
	access := accessOf(in.Settings)
	unseen, err := c.served(ctx, access)
	if err != nil {
		return err
	}
	port := c.store.Claim(in.Owner.UID, access, unseen)
	if port == "" {
		return nil
	}
	return message.Invalid(field.ErrorList{field.Forbidden(field.NewPath("spec", "loadBalancerSourceRanges"), fmt.Sprintf(
		"another Service of provider router has port %s with other source ranges, and a rule of a security group cannot tell the two apart: "+
			"choose another port, or the same ranges", port))})
}

// served returns the open ports of the Services of provider router with a status, by their specifications: after a
// start, this process has not seen all of them.
func (c *claims) served(ctx context.Context, access state.Access) (map[types.UID]state.Access, error) {
	if len(access.Ports) == 0 || c.services == nil {
		return nil, nil
	}
	for {
		all, err := c.services(ctx, v1.NamespaceAll)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the Services that may have the same ports: %w", err)
		case all != nil:
			return c.accessOfAll(all), nil
		}
		if err := async.Sleep(ctx, c.clock, telemetry.Queue, "services", sharePoll); err != nil {
			return nil, err
		}
	}
}

func (c *claims) accessOfAll(all []*v1.Service) map[types.UID]state.Access {
	served := map[types.UID]state.Access{}
	for _, svc := range all {
		if cluster.IsOurs(svc) && PublishedOf(svc).hasStatus() && c.settings.Routed(svc) && !c.settings.Forwarded(svc) {
			asked, _ := c.settings.ParseKept(svc)
			served[svc.UID] = accessOf(asked)
		}
	}
	return served
}
