package status

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// held is a Service's load balancer in the cloud.
type held struct {
	found observe.Found
	// model is nil if it has none of the requested kind: in Octavia, or without.
	model *model.LoadBalancer
	// balancer is nil if it has none; further is the number of its others.
	balancer *LoadBalancer
	further  int
	// refused is the reason why it cannot have the requested load balancer.
	refused error
}

// service reads the status of one Service. On an error it returns the status in Kubernetes.
func (rd *round) service(ctx context.Context, svc *v1.Service) (Service, error) {
	asked, ignored, errs := rd.parser.Parse(svc)
	read := Service{Namespace: svc.Namespace, Name: svc.Name, Pods: asked.ByPods()}
	read.Local = svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && !read.Pods
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			read.Addresses = append(read.Addresses, ingress.IP)
		} else if ingress.Hostname != "" {
			read.Addresses = append(read.Addresses, ingress.Hostname)
		}
	}
	events := rd.cluster.events[svc.UID]
	read.Conditions = conditionsOf(svc, served(events))
	read.LastError, read.Warnings = lastError(events, rd.options.Clock.Now())
	have, err := rd.held(ctx, svc, asked, read.Addresses)
	if err != nil {
		return read, err
	}
	version := driver.VersionTags
	if !rd.parser.Routed(svc) {
		if version, err = rd.finder.Lookup.Version(ctx); err != nil {
			return read, err
		}
	}
	if rd.detailed {
		if err := rd.details(ctx, asked, have, &read); err != nil {
			return read, err
		}
	}
	if len(errs) == 0 {
		ignored = append(ignored, goal.Unused(rd.drivers, asked, have.found.As, version, have.model)...)
	}
	read.LoadBalancer = have.balancer
	rd.judge(&read, evidence{
		service: svc, local: read.Local, refused: rd.refusals(asked, errs, version, have), ignored: ignored, balancer: have.balancer, further: have.further, replaces: have.found.Replaces,
		unhealthy: rd.unhealthy, conditions: read.Conditions, lastError: read.LastError,
	})
	return read, nil
}

// judge sets the problems and the state of a Service.
func (rd *round) judge(read *Service, by evidence) {
	read.Problems, read.State = by.judge(), Good
	if len(read.Problems) > 0 {
		read.State = read.Problems[0].State
	}
}

// unknown sets the reason why a Service's load balancer could not be read, and that of a refusal
// from the conditions.
func (s *Service) unknown(why error) {
	s.State, s.LoadBalancer, s.SecurityGroups = Unknown, nil, nil
	s.Problems = []Problem{{State: Unknown, Text: message.Truncate(why.Error(), message.MaxError)}}
	if refused := stating(s.Conditions, reason.IsRefused); refused != nil {
		s.Problems = append(s.Problems, refused.problem(Refused))
	}
}

// held finds the load balancer that serves a Service: one of the requested kind, in Octavia or without, else, if an address is
// published, one of the other kind, which a refused Service keeps.
func (rd *round) held(ctx context.Context, svc *v1.Service, asked *settings.Settings, published []string) (held, error) {
	inOctavia := func() (held, error) { return rd.heldInOctavia(ctx, svc, asked) }
	without := func() (held, error) { return rd.heldWithoutOctavia(ctx, svc, published) }
	first, other := inOctavia, without
	if rd.isRouted(svc) {
		first, other = without, inOctavia
	}
	have, err := first()
	if err != nil || have.balancer != nil || len(published) == 0 {
		return have, err
	}
	kept, err := other()
	if auth.IsNoOctavia(err) || apierror.IsForbidden(err) {
		return have, nil // so it serves no Service of this project
	}
	have.balancer, have.further = kept.balancer, kept.further
	return have, err
}

// heldInOctavia finds a Service's load balancer in Octavia: the requested one or, if it cannot have that, the existing
// one.
func (rd *round) heldInOctavia(ctx context.Context, svc *v1.Service, asked *settings.Settings) (held, error) {
	named := settings.ParseDeletion(svc).LoadBalancerID
	have, err := rd.heldAt(ctx, svc, named)
	if err != nil {
		return have, err
	}
	if have.model != nil && have.refused == nil {
		var invalid *field.Error
		err := rd.sharing.Authorize(ctx, have.found.As, sharing.Request{Address: asked.LoadBalancerIP, Share: asked.LoadBalancer.Share}, have.model)
		if errors.As(err, &invalid) {
			have.refused = message.Invalid(field.ErrorList{invalid})
		} else if err != nil {
			return have, err
		}
	}
	if named == "" || have.refused == nil || have.model != nil && len(have.model.Listeners) > 0 {
		return have, nil
	}
	own, err := rd.heldAt(ctx, svc, "")
	own.refused = have.refused
	return own, err
}

// heldAt finds a Service's load balancer, given the one that it names.
func (rd *round) heldAt(ctx context.Context, svc *v1.Service, named string) (held, error) {
	found, err := rd.finder.Find(ctx, svc, named)
	if observe.IsNotOurs(err) {
		return held{found: found, refused: err}, nil
	}
	have := held{found: found, further: max(len(found.LoadBalancers)-1, 0)}
	if err != nil || len(found.LoadBalancers) == 0 {
		return have, err
	}
	lb, observer := found.LoadBalancers[0], rd.finder.Reader.Observer
	parts := observe.Parts{LoadBalancer: lb}
	if rd.detailed {
		parts, err = observer.Settings(ctx, found.As, lb)
	} else {
		parts.Listeners, err = observer.Octavia.Listeners(ctx, lb.ID)
	}
	if err != nil {
		return have, err
	}
	floating, err := observer.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: lb.VIPPortID})
	if err != nil {
		return have, err
	}
	have.model = parts.Model(found.As)
	for _, fip := range floating {
		have.model.FloatingIP = &model.FloatingIP{ID: fip.ID, Address: fip.FloatingIP}
	}
	have.balancer = loadBalancerOf(have.model, lb.CreatedAt.Time, floating)
	have.balancer.TakenOver = have.balancer.Adopted && rd.finder.Memory.RecordedOn(svc.UID) == lb.ID
	return have, nil
}

// refusals returns the reasons of a refusal that need no facts of the cloud: invalid values,
// missing support of the provider, and a load balancer that it must not use.
func (rd *round) refusals(asked *settings.Settings, errs field.ErrorList, version model.Version, have held) []string {
	invalid := message.Invalid(errs)
	if invalid == nil {
		invalid = goal.Validate(rd.drivers, asked, have.found.As, version, have.model)
	}
	var refused []string
	for _, err := range []error{invalid, have.refused} {
		if err != nil {
			refused = append(refused, err.Error())
		}
	}
	return refused
}

// details adds the members, the traffic and the security groups.
func (rd *round) details(ctx context.Context, asked *settings.Settings, have held, read *Service) error {
	group, ctx := errgroup.WithContext(ctx)
	var tree *octavia.StatusTree
	var weights map[string]int
	if have.balancer != nil && !driver.WithoutOctavia(have.balancer.Provider) {
		group.Go(func() (err error) {
			tree, err = rd.options.Session.Octavia().StatusTree(ctx, have.balancer.ID)
			return apierror.IgnoreNotFound(err)
		})
		group.Go(func() (err error) {
			weights, err = rd.weights(ctx, asked.Members, have.balancer.Listeners)
			return err
		})
		group.Go(func() error {
			traffic, err := rd.options.Session.Octavia().Statistics(ctx, have.balancer.ID)
			if apierror.IsForbidden(err) || apierror.IsUnsupported(err) || apierror.IsNotFound(err) {
				return nil // the user may not read them, or the provider counts nothing
			}
			if err != nil {
				return err
			}
			have.balancer.Traffic = (*Traffic)(traffic)
			return nil
		})
	}
	group.Go(func() (err error) {
		read.SecurityGroups, err = rd.securityGroups(ctx, have)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if tree != nil {
		have.balancer.fill(tree, rd.cluster.names, weights)
	}
	return nil
}

// weights returns the weights of members by ID, as far as they differ from 1. It costs one request for each pool of a
// Service that requests weights, and none for others.
func (rd *round) weights(ctx context.Context, asked settings.MemberSettings, on []Listener) (map[string]int, error) {
	found := map[string]int{}
	if !asked.Drains() {
		return found, nil
	}
	for _, l := range on {
		if l.Pool == nil {
			continue
		}
		read := rd.options.Session.Octavia().Members
		if !asked.Counts() { // the others have the weight 1
			read = func(ctx context.Context, poolID string) ([]octavia.Member, error) {
				return rd.options.Session.Octavia().MembersWith(ctx, poolID, "weight", "0")
			}
		}
		members, err := read(ctx, l.Pool.ID)
		if apierror.IgnoreNotFound(err) != nil {
			return nil, err
		}
		for _, m := range members {
			if weight := observe.Member(m).EffectiveWeight(); weight != 1 {
				found[m.ID] = weight
			}
		}
	}
	return found, nil
}
