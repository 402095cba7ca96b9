package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// These checks run before the first write, because Octavia would return the error in the middle of
// a plan, or crash.

// Provider returns an error if Octavia does not have the provider that the Service names for a new
// load balancer.
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
	return field.NotSupported(annotation.Path(annotation.Provider), s.LoadBalancer.Provider, slices.Concat(enabled, []string{driver.PortForwarding, driver.Router}))
}

// Families returns an error if the driver cannot serve the members at the VIP. The VIP exists, or
// is in the subnet of the Service or of cloud.conf; otherwise it has the members' family.
func (r *Reader) Families(ctx context.Context, s *settings.Settings, facts desire.Facts, existing *model.LoadBalancer) error {
	if !s.Traffic.NeedsOneFamily(facts.Driver) || s.Second != "" { // which has a VIP of each
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
	return message.Invalid(s.For(facts.Driver).ValidateFamilies(family))
}

// FreeVIP returns an error if an address for the VIP is not in its subnet, or in use by a port
// there: Octavia before 17.0 would answer 500, and leave ports behind. The same address in another
// subnet of the project does not matter. The log names the owner of the port for the operator.
func (r *Reader) FreeVIP(ctx context.Context, vip model.VIP, askedBy string) error {
	if vip.SubnetID != "" {
		subnet, err := r.networks.subnet(ctx, vip.SubnetID)
		switch {
		case apierror.IsNotFound(err): // Octavia will refuse it
		case err != nil:
			return err
		case !contains(*subnet, vip.Address):
			return &Error{Message: fmt.Sprintf("%s: %s is not in subnet %s (%s) of the VIP: choose another address, or leave the choice to OpenStack",
				askedBy, vip.Address, subnet.ID, subnet.CIDR)}
		}
	}
	ports, err := r.neutron.PortsAt(ctx, vip.Address)
	if err != nil {
		return err
	}
	for _, port := range ports {
		for _, fixed := range port.FixedIPs {
			elsewhere := vip.SubnetID != "" && fixed.SubnetID != vip.SubnetID || vip.NetworkID != "" && port.NetworkID != vip.NetworkID
			if fixed.IPAddress != vip.Address || elsewhere {
				continue
			}
			klog.FromContext(ctx).Info("The address that a Service asks for is in use", "address", vip.Address, "port", port.ID, "name", port.Name)
			return &Error{Message: fmt.Sprintf("%s: %s is in use in the subnet of the VIP: choose another address, or free it", askedBy, vip.Address)}
		}
	}
	return nil
}

const (
	// noCertificate is the remedy for a missing certificate.
	noCertificate = "Barbican has no such container or secret: create it in the controller's project, or correct the reference"
	// lostCertificate is the remedy for a certificate that was deleted while a listener uses it.
	lostCertificate = "Barbican no longer has this container or secret, and Octavia puts the listener that uses it into ERROR at each change: name another certificate"
	// forbiddenCertificate is the remedy for one that the controller may not read. Octavia adds itself to the access list of
	// a certificate with the controller's token, so that one of another project does not work even if both may read it.
	forbiddenCertificate = "the certificate must be in the controller's project, and the controller's user needs a role that Barbican's policy knows, such as creator"
)

// Secrets is the part of the key manager that this package uses.
type Secrets interface {
	Exists(ctx context.Context, ref string) error
}

// Certificates returns an error for references of certificates, from the setting askedBy, that do
// not exist. The error is an *Error if that is unknown: the Service then keeps its present state
// and waits.
func Certificates(ctx context.Context, secrets Secrets, refs []string, askedBy string) error {
	for _, ref := range refs {
		err := secrets.Exists(ctx, ref)
		var none auth.ErrNoEndpoint
		switch {
		case err == nil:
		case errors.As(err, &none):
			return &Error{Err: err, Message: fmt.Sprintf(
				"cannot look for the certificate %s: %v; if certificates are not in Barbican, cloud.conf needs container-store=external: ask the cluster's operator", config.PrintableURL(ref), err)}
		case apierror.IsNotFound(err):
			return &field.Error{Type: field.ErrorTypeNotFound, Field: askedBy, BadValue: config.PrintableURL(ref), Detail: noCertificate}
		case apierror.IsForbidden(err):
			return &Error{Err: err, Message: err.Error() + "; " + forbiddenCertificate}
		default:
			return &Error{Err: err, Message: err.Error()}
		}
	}
	return nil
}

// LostCertificateError reports a certificate that a listener uses and that no longer exists.
type LostCertificateError struct {
	Ref   string
	field *field.Error
}

// Error implements error.
func (e *LostCertificateError) Error() string { return e.field.Error() }

// Unwrap returns the refusal of the setting.
func (e *LostCertificateError) Unwrap() error { return e.field }

// CertificatesInUse returns a *LostCertificateError if one of the certificates of existing listeners, from the setting
// askedBy, no longer exists. One that cannot be read may exist: Octavia reads it with its own rights.
func CertificatesInUse(ctx context.Context, secrets Secrets, refs []string, askedBy string) error {
	for _, ref := range refs {
		switch err := secrets.Exists(ctx, ref); {
		case apierror.IsNotFound(err):
			return &LostCertificateError{ref, &field.Error{Type: field.ErrorTypeNotFound, Field: askedBy, BadValue: config.PrintableURL(ref), Detail: lostCertificate}}
		case err != nil:
			klog.FromContext(ctx).V(2).Info("Cannot look for the certificate of a listener", "certificate", config.PrintableURL(ref), "err", err)
		}
	}
	return nil
}
