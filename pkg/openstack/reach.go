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
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// reading is one cheap read that shows whether a service can be used.
type reading struct {
	name string
	do   func(context.Context, *auth.Session) error
}

// readings returns one for each service that the session is used for, in each of its regions.
func (s *Session) readings() []reading {
	all := []reading{
		{request.Nova, func(ctx context.Context, s *auth.Session) error { return nova.New(s).First(ctx) }},
		{request.Neutron, func(ctx context.Context, s *auth.Session) error { return seesPorts(ctx, neutron.New(s)) }},
		{request.Octavia, func(ctx context.Context, s *auth.Session) error { return octavia.New(s).First(ctx, "loadbalancers") }},
		{request.Barbican, answers},
	}
	all = slices.DeleteFunc(all, func(r reading) bool { return slices.Contains(s.unused, r.name) })
	for _, region := range s.regions {
		all = append(all,
			reading{request.Nova + " in region " + region, func(ctx context.Context, s *auth.Session) error {
				return nova.New(s.InRegion(region)).First(ctx)
			}},
			reading{request.Neutron + " in region " + region, func(ctx context.Context, s *auth.Session) error {
				return seesPorts(ctx, neutron.New(s.InRegion(region)))
			}},
		)
	}
	return all
}

// errNoPorts is the error where no port is seen: what the policy forbids to read, Neutron leaves
// out of lists.
var errNoPorts = errors.New("list ports: there is none that this user may read")

// seesPorts reads one port.
func seesPorts(ctx context.Context, client *neutron.Client) error {
	seen, err := client.Sees(ctx, "ports")
	if err == nil && !seen {
		err = errNoPorts
	}
	return err
}

// answers asks the key manager for its versions. Any answer of it will do: each secret has
// permissions of its own, so that a list says nothing of them.
func answers(ctx context.Context, s *auth.Session) error {
	client, err := s.KeyManager(ctx)
	if err != nil {
		return err
	}
	_, err = client.Get(ctx, client.Endpoint, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}})
	if status := apierror.StatusCode(err); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return nil
	}
	return apierror.Wrap(err, "read the versions of "+request.Barbican)
}

// losesNothing returns an error when a service that can be used over the session cannot be used
// over a trial of other credentials or connections. It costs one read for each service, and one
// more for each that the trial cannot use.
func (s *Session) losesNothing(ctx context.Context, trial *auth.Session) error {
	for _, r := range s.readings() {
		lost := r.do(ctx, trial)
		if lost == nil || r.do(ctx, s.Settled()) != nil {
			continue
		}
		return fmt.Errorf("%s could not be used any more: %w", r.name, lost)
	}
	return nil
}
