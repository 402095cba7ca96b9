package goal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Services returns the Services of a namespace, "" for all, nil if they are not known yet.
type Services func(ctx context.Context, namespace string) ([]*v1.Service, error)

const (
	// sharePoll is the interval between two looks at the Service that creates a shared load balancer.
	sharePoll = time.Second
	// sharePatience is how long a round waits for its turn and for that Service until an event names it.
	sharePatience = 2 * time.Minute
)

// errShareChanged is returned if a Service that waits for a shared load balancer does not want it
// any more: its next round has the new state.
var errShareChanged = errors.New("the Service has changed while it waited for the load balancer that it shares")

// WaitsError is the result of a rehearsal of a Service that would wait for the load balancer that is
// created for another Service of its share.
type WaitsError struct{ Share, Creator string }

// Error implements error.
func (e *WaitsError) Error() string {
	return fmt.Sprintf("the load balancer of share %q is created for Service %s first", e.Share, e.Creator)
}

// sharers finds the load balancers of Services that share one by name. Every Service of a share
// decides for itself, by the same rules and from the same knowledge.
type sharers struct {
	services Services
	settings *settings.Parser
	memory   Memory
	events   *events.Recorder
	clock    clock.WithDelayedExecution
	// rehearsed is set if nothing is created: a Service cannot wait for the load balancer of another.
	rehearsed bool
}

// join sets in the settings of a Service that shares a load balancer by name the ID of that load
// balancer, "" if the Service shall have its own: then the others wait for it. Gone are load
// balancers that do not exist any more.
func (s *sharers) join(ctx context.Context, svc *v1.Service, into *settings.Settings, gone []string) error {
	share := into.LoadBalancer.Share
	if share == "" {
		return nil
	}
	for {
		others, err := s.others(ctx, svc)
		if err != nil {
			return err
		}
		if others != nil {
			all := s.of(share, svc, others)
			into.LoadBalancer.ID = sharing.PlaceOf(all, gone)
			creator := s.creator(svc.Namespace, share, all)
			if into.LoadBalancer.ID != "" || creator.UID == svc.UID {
				s.events.Warn(ObjectOf(svc), events.ShareWaits(""))
				return nil
			}
			if err := s.mayWait(ctx, svc, &WaitsError{share, svc.Namespace + "/" + creator.Name}, others); err != nil {
				return err
			}
		}
		if err := async.Sleep(ctx, s.clock, telemetry.Queue, "share", sharePoll); err != nil {
			return err
		}
	}
}

// leaving returns the load balancer on which a Service that is removed may have parts: its last one,
// else that of the share, which it may have begun to join; "" for none.
func (s *sharers) leaving(ctx context.Context, svc *v1.Service, share string, previous []string) (loadBalancerID string, err error) {
	place, _ := s.memory.placeOf(svc)
	if id := cmp.Or(append(slices.Clip(previous), place)...); id != "" {
		return id, nil
	}
	others, err := s.others(ctx, svc)
	if err != nil {
		return "", err
	}
	return sharing.PlaceOf(s.of(share, svc, others), nil), nil
}

// creator returns the Service for which the load balancer of a share is created.
func (s *sharers) creator(namespace, share string, all []sharing.Sharer) sharing.Sharer {
	uid := s.memory.Store.Creators.Of(state.Share{Namespace: namespace, Name: share}, sharing.Creators(all))
	at := slices.IndexFunc(all, func(one sharing.Sharer) bool { return one.UID == uid })
	if at < 0 {
		return sharing.Sharer{}
	}
	return all[at]
}

// mayWait returns an error if a Service cannot wait for the creator. An event names the creator if
// that takes long.
func (s *sharers) mayWait(ctx context.Context, svc *v1.Service, why *WaitsError, others []*v1.Service) error {
	if s.rehearsed {
		return why
	}
	at := slices.IndexFunc(others, func(other *v1.Service) bool { return other.UID == svc.UID })
	if s.services != nil && (at < 0 || !s.takesPart(others[at], why.Share)) {
		return errShareChanged
	}
	if _, watch := telemetry.Measure(ctx, s.clock); watch.Times()[telemetry.Queue] >= sharePatience {
		s.events.Warn(ObjectOf(svc), events.ShareWaits(why.Error()))
	}
	return nil
}

// others returns the Services of the Service's namespace, nil if they are not known yet.
func (s *sharers) others(ctx context.Context, svc *v1.Service) ([]*v1.Service, error) {
	if s.services == nil {
		return []*v1.Service{}, nil
	}
	all, err := s.services(ctx, svc.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read the Services that may share the load balancer: %w", err)
	}
	return all, nil
}

// of returns the Services of a share: of the others, and the Service itself as it is in this round.
func (s *sharers) of(share string, svc *v1.Service, others []*v1.Service) []sharing.Sharer {
	itself := s.sharer(svc, share, true)
	itself.MayCreate = true // a Service that is not managed is only rehearsed
	all := []sharing.Sharer{itself}
	for _, other := range others {
		if other.UID != svc.UID && s.takesPart(other, share) {
			all = append(all, s.sharer(other, share, s.memory.Store.Get(other.UID).Refusal == state.Refusal{}))
		}
	}
	return all
}

// takesPart reports whether a Service wants the load balancer of a share.
func (s *sharers) takesPart(svc *v1.Service, share string) bool {
	return svc.DeletionTimestamp == nil && cluster.IsOurs(svc) && s.settings.Share(svc) == share
}

// sharer returns a Service as part of a share.
func (s *sharers) sharer(svc *v1.Service, share string, accepted bool) sharing.Sharer {
	place, under := s.memory.placeOf(svc)
	if under != "" && under != share {
		place = "" // it leaves that one
	}
	return sharing.Sharer{
		UID: svc.UID, Name: svc.Name, Created: svc.CreationTimestamp.Time,
		Place: place, Settled: under == share,
		Served: len(svc.Status.LoadBalancer.Ingress) > 0, MayCreate: accepted && s.settings.Manages(svc),
	}
}

// placeOf returns the load balancer that a Service is known to have, and the name by which it
// shares it; "" for none.
func (m Memory) placeOf(svc *v1.Service) (loadBalancerID, share string) {
	entry := m.Store.Get(svc.UID)
	if known := cmp.Or(entry.Applied, entry.Drift.Before); known != nil {
		return known.LoadBalancer.ID, known.LoadBalancer.Share
	}
	if id, share := annotation.WrittenPlace(svc); id != "" {
		return id, share
	}
	named := strings.TrimSpace(svc.Annotations[annotation.LoadBalancerID])
	if annotation.IsCopied(svc.Annotations, named, svc.UID) {
		named = ""
	}
	return cmp.Or(entry.Made.LoadBalancerID, m.RecordedOn(svc.UID), named), ""
}
