package securitygroup

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// sharedGroup is the group of the cluster. Rounds that add to it hold it together; a round that
// creates or deletes it holds it exclusively.
type sharedGroup struct {
	neutron Neutron
	facts   Facts
	clock   clock.PassiveClock

	// held is held during requests, so that a wait must end with its context.
	held *semaphore.Weighted

	mu sync.Mutex
	// known is set after the group was read; id is empty if there is no group.
	known bool
	id    string
	remnants
	// ports are the ports that use it, sorted.
	ports []string
	// rules are those of each Service, by description, as last read.
	rules map[string][]Held
	read  time.Time
}

// remnants are left by a creation of the shared group that was interrupted, or got no answer.
type remnants struct {
	// untagged is set if the group lacks its tags.
	untagged bool
	// stray are the default rules of the creation that must be deleted.
	stray []Held
	// duplicates are further groups of the name.
	duplicates []string
}

func (r remnants) none() bool { return !r.untagged && len(r.stray)+len(r.duplicates) == 0 }

// The shares of the semaphore that a round holds: together with others, or alone.
const (
	together int64 = 1
	alone    int64 = 1 << 30
)

func newSharedGroup(neutronAPI Neutron, facts Facts, clk clock.PassiveClock) *sharedGroup {
	return &sharedGroup{neutron: neutronAPI, facts: facts, clock: clk, held: semaphore.NewWeighted(alone)}
}

// find reads the group, once: one request for its rules of all Services, and another
// for its ports.
func (s *sharedGroup) find(ctx context.Context, id ownership.Identity) error {
	group := id.SharedGroup()
	if s.found() || group.Name == "" {
		return nil // without waiting for its holders
	}
	release, err := s.hold(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	if s.found() {
		return nil
	}
	now := s.clock.Now()
	found, err := s.neutron.SecurityGroupsNamed(ctx, group.Name)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(o neutron.SecurityGroup) bool { return !group.Is(o.Name, o.Tags) })
	slices.SortFunc(found, func(a, b neutron.SecurityGroup) int { // the one in use comes first
		return cmp.Or(cmp.Compare(serviceRules(b), serviceRules(a)), cmp.Compare(a.ID, b.ID))
	})
	if len(found) == 0 {
		s.set("", nil)
		return nil
	}
	using, err := portsUsing(ctx, s.neutron, s.facts, found[0].ID)
	if err != nil {
		return err
	}
	s.set(found[0].ID, using)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untagged = len(found[0].Tags) == 0
	for _, second := range found[1:] {
		s.duplicates = append(s.duplicates, second.ID)
	}
	s.rules, s.read = map[string][]Held{}, now
	for _, r := range found[0].Rules {
		h := held(r)
		h.Common = ownership.IsCommonRule(r.Description)
		if h.Common || ownership.IsServiceRule(r.Description) {
			s.rules[r.Description] = append(s.rules[r.Description], h)
		} else if r.Direction == "egress" {
			s.stray = append(s.stray, h)
		}
	}
	return nil
}

// hold waits until a share of the group is free. The error is the context's.
func (s *sharedGroup) hold(ctx context.Context, share int64) (release func(), err error) {
	defer telemetry.In(ctx, telemetry.Queue)()
	if err := s.held.Acquire(ctx, share); err != nil {
		return nil, err
	}
	return func() { s.held.Release(share) }, nil
}

// found reports whether the group was read, so that it is known whether it exists.
func (s *sharedGroup) found() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// ready reports whether there is a group without remnants to delete.
func (s *sharedGroup) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known && s.id != "" && s.none()
}

// snapshot returns the ID and the ports.
func (s *sharedGroup) snapshot() (id string, ports []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, slices.Clone(s.ports)
}

// set records the group, or, with an empty ID, that there is none.
func (s *sharedGroup) set(id string, ports []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(ports)
	s.known, s.id, s.ports, s.remnants, s.rules = true, id, ports, remnants{}, nil
}

// unset makes the next call read the group again.
func (s *sharedGroup) unset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.rules = false, nil
}

func (s *sharedGroup) is(groupID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known && s.id == groupID
}

func (s *sharedGroup) has(groupID, portID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, uses := slices.BinarySearch(s.ports, portID)
	return s.known && s.id == groupID && uses
}

// use records that a port uses a group, or no longer does, if that is the shared one.
func (s *sharedGroup) use(groupID, portID string, member bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known && s.id == groupID {
		s.ports = with(s.ports, portID, member)
	}
}

// leave records that a port is about to lose the group, if that is the shared one. It returns
// false, and the port keeps the group, if current returns false. A Service with later nodes reads
// the ports after these exist, and so adds the group again if the port is one of theirs.
func (s *sharedGroup) leave(groupID, portID string, current func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current != nil && !current() {
		return false
	}
	if s.known && s.id == groupID {
		s.ports = with(s.ports, portID, false)
	}
	return true
}

// with adds an ID to a sorted list, or removes it. It returns a new list.
func with(sorted []string, id string, member bool) []string {
	at, there := slices.BinarySearch(sorted, id)
	switch {
	case there == member:
		return sorted
	case member:
		return slices.Insert(slices.Clone(sorted), at, id)
	default:
		return slices.Delete(slices.Clone(sorted), at, at+1)
	}
}

// take returns the recently read rules of a Service. It returns them once, because they may change
// afterwards.
func (s *sharedGroup) take(description string) ([]Held, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil || s.clock.Since(s.read) > snapshotAge {
		s.rules = nil
		return nil, false
	}
	own, there := s.rules[description]
	delete(s.rules, description)
	return slices.Concat(own, s.rules[ownership.CommonRuleDescription]), there
}

// leftInShared reports whether the shared group has rules of the Service, or still exists without
// any Service.
func leftInShared(ctx context.Context, neutronAPI Neutron, groupID string, id ownership.Identity) (bool, error) {
	own, err := neutronAPI.SecurityGroupRules(ctx, groupID, id.RuleDescription())
	if err != nil || len(own) > 0 {
		return err == nil, err
	}
	used, err := inUse(ctx, neutronAPI, groupID)
	return err == nil && !used, err
}

// inUse reports whether the shared group has rules of any Service or of another client. Common
// rules are few.
func inUse(ctx context.Context, neutronAPI Neutron, groupID string) (bool, error) {
	const most = 50
	rules, err := neutronAPI.SomeSecurityGroupRules(ctx, groupID, most)
	return len(rules) >= most || slices.ContainsFunc(rules, func(r neutron.SecurityGroupRule) bool {
		return !ownership.IsCommonRule(r.Description)
	}), err
}

// serviceRules returns the number of rules of Services in a group.
func serviceRules(group neutron.SecurityGroup) int {
	n := 0
	for _, r := range group.Rules {
		if ownership.IsServiceRule(r.Description) {
			n++
		}
	}
	return n
}
