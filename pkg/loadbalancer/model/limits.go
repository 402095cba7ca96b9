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

// Limit is a setting that stands at what the cloud's operator chose unless the
// Service asks for something else. Of a desired one that is not asked for, the
// value means nothing.
type Limit struct {
	Value int
	Asked bool
}

// String prints the value, or that it is the cloud's.
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

// Named gives each limit by the name that Octavia has for it, in one order.
func (l *Limits) Named(yield func(name string, limit *Limit) bool) {
	_ = yield(ConnectionLimit, &l.ConnectionLimit) &&
		yield(TimeoutClientData, &l.TimeoutClientData) &&
		yield(TimeoutMemberConnect, &l.TimeoutMemberConnect) &&
		yield(TimeoutMemberData, &l.TimeoutMemberData) &&
		yield(TimeoutTCPInspect, &l.TimeoutTCPInspect)
}

// Get finds a limit by its name.
func (l *Limits) Get(name string) *Limit {
	for known, limit := range l.Named {
		if known == name {
			return limit
		}
	}
	return nil
}

// LimitChange is a limit that has to change; without Asked it goes back to what
// the cloud's operator chose.
type LimitChange struct {
	Name     string
	From, To Limit
}

// LimitChanges lists what differs.
//
//	asked for   there                     differs
//	a value     the same value            no, whoever set it
//	a value     another one               yes
//	nothing     one that was asked for    yes: it goes back to the operator's
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

// Settled gives limits as they are once they were sent: what was not asked for is
// the cloud's to choose.
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

// Mark gives the description of a listener whose limits were set, which remembers
// what was asked for: Octavia does not tell a value that was asked for from the
// operator's.
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

// Any tells whether anything is asked for.
func (l Limits) Any() bool {
	for _, limit := range l.Named {
		if limit.Asked {
			return true
		}
	}
	return false
}

// ReadMark notes what the description of a listener says was asked for. It reports
// whether it says anything about it.
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

// AskUnlessStock notes every limit as asked for that is not what Octavia starts
// with: of a listener that cloud-provider-openstack has made, which always sends
// all of them, with these for what no annotation says.
func (l *Limits) AskUnlessStock() {
	stock := stockLimits()
	for name, limit := range l.Named {
		limit.Asked = limit.Value != stock.Get(name).Value
	}
}
