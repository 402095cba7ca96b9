package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// NotOursError reports that the load balancer named by the Service can be neither its own nor
// shared, or that ownership of the one at its address is not proven. The load balancer is not
// changed.
type NotOursError struct {
	// ID is empty if the Service does not name it.
	ID, Why string
}

// Error implements error.
func (e *NotOursError) Error() string {
	if e.ID == "" {
		return "the load balancer at the Service's address may be its own or another cluster's: " + e.Why
	}
	return fmt.Sprintf("load balancer %s is not this Service's: %s", e.ID, e.Why)
}

// IsNotOurs reports whether an error is a *NotOursError.
func IsNotOurs(err error) bool {
	var notOurs *NotOursError
	return errors.As(err, &notOurs)
}

// Hints are the Service's statements about its load balancer.
type Hints struct {
	// LoadBalancerID is the annotation of that name.
	LoadBalancerID string
	// Recorded is the one that the controller has recorded in the Service's annotations.
	Recorded string
	// Addresses are the published ones. Only the controller writes them, so that they are a proof;
	// see adopt.
	Addresses []string
	// NamedAddresses are from published host names. They prove nothing, because any client that can
	// write the Service can choose them.
	NamedAddresses []string
	// Place returns the place of the cluster's load balancers; nil if it is unknown.
	Place func(context.Context) (ownership.Place, error)
	// Remembered is the load balancer that this process has created for the Service, or has found
	// to be its own.
	Remembered string
	// ServedOn is the load balancer of another owner at which this process has found the Service's
	// address. Its owner may have changed the address since.
	ServedOn string
	// Written is the one in the Service's record. Other clients may have written it: it only shows
	// where to search.
	Written string
	// Before are load balancers that the Service may have used.
	Before []string
}

// Found are the load balancers of a Service.
type Found struct {
	// LoadBalancers are its own, or the shared one. The first one serves the Service; see
	// ownership.Choose.
	LoadBalancers []octavia.LoadBalancer
	// Replaces reports that the first is to replace the second.
	Replaces bool
	// As is the Service's identity there: their contents are read with it.
	As ownership.Identity
	// floatingIPs are those on each, if there are several.
	floatingIPs map[string][]floatingips.FloatingIP
}

// Find searches for the load balancers of a Service. A load balancer is the Service's own if:
//
//	its tags hold our Service's UID, and no other cluster's           found by one list request
//	the Service's annotation names it, and its name is the Service's  adopted from cloud-provider-openstack
//	this process has found it to be the Service's                     adopted, read by its ID
//	its address is published in the Service's status, and its name    adopted from cloud-provider-openstack;
//	is the Service's, with this or another --cluster-name             two list requests; see adopt
//
// Any other is another owner's, regardless of its name: another cluster of the same name has load
// balancers of the same names. If the Service's annotation names such a load balancer, the Service
// shares it, as Found.As shows.
//
// It returns a *NotOursError if the Service must not have the named one, or ownership is unclear.
func (o *Observer) Find(ctx context.Context, id ownership.Identity, hints Hints) (Found, error) {
	s := search{o, id, hints}
	found, err := s.find(ctx)
	if err != nil || len(found.LoadBalancers) < 2 {
		return found, err
	}
	return s.choose(ctx, found)
}

// search is a search for the load balancers of a Service.
type search struct {
	*Observer

	id    ownership.Identity
	hints Hints
}

// find is Find without a choice among several.
func (s search) find(ctx context.Context) (Found, error) {
	ours, remembered, err := s.ours(ctx)
	if err != nil {
		return Found{}, err
	}
	s.hints.Addresses = others(s.hints.Addresses, ours)
	if s.hints.LoadBalancerID != "" && !holds(ours, s.hints.LoadBalancerID) {
		named, err := s.named(ctx)
		if len(named.LoadBalancers) > 0 && !named.As.Sharing.Is {
			named.LoadBalancers = append(named.LoadBalancers, replacing(ours, s.hints.LoadBalancerID)...)
		}
		if len(named.LoadBalancers) > 0 || err != nil {
			return named, err
		}
	}
	if len(ours) > 0 {
		return s.withReplaced(ctx, ours)
	}
	if remembered != nil {
		return Found{LoadBalancers: []octavia.LoadBalancer{*remembered}, As: adopted(s.id, *remembered)}, nil
	}
	return s.adopt(ctx)
}

func holds(all []octavia.LoadBalancer, id string) bool {
	return slices.ContainsFunc(all, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
}

// replacing returns those that were created to replace a given one.
func replacing(all []octavia.LoadBalancer, id string) []octavia.LoadBalancer {
	return slices.DeleteFunc(slices.Clone(all), func(lb octavia.LoadBalancer) bool {
		replaced, _ := ownership.Replaces(lb.Tags)
		return replaced != id
	})
}

// withReplaced adds the existing load balancers that ours were created to replace: one of
// cloud-provider-openstack is not found by our tags. Ours prove that it was the Service's.
func (s search) withReplaced(ctx context.Context, ours []octavia.LoadBalancer) (Found, error) {
	found := Found{LoadBalancers: ours, As: s.id}
	for _, lb := range ours {
		replaced, _ := ownership.Replaces(lb.Tags)
		if replaced == "" || holds(found.LoadBalancers, replaced) {
			continue
		}
		old, err := s.known(ctx, replaced)
		if isGone(err) {
			continue
		}
		if err != nil {
			return Found{}, err
		}
		if s.id.Claim(old.Tags, old.Description) == ownership.Theirs {
			continue
		}
		if !slices.Contains(s.id.Names(), old.Name) {
			found.As.Former = old.Name
		}
		found.LoadBalancers = append(found.LoadBalancers, *old)
	}
	return found, nil
}

// known reads a load balancer that has existed. It is only gone after two such answers: an API
// server may lag behind, and a Service without load balancer gets another one, or leaves its
// objects behind. It returns a *NotOursError if the load balancer is in another project.
func (s search) known(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	lb, err := s.Octavia.LoadBalancer(ctx, id)
	if apierror.IsNotFound(err) {
		lb, err = s.Octavia.LoadBalancer(ctx, id)
	}
	if apierror.IsForbidden(err) {
		return nil, s.forbidden(ctx, id, err)
	}
	return lb, err
}

// forbidden returns the reason why a load balancer may not be read. Octavia answers 403 for one of
// another project, and for each if the credentials lack a role. If the list of our project works,
// but lacks the load balancer, it is in another project. This proves no move of the cluster if
// credentials of another project would be unnoticed.
func (s search) forbidden(ctx context.Context, id string, refused error) error {
	if s.ScopeRecorded != nil && !s.ScopeRecorded() {
		return refused
	}
	listed, err := s.Octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{ID: id})
	if err != nil || holds(listed, id) {
		return refused
	}
	return &NotOursError{ID: id, Why: "it is in another project; a Service gets a load balancer of its own without the annotation"}
}

// isGone reports whether an error of known shows that our project has no such load balancer.
func isGone(err error) bool { return apierror.IsNotFound(err) || IsNotOurs(err) }

// named reads the load balancer that the Service's annotation names. A missing one is no error: the
// Service gets another. Neither is one of another project that the controller has recorded: the
// cluster has moved since.
func (s search) named(ctx context.Context) (Found, error) {
	lb, err := s.known(ctx, s.hints.LoadBalancerID)
	switch {
	case apierror.IsNotFound(err), IsNotOurs(err) && s.hints.LoadBalancerID == s.hints.Recorded:
		return Found{As: s.id}, nil
	case err != nil:
		return Found{}, err
	}
	as, err := s.relate(ctx, *lb, proof{named: true, known: lb.ID == s.hints.Remembered})
	if err != nil {
		return Found{}, err
	}
	return Found{LoadBalancers: []octavia.LoadBalancer{*lb}, As: as}, nil
}

// proof is the evidence, other than its address, that a load balancer without UID is a Service's.
type proof struct {
	// named is set if the Service's annotation names it.
	named bool
	// known is set if this process has found it to be the Service's, or if it holds a listener with
	// the Service's UID.
	known bool
}

// relate returns the Service's identity on a load balancer.
//
//	UID        name                             the load balancer is
//	ours       any                              its own
//	another's  any                              shared
//	none       the Service's                    its own if it is named or known, or has the published address, else refused
//	none       the Service's, another cluster   its own if it is known, or has the published address, else refused
//	none       any other                        shared
func (s search) relate(ctx context.Context, lb octavia.LoadBalancer, p proof) (ownership.Identity, error) {
	id := s.id
	named, unclaimed := slices.Contains(id.Names(), lb.Name), adoptable(id, lb)
	if id.Claim(lb.Tags, lb.Description) == ownership.Ours || unclaimed && (p.known || p.named && named) {
		return adopted(id, lb), nil
	}
	served, err := s.hasAddress(ctx, lb)
	switch {
	case err != nil:
		return id, err
	case unclaimed && served:
		return adopted(id, lb), nil
	case unclaimed && named:
		return id, &NotOursError{lb.ID, "nothing proves it; " + nameIt}
	case unclaimed:
		return id, &NotOursError{lb.ID, "it was created for a Service of the same name in a cluster of another name"}
	case id.Untagged:
		return id, &NotOursError{lb.ID, "it was not created for it, and can be shared only where load balancers have tags (Octavia 4.0)"}
	}
	served = served || lb.ID == s.hints.ServedOn
	owner := ownership.OwnerOf(lb.Name, lb.Description, lb.Tags)
	id.Sharing = ownership.Sharing{Is: true, Served: served, Owner: owner, Removable: owner.InClusterOf(id)}
	return id, nil
}

// adopted returns the Service's identity on a load balancer of its own.
func adopted(id ownership.Identity, lb octavia.LoadBalancer) ownership.Identity {
	if id.Claim(lb.Tags, lb.Description) == ownership.Unclaimed && !slices.Contains(id.Names(), lb.Name) {
		id.Former = lb.Name
	}
	return id
}

// Claimed lists the load balancers with our identity. Without tags it is in the description,
// together with the name of the cluster: if that has changed, all load balancers are searched.
func (o *Observer) Claimed(ctx context.Context, id ownership.Identity) ([]octavia.LoadBalancer, error) {
	filters := []octavia.LoadBalancerFilter{{Tags: []string{id.ServiceTag()}}}
	if id.Untagged {
		filters = []octavia.LoadBalancerFilter{{Description: id.Description()}, {All: true}}
	}
	for _, filter := range filters {
		found, err := o.Octavia.LoadBalancers(ctx, filter)
		if err != nil {
			return nil, err
		}
		ours := slices.DeleteFunc(found, func(lb octavia.LoadBalancer) bool { return id.Claim(lb.Tags, lb.Description) != ownership.Ours })
		if len(ours) > 0 {
			return ours, nil
		}
	}
	return nil, nil
}

// ours lists the load balancers with our identity. The list may come from a replica that lags
// behind, so that the remembered one is read by its ID. It is returned separately if it was adopted
// and thus has no identity.
func (s search) ours(ctx context.Context) (ours []octavia.LoadBalancer, remembered *octavia.LoadBalancer, err error) {
	hints := s.hints
	ours, err = s.Claimed(ctx, s.id)
	if err != nil || hints.Remembered == "" || hints.Remembered == hints.LoadBalancerID || holds(ours, hints.Remembered) {
		return ours, nil, err
	}
	lb, err := s.known(ctx, hints.Remembered)
	switch {
	case isGone(err):
		return ours, nil, nil
	case err != nil:
		return nil, nil, err
	case s.id.Claim(lb.Tags, lb.Description) == ownership.Ours:
		return append(ours, *lb), nil, nil
	case adoptable(s.id, *lb):
		return ours, lb, nil
	default:
		return ours, nil, nil
	}
}

// adoptable reports whether a load balancer has no UID, but a name that is possible for the
// Service, and for other clusters' Services.
func adoptable(id ownership.Identity, lb octavia.LoadBalancer) bool {
	return id.Claim(lb.Tags, lb.Description) == ownership.Unclaimed && (slices.Contains(id.Names(), lb.Name) || id.FormerlyOurs(lb.Name))
}
