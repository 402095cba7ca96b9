package model

import (
	"slices"
	"strings"
)

// Status is the cloud's status of an object.
type Status struct {
	Provisioning string
	Operating    string
}

// Provisioning statuses of Octavia's objects (API reference, "Provisioning Status Codes").
const (
	StatusActive        = "ACTIVE"
	StatusError         = "ERROR"
	StatusPendingCreate = "PENDING_CREATE"
	StatusPendingUpdate = "PENDING_UPDATE"
	StatusPendingDelete = "PENDING_DELETE"
	StatusDeleted       = "DELETED"
)

// ProvisioningStatuses returns Octavia's provisioning statuses, the most frequent one first.
func ProvisioningStatuses() []string {
	return []string{StatusActive, StatusError, StatusPendingCreate, StatusPendingUpdate, StatusPendingDelete, StatusDeleted}
}

// OperatingStatuses returns Octavia's operating statuses, the most frequent ones first.
func OperatingStatuses() []string {
	return []string{"ONLINE", "NO_MONITOR", "OFFLINE", "DRAINING", "DEGRADED", "ERROR"}
}

// Pending reports whether the cloud is still working on the object.
func (s Status) Pending() bool { return strings.HasPrefix(s.Provisioning, "PENDING_") }

// Leaving reports whether the cloud is deleting the object, or has just done so.
func (s Status) Leaving() bool {
	return s.Provisioning == StatusPendingDelete || s.Provisioning == StatusDeleted
}

// Failed reports whether the cloud's last work on the object failed.
func (s Status) Failed() bool { return s.Provisioning == StatusError }

// Sound reports whether the object has its last requested state. A desired object, which has no
// status, is sound.
func (s Status) Sound() bool { return s.Provisioning == "" || s.Provisioning == StatusActive }

// AnyPending reports whether the cloud is still working on one of the children.
func AnyPending(children []Child) bool {
	return slices.ContainsFunc(children, func(c Child) bool { return c.Status.Pending() })
}

// KindMember is the Kind of a Child that is a member.
const KindMember = "member"

// Child is one object of a load balancer, for messages.
type Child struct {
	Kind, Name, ID string
	Status         Status
}

// Unsound returns the children without their requested state. A load balancer can be ACTIVE while
// some of them are in ERROR (a change that failed) or still PENDING (ovn; Octavia 11.0 after a
// fully populated create). Pools that no listener uses do not count.
func (lb *LoadBalancer) Unsound() []Child {
	var found []Child
	add := func(kind, name, id string, status Status) {
		if !status.Sound() {
			found = append(found, Child{kind, name, id, status})
		}
	}
	pool := func(p *Pool) {
		add("pool", p.Name, p.ID, p.Status)
		if p.Monitor != nil {
			add("health monitor", p.Monitor.Name, p.Monitor.ID, p.Monitor.Status)
		}
		for kind := range p.Members.Kinds() {
			if kind.Status.Sound() {
				continue
			}
			for _, m := range p.Members.All() {
				add(KindMember, m.Name, m.ID, m.Status)
			}
			return
		}
	}
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		add("listener", l.Name, l.ID, l.Status)
		if l.Protocol.HasPool() {
			pool(&l.Pool)
		}
	}
	return found
}
