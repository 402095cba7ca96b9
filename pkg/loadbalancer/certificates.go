package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// checkCertificates asks for each certificate that a plan brings to a listener,
// before anything is changed: Octavia would refuse one that is not there in the
// middle of the plan.
func (p *pass) checkCertificates(ctx context.Context, todo plan.Plan) error {
	if p.settings.Listeners.ExternalStore {
		return nil
	}
	for _, ref := range todo.Certificates() {
		err := p.barbican.Exists(ctx, ref)
		var none auth.ErrNoEndpoint
		switch {
		case err == nil:
		case errors.As(err, &none):
			return &refusal.CertificateError{Err: fmt.Errorf("cannot look for the certificate %s: %w; where certificates are not in Barbican, cloud.conf needs container-store=external, for which ask the cluster's operator", ref, err)}
		case apierror.IsNotFound(err):
			return field.NotFound(annotation.Path(annotation.TLSContainer), ref)
		default:
			return &refusal.CertificateError{Err: err}
		}
	}
	return nil
}
