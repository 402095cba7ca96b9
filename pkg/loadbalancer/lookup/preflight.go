package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// What is checked before the first write, as Octavia would refuse it in the middle of a
// plan, or crash.

// Provider refuses a provider that the Service names for a new load balancer and Octavia
// does not have.
func (r *Reader) Provider(ctx context.Context, s *settings.Settings) error {
	if !s.LoadBalancer.ProviderAsked {
		return nil
	}
	enabled, err := r.octavia.Providers(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(enabled, s.LoadBalancer.Provider) {
		return nil
	}
	return field.NotSupported(annotation.Path(annotation.Provider), s.LoadBalancer.Provider, enabled)
}

// Families refuses members that the driver cannot serve at the VIP, which exists or goes
// where the Service or cloud.conf says: elsewhere it is of the members' family.
func (r *Reader) Families(ctx context.Context, s *settings.Settings, facts desire.Facts, existing *model.LoadBalancer) error {
	if !s.NeedsOneFamily(facts.Driver) {
		return nil
	}
	vip := model.VIP{}
	switch {
	case existing != nil:
		vip.Address = existing.VIP.Address
	case s.VIP.SubnetID != "":
		vip.SubnetID = facts.VIPSubnetID
	}
	family, err := r.Family(ctx, vip)
	if err != nil {
		return err
	}
	return message.Invalid(s.ValidateFamilies(facts.Driver, family))
}

// FreeVIP refuses an address for the VIP that a port in its subnet already has: Octavia
// before 17.0 answers 500 to it, and what it tries leaves ports behind. The same address
// in another subnet of the project is another one. The owner of the port, who may be
// anybody, is in the log for the operator.
func (r *Reader) FreeVIP(ctx context.Context, vip model.VIP, askedBy string) error {
	ports, err := r.neutron.PortsAt(ctx, vip.Address)
	if err != nil {
		return err
	}
	for _, port := range ports {
		for _, fixed := range port.FixedIPs {
			if fixed.IPAddress != vip.Address || vip.SubnetID != "" && fixed.SubnetID != vip.SubnetID {
				continue
			}
			klog.FromContext(ctx).Info("The address that a Service asks for is in use", "address", vip.Address, "port", port.ID, "name", port.Name)
			return &Error{Message: fmt.Sprintf("%s: %s is in use in the subnet of the VIP: choose another, or free it", askedBy, vip.Address)}
		}
	}
	return nil
}

// Secrets is where certificates are.
type Secrets interface {
	Exists(ctx context.Context, ref string) error
}

// Certificates refuses references of certificates that do not exist. It is an *Error if
// that cannot be found out: the Service waits for it, with what it has.
func Certificates(ctx context.Context, secrets Secrets, refs []string) error {
	for _, ref := range refs {
		err := secrets.Exists(ctx, ref)
		var none auth.ErrNoEndpoint
		switch {
		case err == nil:
		case errors.As(err, &none):
			return &Error{Err: err, Message: fmt.Sprintf(
				"cannot look for the certificate %s: %v; where certificates are not in Barbican, cloud.conf needs container-store=external, for which ask the cluster's operator", config.PrintableURL(ref), err)}
		case apierror.IsNotFound(err):
			return field.NotFound(annotation.Path(annotation.TLSContainer), config.PrintableURL(ref))
		default:
			return &Error{Err: err, Message: err.Error()}
		}
	}
	return nil
}
