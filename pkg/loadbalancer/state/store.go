// Package state holds what is known per Service: one Store with one Entry for each
// Service UID.
//
// An Entry holds what was applied last (Applied), what another client has changed since
// (Drift), the Service that was accepted last, why it is refused (Refusal), what this
// process has made for it (Made), its security groups, and which warnings it was sent.
// An Entry without content does not exist, so the Store holds no more than there are
// Services; Forget drops the Entry of a Service that is gone.
//
// What is counted over all Services, as for max-services-per-namespace and for the
// metric of refused Services, is derived from the entries under the same mutex.
//
// Two things outlive an Entry. Floating IPs that were left in the project for the next
// Service of a name are kept by that name. What is recorded of a Service (Fingerprint) is
// for the next process; package records keeps it.
//
// Not here is what is not known per Service: which requests a driver of Octavia refuses,
// and, of package securitygroup, the group that a cluster shares, the ports that use it,
// and lists of the groups of the whole project.
package state

import (
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

// Store holds an Entry for each Service of which something is known. Its methods may be
// called from many goroutines. Whoever serves a Service owns its Entry; all others use the
// methods that compare first.
type Store struct {
	clock clock.PassiveClock
	// started is when this process began.
	started time.Time
	// refusals is called with the new number of Services that are refused for a reason;
	// nil: nobody asks.
	refusals func(reason string, services int)

	mu      sync.Mutex
	entries map[types.UID]*Entry
	// on holds the Services on each load balancer, by what was applied last.
	on map[string]map[types.UID]*Entry
	// unpersisted are the entries with what can be persisted and is not: see Unpersisted.
	unpersisted map[types.UID]*Entry
	// inNamespace and refused count entries, by Entry.Namespace and Refusal.Reason.
	inNamespace, refused map[string]int
	// partsShort is until when a quota of parts counts as used up: see PartsShort.
	partsShort time.Time
	// retained holds when floating IPs were left in the project, by ID, for the next
	// Service of a name.
	retained map[types.NamespacedName]map[string]time.Time
}

// New returns an empty Store. Refusals is called whenever the number of Services that are
// refused for a reason changes; nil: nobody asks. It is called by one goroutine at a time,
// must not block and must not use the Store.
func New(clk clock.PassiveClock, refusals func(reason string, services int)) *Store {
	return &Store{
		clock: clk, started: clk.Now(), refusals: refusals,
		entries: map[types.UID]*Entry{}, on: map[string]map[types.UID]*Entry{}, unpersisted: map[types.UID]*Entry{},
		inNamespace: map[string]int{}, refused: map[string]int{}, retained: map[types.NamespacedName]map[string]time.Time{},
	}
}

// Get returns what is known of a Service; the zero Entry where that is nothing. What it
// points to must not be changed.
func (s *Store) Get(uid types.UID) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[uid]; e != nil {
		return *e
	}
	return Entry{}
}

// Len returns the number of Services of which something is known.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Advance records the Service as the newest state that was served. It reports false,
// and records nothing, when a newer one has been served.
func (s *Store) Advance(svc *v1.Service) bool {
	advanced := true
	s.update(svc.UID, func(e *Entry) {
		order, err := resourceversion.CompareResourceVersion(svc.ResourceVersion, e.Served)
		if advanced = err != nil || order >= 0; advanced {
			e.Served = svc.ResourceVersion
			if e.Unsettled.Since.IsZero() || e.Unsettled.Deleting {
				e.Unsettled = Unsettled{Since: s.clock.Now()}
			}
		}
	})
	return advanced
}

// Accept records that everything the Service asks for is done: it is not refused, and no
// drift is left.
func (s *Store) Accept(svc *v1.Service) {
	s.update(svc.UID, func(e *Entry) {
		if e.Accepted == nil || svc.ResourceVersion == "" || e.Accepted.ResourceVersion != svc.ResourceVersion {
			e.Accepted = requested(svc)
		}
		e.Drift, e.Refusal, e.Trouble, e.Unsettled, e.announced = Drift{}, Refusal{}, Trouble{}, Unsettled{}, nil
	})
}

// requested returns what the Service asks for, and who it is.
func requested(svc *v1.Service) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
			CreationTimestamp: svc.CreationTimestamp, Annotations: svc.Annotations, Finalizers: svc.Finalizers,
		},
		Spec: svc.Spec,
	}
}

// Refuse records why a Service is refused, and whether that is reported to the service
// controller, which then calls again until the Service is not refused any more. It
// reports whether a refusal of the Service was reported since it was accepted last.
func (s *Store) Refuse(uid types.UID, reason string, reported bool) (wasReported bool) {
	s.update(uid, func(e *Entry) {
		e.Refusal = Refusal{Reason: reason, Reported: e.Refusal.Reported || reported}
		wasReported = e.Refusal.Reported
	})
	return wasReported
}

// StartDeletion drops what nothing may rely on once a Service is being deleted: what was
// applied, its drift, the Service as it was accepted and served, its refusal and its
// warnings. Since when it is being deleted stays: see MarkDeleting.
func (s *Store) StartDeletion(uid types.UID) {
	s.update(uid, func(e *Entry) {
		unsettled := e.Unsettled
		if !unsettled.Deleting {
			unsettled = Unsettled{}
		}
		*e = Entry{Namespace: e.Namespace, Made: e.Made, SecurityGroups: e.SecurityGroups, Unsettled: unsettled}
	})
}

// Forget drops the Entry of a Service of which nothing is left in the cloud. What stays is
// a creation that can still come true and, as long as the Service is not being deleted,
// that it was touched: both are about what the cloud may show later.
func (s *Store) Forget(svc *v1.Service) {
	now := s.clock.Now()
	s.update(svc.UID, func(e *Entry) {
		stays := Made{Touched: e.Made.Touched && svc.DeletionTimestamp == nil}
		if !e.Made.Creation.over(now) {
			stays.Creation = e.Made.Creation
		}
		*e = Entry{Made: stays}
	})
}

// DropAllBut drops what is left of Services that are not among the live ones but that they were touched:
// of one that had become another type nobody says when it is gone.
func (s *Store) DropAllBut(live map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// AllSecurityGroups returns what is known of the security groups of each Service that has
// any.
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

// UpdateSecurityGroups changes what is known of the security groups of a Service. Change
// must not use the Store.
func (s *Store) UpdateSecurityGroups(uid types.UID, change func(*securitygroup.Entry)) {
	s.update(uid, func(e *Entry) { change(&e.SecurityGroups) })
}

// update changes the entry of a Service, and everything that is counted over entries.
func (s *Store) update(uid types.UID, change func(*Entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateLocked(uid, change)
}

// updateLocked is update for who holds the mutex.
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

// move keeps the index of who is on which load balancer: the entry was on this one.
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

// listUnpersisted keeps the list of entries with what can be persisted and is not.
func (s *Store) listUnpersisted(uid types.UID, e *Entry) {
	if e.Applied.unpersisted() {
		s.unpersisted[uid] = e
	} else {
		delete(s.unpersisted, uid)
	}
}

// recount moves one from a key to another, "" for none, and returns the keys whose counts
// have changed.
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

// empty reports whether nothing is known.
func (e *Entry) empty() bool { return reflect.ValueOf(e).Elem().IsZero() }
