package lookup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	Providers(ctx context.Context) ([]string, error)
	Flavors(ctx context.Context) ([]octavia.Flavor, error)
	AvailabilityZones(ctx context.Context) ([]octavia.AvailabilityZone, error)
	QuotaLimits(ctx context.Context) (map[string]int, error)
}

// place sets the facts about flavor and availability zone. For a new load balancer, it returns an
// error if one does not exist. Those that the driver does not support are ignored with a notice.
func (g gathering) place(ctx context.Context, isNew bool) error {
	s, facts := g.s, g.facts
	facts.AvailabilityZone = s.LoadBalancer.AvailabilityZone
	if why := facts.Driver.Lacks(driver.AvailabilityZones); why != "" && s.LoadBalancer.AvailabilityZone != "" {
		facts.AvailabilityZone = ""
		facts.Ignored = append(facts.Ignored, annotation.Notice{Annotation: annotation.AvailabilityZone, Message: "without effect: " + why})
	}
	if why := facts.Driver.Lacks(driver.Flavors); why != "" && s.LoadBalancer.FlavorID != "" {
		facts.Ignored = append(facts.Ignored, annotation.Notice{Annotation: annotation.FlavorID, Message: "without effect: " + why})
	} else if err := g.flavor(ctx, isNew); err != nil {
		return err
	}
	if !isNew || facts.AvailabilityZone == "" {
		return nil
	}
	return g.zone(ctx, facts.AvailabilityZone, s.Origins().Of(annotation.AvailabilityZone).Name)
}

// flavor sets the ID of a flavor that is given by ID or name.
func (g gathering) flavor(ctx context.Context, isNew bool) error {
	s, facts := g.s, g.facts
	asked := s.LoadBalancer.FlavorID
	isID := uuid.Validate(asked) == nil
	facts.FlavorID = asked
	if asked == "" || isID && !isNew {
		return nil
	}
	all, err := g.flavors.get(ctx, "", func(ctx context.Context, _ string) ([]octavia.Flavor, error) { return g.octavia.Flavors(ctx) })
	if isID && (apierror.IsForbidden(err) || apierror.IsNotFound(err)) {
		return nil // users who may not list them may still use them
	}
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(f octavia.Flavor) bool { return f.ID == asked })
	if at < 0 {
		at = slices.IndexFunc(all, func(f octavia.Flavor) bool { return f.Name == asked })
	}
	if at >= 0 && (all[at].Enabled || !isNew) {
		facts.FlavorID = all[at].ID
		return nil
	}
	var names []string
	for _, f := range all {
		if f.Enabled {
			names = append(names, f.Name)
		}
	}
	return &Error{Message: fmt.Sprintf("%s: Octavia has no usable flavor %q: %s", s.Origins().Of(annotation.FlavorID).Name, asked, oneOf(names))}
}

func (r *Reader) zone(ctx context.Context, asked, by string) error {
	all, err := r.zones.get(ctx, "", func(ctx context.Context, _ string) ([]octavia.AvailabilityZone, error) {
		return r.octavia.AvailabilityZones(ctx)
	})
	if apierror.IsForbidden(err) || apierror.IsNotFound(err) {
		return nil // users who may not list them may still use them
	}
	if err != nil {
		return err
	}
	var names []string
	for _, zone := range all {
		if zone.Enabled {
			names = append(names, zone.Name)
		}
	}
	if slices.Contains(names, asked) {
		return nil
	}
	return &Error{Message: fmt.Sprintf("%s: Octavia has no usable availability zone %q: %s", by, asked, oneOf(names))}
}

// oneOf returns the remedy if none of these names was used.
func oneOf(names []string) string {
	if len(names) == 0 {
		return "it has none: remove the setting, or ask the cloud's operator for one"
	}
	return "use one of " + strings.Join(slices.Sorted(slices.Values(names)), ", ") + ", or remove the setting"
}

// ownPort returns the subnet of a requested VIP port, or an error if the port cannot be the VIP.
func (g gathering) ownPort(ctx context.Context) (subnet string, err error) {
	s := g.s
	port, err := g.neutron.Port(ctx, s.VIP.PortID)
	switch {
	case apierror.IsNotFound(err):
		return "", &Error{Message: fmt.Sprintf("port-id: there is no port %s, or this project cannot see it: correct the ID", s.VIP.PortID)}
	case err != nil:
		return "", err
	case port.DeviceID != "":
		klog.FromContext(ctx).Info("The port that a Service asks for is in use", "port", port.ID, "name", port.Name, "device", port.DeviceID)
		return "", &Error{Message: fmt.Sprintf("port-id: port %s is in use by a device: use another port, or free it", port.ID)}
	}
	for _, fixed := range port.FixedIPs {
		address, err := netip.ParseAddr(fixed.IPAddress)
		if err == nil && address.Is4() == (s.Family == v1.IPv4Protocol) && (s.VIP.SubnetID == "" || s.VIP.SubnetID == fixed.SubnetID) {
			return fixed.SubnetID, nil
		}
	}
	return "", &Error{Message: fmt.Sprintf("port-id: port %s has no address of family %s in the subnet of the VIP", port.ID, s.Family)}
}
