package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// reading is a cheap read that shows whether a service is usable.
type reading struct {
	name string
	do   func(context.Context, *auth.Session) error
}

// readings returns one reading for each service that the session uses, in each of its regions.
func (s *Session) readings() []reading {
	all := []reading{
		{rest.Nova, func(ctx context.Context, s *auth.Session) error { return nova.New(s).First(ctx) }},
		{rest.Neutron, func(ctx context.Context, s *auth.Session) error { return seesPorts(ctx, neutron.New(s)) }},
		{rest.Octavia, func(ctx context.Context, s *auth.Session) error { return octavia.New(s).First(ctx, "loadbalancers") }},
		{rest.Barbican, answers},
	}
	all = slices.DeleteFunc(all, func(r reading) bool { return slices.Contains(s.unused, r.name) })
	for _, region := range s.regions {
		all = append(all,
			reading{rest.Nova + " in region " + region, func(ctx context.Context, s *auth.Session) error {
				return nova.New(s.InRegion(region)).First(ctx)
			}},
			reading{rest.Neutron + " in region " + region, func(ctx context.Context, s *auth.Session) error {
				return seesPorts(ctx, neutron.New(s.InRegion(region)))
			}},
		)
	}
	return all
}

// errNoPorts is the error if no port is visible. Neutron omits from lists the objects that the
// policy hides.
var errNoPorts = errors.New("list ports: none is visible to this user")

// seesPorts reads one port.
func seesPorts(ctx context.Context, client *neutron.Client) error {
	seen, err := client.Sees(ctx, "ports")
	if err == nil && !seen {
		err = errNoPorts
	}
	return err
}

// answers reads the versions of the key manager. Any answer is sufficient: each secret has its own
// permissions, so that a list proves nothing.
func answers(ctx context.Context, s *auth.Session) error {
	client, err := s.KeyManager(ctx)
	if err != nil {
		return err
	}
	_, err = client.Get(ctx, client.Endpoint, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}})
	if status := apierror.StatusCode(err); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return nil
	}
	return apierror.Wrap(err, "read the versions of "+rest.Barbican)
}

// losesNothing returns an error if a service that is usable with the session is not usable with a
// trial of other credentials or connections. It costs one read for each service, and one more for
// each that the trial cannot use.
func (s *Session) losesNothing(ctx context.Context, trial *auth.Session) error {
	for _, r := range s.readings() {
		lost := r.do(ctx, trial)
		if lost == nil || r.do(ctx, s.Settled()) != nil {
			continue
		}
		return fmt.Errorf("%s would not be usable: %w", r.name, lost)
	}
	return nil
}
