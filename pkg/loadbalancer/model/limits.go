package model

import (
	"slices"
	"strconv"
	"strings"
)

// Limits are what a listener grants its connections. Timeouts are in milliseconds.
type Limits struct {
	ConnectionLimit      Limit // connections at a time; -1 is no limit
	TimeoutClientData    Limit
	TimeoutMemberConnect Limit
	TimeoutMemberData    Limit
	TimeoutTCPInspect    Limit
}

// Limit is a setting that is what the cloud's operator chose unless the Service asks for
// something else. Of a desired one that is not asked for, the value has no meaning.
type Limit struct {
	Value int
	Asked bool
}

// String returns the value, or "default" where it is the cloud's.
func (l Limit) String() string {
	if !l.Asked && l.Value == UnknownLimit {
		return "default"
	}
	return strconv.Itoa(l.Value)
}

// UnknownLimit is the value of a limit that was just left to the cloud.
const UnknownLimit = -2

// The names that Octavia has for limits.
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

// LimitChange is a limit that has to change; without Asked it is reset to what the cloud's
// operator chose.
type LimitChange struct {
	Name     string
	From, To Limit
}

// LimitChanges returns the limits that differ.
//
//	asked for   there                     differs
//	a value     the same value            no, whoever set it
//	a value     another one               yes
//	nothing     one that was asked for    yes: it is reset to the operator's
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

// Settled returns limits as they are once they were sent: the cloud chooses those that were
// not asked for.
func (l Limits) Settled() Limits {
	for _, limit := range l.Named {
		if !limit.Asked {
			limit.Value = UnknownLimit
		}
	}
	return l
}

// limitsMark begins the description of a listener on which limits were asked for.
const limitsMark = "Set by Kubernetes: "

// Mark returns the description of a listener whose limits were set, which records what was
// asked for: Octavia does not distinguish a value that was asked for from the operator's.
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

// Any reports whether any limit is asked for.
func (l Limits) Any() bool {
	for _, limit := range l.Named {
		if limit.Asked {
			return true
		}
	}
	return false
}

// ReadMark marks the limits as asked for that the description of a listener names. It
// reports whether the description names any, or none on purpose.
func (l *Limits) ReadMark(description string) bool {
	list, marked := strings.CutPrefix(description, limitsMark)
	asked := strings.Split(list, ", ")
	for name, limit := range l.Named {
		limit.Asked = marked && slices.Contains(asked, name)
	}
	return marked
}

// stockLimits are what an Octavia that nobody has configured starts with.
func stockLimits() Limits {
	return Limits{
		ConnectionLimit:      Limit{Value: -1},
		TimeoutClientData:    Limit{Value: 50000},
		TimeoutMemberConnect: Limit{Value: 5000},
		TimeoutMemberData:    Limit{Value: 50000},
	}
}

// AskUnlessStock marks every limit as asked for that is not what Octavia starts with: for
// listeners of cloud-provider-openstack, which always sends all of them, and these where no
// annotation names one.
func (l *Limits) AskUnlessStock() {
	stock := stockLimits()
	for name, limit := range l.Named {
		limit.Asked = limit.Value != stock.Get(name).Value
	}
}
