package watcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

const updating, creating = "PENDING_UPDATE", "PENDING_CREATE"

// lists is an Octavia with load balancers in statuses, which records its requests: an ID, or "list" with its filter.
type lists struct {
	Octavia

	statuses map[string]string
	unlisted map[string]bool
	fails    map[string]error // by request
	sent     []string
}

func (l *lists) send(request string) error {
	l.sent = append(l.sent, request)
	return l.fails[request]
}

func (l *lists) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	if err := l.send(id); err != nil {
		return octavia.LoadBalancerState{}, err
	}
	status, there := l.statuses[id]
	if !there {
		return octavia.LoadBalancerState{}, refused(http.StatusNotFound)
	}
	return octavia.LoadBalancerState{ID: id, ProvisioningStatus: status}, nil
}

func (l *lists) LoadBalancerStates(_ context.Context, status string) (all []octavia.LoadBalancerState, _ error) {
	for id, is := range l.statuses {
		if !l.unlisted[id] && (status == "" || status == is) {
			all = append(all, octavia.LoadBalancerState{ID: id, ProvisioningStatus: is})
		}
	}
	return all, l.send("list " + status)
}

// refused returns an error of Octavia.
func refused(status int) error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, Actual: status, Body: []byte(`{"faultcode": "Client", "faultstring": "no", "debuginfo": null}`),
		ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "read load balancers")
}

// waitersOf returns waiters for load balancers with this known status.
func waitersOf(status string, ids ...string) (all []*waiter) {
	for _, id := range ids {
		all = append(all, &waiter{id: id, pending: status})
	}
	return all
}

func named(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("lb-%03d", i))
	}
	return ids
}

// A list of all costs Octavia a second for a thousand, one of the PENDING ones and a single read cost milliseconds.
func TestPoll_SendsTheCheapestRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		total, asked int
		known        string // status
		done         int    // of those that are asked for
		sent         []string
	}{
		"one of few":                      {5, 1, updating, 0, named(1)},
		"one of an unknown number":        {0, 1, "", 0, named(1)},
		"few of few":                      {99, 3, updating, 0, []string{"list "}},
		"few of many":                     {100, 3, updating, 0, named(3)},
		"few of many, in unknown ones":    {100, 3, "", 0, named(3)},
		"several of few":                  {99, 4, updating, 0, []string{"list "}},
		"several of many":                 {100, 4, updating, 0, []string{"list " + updating}},
		"several of many, in unknown":     {100, 4, "", 0, []string{"list "}},
		"nearly a quarter":                {100, 24, updating, 0, []string{"list " + updating}},
		"a quarter":                       {100, 25, updating, 0, []string{"list "}},
		"several of many, three are done": {100, 5, updating, 3, append([]string{"list " + updating}, named(3)...)},
		"several of many, four are done":  {100, 5, updating, 4, []string{"list " + updating, "list "}},
	} {
		cloud := &lists{statuses: map[string]string{}}
		ids := named(test.asked)
		for i, id := range ids {
			if cloud.statuses[id] = updating; i < test.done {
				cloud.statuses[id] = "ACTIVE"
			}
		}
		p := newPoll(cloud, test.total, waitersOf(test.known, ids...), nil)
		p.ask(t.Context())
		if slices.Sort(cloud.sent); !slices.Equal(cloud.sent, slices.Sorted(slices.Values(test.sent))) {
			t.Errorf("%s: sent %q, want %q", name, cloud.sent, test.sent)
		}
		for _, id := range ids {
			if got, ok := p.answers[id]; !ok || got.err != nil || got.token.Status.Provisioning != cloud.statuses[id] {
				t.Errorf("%s: %s is %+v", name, id, got)
			}
		}
		if want := map[bool]int{true: test.asked, false: test.total}[slices.Contains(test.sent, "list ")]; p.total != want {
			t.Errorf("%s: %d load balancers in all, want %d", name, p.total, want)
		}
	}
}

func TestPoll_ListsEachKnownStatusOnce(t *testing.T) {
	t.Parallel()
	cloud := &lists{statuses: map[string]string{}}
	ids := named(6)
	for i, id := range ids {
		cloud.statuses[id] = []string{updating, creating}[i%2]
	}
	due := slices.Concat(waitersOf(updating, ids[0], ids[2], ids[4]), waitersOf(creating, ids[1], ids[3], ids[5]))
	p := newPoll(cloud, 500, due, nil)
	p.ask(t.Context())
	if !slices.Equal(cloud.sent, []string{"list " + creating, "list " + updating}) || len(p.answers) != 6 {
		t.Errorf("sent %q, with %d answers", cloud.sent, len(p.answers))
	}
}

// Others are waiters that are not due: a list that is read anyway may end their waits.
func TestPoll_AnswersOthersOnlyFromLists(t *testing.T) {
	t.Parallel()
	cloud := &lists{statuses: map[string]string{"a": updating, "b": updating, "other": "ACTIVE", "nobody's": "ACTIVE"}}
	p := newPoll(cloud, 0, waitersOf(updating, "a", "b"), waitersOf(updating, "other", "gone"))
	p.ask(t.Context())
	if _, is := p.answers["nobody's"]; is || len(p.answers) != 3 || p.answers["other"].token.Status.Provisioning != "ACTIVE" {
		t.Errorf("answers %+v", p.answers)
	}
	if !slices.Equal(cloud.sent, []string{"list "}) {
		t.Errorf("sent %q", cloud.sent)
	}
}

func TestPoll_TakesOneForGoneOnlyAfter404(t *testing.T) {
	t.Parallel()
	cloud := &lists{statuses: map[string]string{"a": updating, "hidden": updating}, unlisted: map[string]bool{"hidden": true}}
	p := newPoll(cloud, 0, waitersOf(updating, "a", "hidden", "gone"), nil)
	p.ask(t.Context())
	if p.answers["hidden"].token.Gone || !p.answers["gone"].token.Gone || p.answers["a"].token.Gone {
		t.Errorf("answers %+v", p.answers)
	}
	if len(cloud.sent) != 3 {
		t.Errorf("sent %q", cloud.sent)
	}
}

func TestPoll_GivesAnErrorToAllThatItConcerns(t *testing.T) {
	t.Parallel()
	outage, forbidden := refused(http.StatusServiceUnavailable), refused(http.StatusForbidden)
	for name, test := range map[string]struct {
		total int
		fails map[string]error
		done  bool // all are ACTIVE
		ids   []string
		sent  int // requests
		want  map[error]int
	}{
		"a list of all":               {0, map[string]error{"list ": outage}, false, named(4), 1, map[error]int{outage: 4}},
		"a list by status":            {100, map[string]error{"list " + updating: outage}, false, named(4), 1, map[error]int{outage: 4}},
		"one after the other":         {100, map[string]error{"lb-000": outage, "lb-001": outage, "lb-002": outage}, false, named(3), 1, map[error]int{outage: 3}},
		"one that may not be read":    {100, map[string]error{"lb-001": forbidden}, false, named(3), 3, map[error]int{forbidden: 1, nil: 2}},
		"a list after one that works": {100, map[string]error{"list ": outage}, true, named(4), 2, map[error]int{outage: 4}},
	} {
		cloud := &lists{statuses: map[string]string{}, fails: test.fails}
		for _, id := range test.ids {
			if cloud.statuses[id] = updating; test.done {
				cloud.statuses[id] = "ACTIVE"
			}
		}
		p := newPoll(cloud, test.total, waitersOf(updating, test.ids...), nil)
		p.ask(t.Context())
		got := map[error]int{}
		for _, a := range p.answers {
			got[a.err]++
		}
		if len(cloud.sent) != test.sent || len(got) != len(test.want) {
			t.Errorf("%s: sent %q, errors %v, want %v", name, cloud.sent, got, test.want)
		}
		for err, n := range test.want {
			if got[err] != n {
				t.Errorf("%s: %d have the error %v, want %d", name, got[err], err, n)
			}
		}
	}
}

func TestRead_ReturnsAllOfAState(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	state := octavia.LoadBalancerState{ID: "a", ProvisioningStatus: "ACTIVE", OperatingStatus: "DEGRADED", UpdatedAt: at}
	if got, want := tokenOf(state), (Token{Status: model.Status{Provisioning: "ACTIVE", Operating: "DEGRADED"}, UpdatedAt: at}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if state.ProvisioningStatus = "DELETED"; !tokenOf(state).Gone {
		t.Error("a deleted one is not gone")
	}
}

func TestFinal_IsAnErrorThatWouldComeAgain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		refused(http.StatusForbidden): true, refused(http.StatusBadRequest): true, refused(http.StatusServiceUnavailable): false,
		refused(http.StatusTooManyRequests): false, errors.New("connection refused"): false,
	} {
		if got := final(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestEvery_HasTheIntervalsOfADriver(t *testing.T) {
	t.Parallel()
	got := Every(driver.PollInterval{First: 1, Step: 2, Cap: 3})
	if got != (Pace{First: 1, Step: 2, Cap: 3}) {
		t.Errorf("%+v", got)
	}
}
