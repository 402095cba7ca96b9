package model

import (
	"slices"
	"strconv"
	"strings"
)

// Limits are the limits of a listener's connections. Timeouts are in milliseconds.
type Limits struct {
	ConnectionLimit      Limit // connections at a time; -1 is no limit
	TimeoutClientData    Limit
	TimeoutMemberConnect Limit
	TimeoutMemberData    Limit
	TimeoutTCPInspect    Limit
}

// Limit is a setting with the cloud operator's value unless the Service requests another. The value
// of a desired one that is not requested has no meaning.
type Limit struct {
	Value int
	Asked bool
}

// String returns the value, or "default" for the cloud's.
func (l Limit) String() string {
	if !l.Asked && l.Value == UnknownLimit {
		return "default"
	}
	return strconv.Itoa(l.Value)
}

// UnknownLimit is the value of a limit that was just reset to the cloud's.
const UnknownLimit = -2

// The names of limits in Octavia.
const (
	ConnectionLimit      = "connection_limit"
	TimeoutClientData    = "timeout_client_data"
	TimeoutMemberConnect = "timeout_member_connect"
	TimeoutMemberData    = "timeout_member_data"
	TimeoutTCPInspect    = "timeout_tcp_inspect"
)

// Named yields each limit with its name in Octavia, always in the same order.
func (l *Limits) Named(yield func(name string, limit *Limit) bool) {
	_ = yield(ConnectionLimit, &l.ConnectionLimit) &&
		yield(TimeoutClientData, &l.TimeoutClientData) &&
		yield(TimeoutMemberConnect, &l.TimeoutMemberConnect) &&
		yield(TimeoutMemberData, &l.TimeoutMemberData) &&
		yield(TimeoutTCPInspect, &l.TimeoutTCPInspect)
}

// Get returns the limit of a name, or nil.
func (l *Limits) Get(name string) *Limit {
	for known, limit := range l.Named {
		if known == name {
			return limit
		}
	}
	return nil
}

// LimitChange is a limit to change; without Asked it is reset to the operator's value.
type LimitChange struct {
	Name     string
	From, To Limit
}

// LimitChanges returns the limits that differ.
//
//	requested   actual                    differs
//	a value     the same value            no
//	a value     another one               yes
//	nothing     one that was requested    yes: it is reset to the operator's
//	nothing     any other                 no: it is the operator's
func LimitChanges(from, to Limits) []LimitChange {
	var changes []LimitChange
	for name, have := range from.Named {
		want := to.Get(name)
		if want.Asked && want.Value != have.Value || !want.Asked && have.Asked {
			to := *want
			if !to.Asked {
				to.Value = UnknownLimit
			}
			changes = append(changes, LimitChange{name, *have, to})
		}
	}
	return changes
}

// Settled returns the limits after they were sent: the cloud chooses those that were not requested.
func (l Limits) Settled() Limits {
	for _, limit := range l.Named {
		if !limit.Asked {
			limit.Value = UnknownLimit
		}
	}
	return l
}

// limitsMark is the prefix of the description of a listener with requested limits.
const limitsMark = "Set by Kubernetes: "

// Mark returns the description of a listener with limits, which records the requested ones: Octavia
// does not distinguish them from the operator's.
func (l Limits) Mark() string {
	var asked []string
	for name, limit := range l.Named {
		if limit.Asked {
			asked = append(asked, name)
		}
	}
	if len(asked) == 0 {
		return limitsMark + "nothing"
	}
	return limitsMark + strings.Join(asked, ", ")
}

// Any reports whether any limit is requested.
func (l Limits) Any() bool {
	for _, limit := range l.Named {
		if limit.Asked {
			return true
		}
	}
	return false
}

// ReadMark marks the limits in the description of a listener as requested. It reports whether the
// description lists any, or explicitly none.
func (l *Limits) ReadMark(description string) bool {
	list, marked := strings.CutPrefix(description, limitsMark)
	asked := strings.Split(list, ", ")
	for name, limit := range l.Named {
		limit.Asked = marked && slices.Contains(asked, name)
	}
	return marked
}

// stockLimits are the defaults of Octavia.
func stockLimits() Limits {
	return Limits{
		ConnectionLimit:      Limit{Value: -1},
		TimeoutClientData:    Limit{Value: 50000},
		TimeoutMemberConnect: Limit{Value: 5000},
		TimeoutMemberData:    Limit{Value: 50000},
	}
}

// AskUnlessStock marks every limit that differs from Octavia's default as requested: for listeners
// of cloud-provider-openstack, which always sends all, and these without an annotation.
func (l *Limits) AskUnlessStock() {
	stock := stockLimits()
	for name, limit := range l.Named {
		limit.Asked = limit.Value != stock.Get(name).Value
	}
}
