package goal

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

// checks has the stage Prepare: it refuses plans before their first step.
type checks struct {
	config   *config.Config
	store    *state.Store
	lookup   *lookup.Reader
	barbican *barbican.Client
}

// limits refuses a plan that exceeds limits of cloud.conf.
func (c *checks) limits(in Inputs, r Round, todo plan.Plan) error {
	limits := c.config.LoadBalancer
	opens := slices.ContainsFunc(r.Groups.Open, func(step securitygroup.Step) bool { _, adds := step.(securitygroup.AddRules); return adds })
	if err := message.Invalid(settings.Exceeds(limits, in.Settings.Access, r.Want.LoadBalancer, r.Have.LoadBalancer, opens)); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if r.Have.LoadBalancer != nil || !todo.Creates() {
		most = 0
	}
	return c.store.Count(in.Owner, most)
}

// floatingAddress refuses a plan that creates a floating IP with an address outside of the
// network's subnets, as far as the project can see them.
func (c *checks) floatingAddress(ctx context.Context, in Inputs, todo plan.Plan) error {
	i := slices.IndexFunc(todo.Steps, func(step plan.Step) bool {
		s, creates := step.(plan.CreateFloatingIP)
		return creates && s.FloatingIP.Address != ""
	})
	if i < 0 {
		return nil
	}
	fip := todo.Steps[i].(plan.CreateFloatingIP).FloatingIP
	_, askedBy := in.Settings.AskedFloatingIP()
	return c.lookup.FloatingAddress(ctx, fip.NetworkID, fip.Address, askedBy)
}

// certificates checks that the certificates of a plan exist before the first step: otherwise
// Octavia would refuse a listener in the middle of the plan, or put one into ERROR.
func (c *checks) certificates(ctx context.Context, in Inputs, todo plan.Plan) error {
	if in.Settings.Listeners.ExternalStore {
		return nil
	}
	set, kept := todo.Certificates()
	askedBy := in.Settings.Origins().Of(annotation.TLSContainer).Name
	if err := lookup.Certificates(ctx, c.barbican, set, askedBy); err != nil {
		return err
	}
	return lookup.CertificatesInUse(ctx, c.barbican, kept, askedBy)
}
