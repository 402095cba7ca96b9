package state

import (
	"maps"
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// Store holds an Entry for each known Service. Its methods may be called concurrently. The round of
// a Service owns its Entry; all others use the methods that compare first.
type Store struct {
	clock clock.PassiveClock
	// started is the start of this process.
	started time.Time
	// refusals is called with the new number of Services that are refused for a reason; may be nil.
	refusals func(reason string, services int)

	mu      sync.Mutex
	entries map[types.UID]*Entry
	// on holds the Services on each load balancer, by their last applied state.
	on map[string]map[types.UID]*Entry
	// unpersisted are the entries with something to persist: see Unpersisted.
	unpersisted map[types.UID]*Entry
	// inNamespace and refused count entries, by Entry.Namespace and Refusal.Reason.
	inNamespace, refused map[string]int
	// partsShort is the time until which a quota of parts counts as exhausted: see PartsShort.
	partsShort time.Time
	// retained holds the times at which floating IPs were left in the project, by ID, for the next
	// Service of a name.
	retained map[types.NamespacedName]map[string]time.Time
	// creators are the Services for which load balancers of shares are created.
	creators map[Share]types.UID
}

// New returns an empty Store. Refusals, which may be nil, is called when the number of Services
// that are refused for a reason changes, by one goroutine at a time. It must not block or use the
// Store.
func New(clk clock.PassiveClock, refusals func(reason string, services int)) *Store {
	return &Store{
		clock: clk, started: clk.Now(), refusals: refusals,
		entries: map[types.UID]*Entry{}, on: map[string]map[types.UID]*Entry{}, unpersisted: map[types.UID]*Entry{},
		inNamespace: map[string]int{}, refused: map[string]int{}, retained: map[types.NamespacedName]map[string]time.Time{}, creators: map[Share]types.UID{},
	}
}

// Get returns the knowledge of a Service, the zero Entry if there is none. The values behind its
// pointers must not be changed.
func (s *Store) Get(uid types.UID) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[uid]; e != nil {
		return *e
	}
	return Entry{}
}

// Len returns the number of known Services.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Advance records the resource version of a Service as the newest served one. It reports false, and
// records nothing, if a newer one has been served.
func (s *Store) Advance(uid types.UID, version string) bool {
	advanced := true
	s.update(uid, func(e *Entry) {
		order, err := resourceversion.CompareResourceVersion(version, e.Served)
		if advanced = err != nil || order >= 0; advanced {
			e.Served = version
			if e.Unsettled.Since.IsZero() || e.Unsettled.Deleting {
				e.Unsettled = Unsettled{Since: s.clock.Now()}
			}
		}
	})
	return advanced
}

// Accept records that the Service has its desired state: it is not refused, and no drift is left.
func (s *Store) Accept(svc *v1.Service) {
	s.update(svc.UID, func(e *Entry) {
		if e.Accepted == nil || svc.ResourceVersion == "" || e.Accepted.ResourceVersion != svc.ResourceVersion {
			e.Accepted = requested(svc)
		}
		e.Drift, e.Refusal, e.Trouble, e.Unsettled, e.announced = Drift{}, Refusal{}, Trouble{}, Unsettled{}, nil
	})
}

// requested returns the specification and identity of the Service.
func requested(svc *v1.Service) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
			CreationTimestamp: svc.CreationTimestamp, Annotations: svc.Annotations, Finalizers: svc.Finalizers,
		},
		Spec: svc.Spec,
	}
}

// Refuse records the reason of a Service's refusal, and whether it is reported to the service
// controller, which then retries until the Service is accepted. It returns whether a refusal was
// reported since the Service was last accepted.
func (s *Store) Refuse(uid types.UID, reason string, reported bool) (wasReported bool) {
	s.update(uid, func(e *Entry) {
		e.Refusal = Refusal{Reason: reason, Reported: e.Refusal.Reported || reported}
		wasReported = e.Refusal.Reported
	})
	return wasReported
}

// StartDeletion drops knowledge that is unreliable during a deletion: the applied state, its drift,
// the accepted and served Service, its refusal and its warnings. It keeps the time of MarkDeleting.
func (s *Store) StartDeletion(uid types.UID) {
	s.update(uid, func(e *Entry) {
		unsettled := e.Unsettled
		if !unsettled.Deleting {
			unsettled = Unsettled{}
		}
		*e = Entry{Namespace: e.Namespace, Access: e.Access, Made: e.Made, SecurityGroups: e.SecurityGroups, Unsettled: unsettled}
	})
}

// Forget drops the Entry of a Service without remains in the cloud. It keeps a creation that can
// still succeed and, unless the Service is being deleted, that it was touched: both concern what
// the cloud may show later.
func (s *Store) Forget(uid types.UID, deleted bool) {
	now := s.clock.Now()
	s.update(uid, func(e *Entry) {
		stays := Made{Touched: e.Made.Touched && !deleted}
		if !e.Made.Creation.over(now) {
			stays.Creation = e.Made.Creation
		}
		*e = Entry{Made: stays}
	})
}

// DropAllBut drops the remaining entries of Services that are not live, if they hold only that the
// Service was touched: the deletion of one with another type is not reported. It also drops the
// creators of shares that are not live.
func (s *Store) DropAllBut(live map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.creators, func(_ Share, uid types.UID) bool { return !live[uid] })
	for uid, e := range s.entries {
		if live[uid] {
			continue
		}
		rest := *e
		if rest.Made.Touched = false; rest.empty() {
			s.updateLocked(uid, func(e *Entry) { *e = Entry{} })
		}
	}
}

// AllSecurityGroups returns the knowledge of the security groups of each Service that has any.
func (s *Store) AllSecurityGroups() map[types.UID]securitygroup.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[types.UID]securitygroup.Entry, len(s.entries))
	for uid, e := range s.entries {
		if e.SecurityGroups != (securitygroup.Entry{}) {
			all[uid] = e.SecurityGroups
		}
	}
	return all
}

// UpdateSecurityGroups changes the knowledge of the security groups of a Service. Change must not
// use the Store.
func (s *Store) UpdateSecurityGroups(uid types.UID, change func(*securitygroup.Entry)) {
	s.update(uid, func(e *Entry) { change(&e.SecurityGroups) })
}

// update changes the entry of a Service, and the counts over entries.
func (s *Store) update(uid types.UID, change func(*Entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateLocked(uid, change)
}

// updateLocked is update for callers that hold the mutex.
func (s *Store) updateLocked(uid types.UID, change func(*Entry)) {
	e := s.entries[uid]
	if e == nil {
		e = &Entry{}
	}
	namespace, reason, lb := e.Namespace, e.Refusal.Reason, e.loadBalancerID()
	change(e)
	if e.empty() {
		delete(s.entries, uid)
	} else {
		s.entries[uid] = e
	}
	s.move(uid, e, lb)
	s.listUnpersisted(uid, e)
	recount(s.inNamespace, namespace, e.Namespace)
	for _, changed := range recount(s.refused, reason, e.Refusal.Reason) {
		if s.refusals != nil {
			s.refusals(changed, s.refused[changed])
		}
	}
}

// move updates the index by load balancer of an entry that was on this one.
func (s *Store) move(uid types.UID, e *Entry, from string) {
	to := e.loadBalancerID()
	if from != to && from != "" {
		if delete(s.on[from], uid); len(s.on[from]) == 0 {
			delete(s.on, from)
		}
	}
	if to != "" {
		if s.on[to] == nil {
			s.on[to] = make(map[types.UID]*Entry, 1)
		}
		s.on[to][uid] = e
	}
}

// listUnpersisted updates the list of entries with something to persist.
func (s *Store) listUnpersisted(uid types.UID, e *Entry) {
	if e.Applied.unpersisted() {
		s.unpersisted[uid] = e
	} else {
		delete(s.unpersisted, uid)
	}
}

// recount moves one from a key to another, "" for none, and returns the keys with changed counts.
func recount(counts map[string]int, before, after string) []string {
	if before == after {
		return nil
	}
	var changed []string
	if before != "" {
		changed = append(changed, before)
		counts[before]--
	}
	if after != "" {
		changed = append(changed, after)
		counts[after]++
	}
	for _, key := range changed {
		if counts[key] == 0 {
			delete(counts, key)
		}
	}
	return changed
}

func (e *Entry) empty() bool { return reflect.ValueOf(e).Elem().IsZero() }
