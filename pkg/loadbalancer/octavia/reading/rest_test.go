package reading

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

func foundAs(id ownership.Identity, lb octavia.LoadBalancer) observe.Found {
	return observe.Found{LoadBalancers: []octavia.LoadBalancer{lb}, As: id}
}

func TestContents_WaitUntilLoadBalancerIsNotPending(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		age    time.Duration
		// ends is the time of the last poll; there is one after it for the attributes.
		change func(c *cloud)
		ends   string
		polls  int
		want   string // status, "" if it is gone
	}{
		"active":              {"ACTIVE", time.Hour, func(*cloud) {}, "", 0, "ACTIVE"},
		"in error":            {"ERROR", time.Hour, func(*cloud) {}, "", 0, "ERROR"},
		"an update":           {"PENDING_UPDATE", 0, func(c *cloud) { c.change(time.Second, "a", active) }, "7s", 1, "ACTIVE"},
		"a creation":          {"PENDING_CREATE", 0, func(c *cloud) { c.change(time.Second, "a", active) }, "30s", 1, "ACTIVE"},
		"a deletion":          {"PENDING_DELETE", 0, func(c *cloud) { c.remove(time.Second, "a") }, "7s", 1, ""},
		"an update, not long": {"PENDING_UPDATE", longPending, func(c *cloud) { c.change(time.Second, "a", active) }, "7s", 1, "ACTIVE"},
		"a long update":       {"PENDING_UPDATE", longPending + time.Second, func(c *cloud) { c.change(0, "a", active) }, "0s", 1, "ACTIVE"},
		"it is gone at last":  {"PENDING_UPDATE", 0, func(c *cloud) { c.change(time.Second, "a", active); c.remove(7*time.Second+1, "a") }, "7s", 1, "ACTIVE"},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			lb := balancer("a", test.status)
			lb.UpdatedAt.Time = time.Now().Add(-test.age)
			c.all = []octavia.LoadBalancer{lb}
			test.change(c)
			got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var status string
			if got.LoadBalancer != nil {
				status = got.LoadBalancer.Status.Provisioning
			}
			polls := slices.DeleteFunc(slices.Clone(c.sent), func(request string) bool { return !strings.Contains(request, " poll ") })
			if status != test.want || len(polls) != test.polls || test.polls > 0 && polls[len(polls)-1] != test.ends+" poll a" {
				t.Errorf("%s: status %q, sent %v", name, status, c.sent)
			}
		})
	}
}

func active(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = "ACTIVE" }

// A load balancer that has been PENDING for long is polled ten times less often.
func TestContents_PollLongPendingLoadBalancerSeldom(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		lb := balancer("a", "PENDING_UPDATE")
		c.all = []octavia.LoadBalancer{lb}
		c.change(time.Second, "a", active)
		if _, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(c.began); took < 60*time.Second || took > 80*time.Second || len(c.sent) != 3 {
			t.Errorf("after %s: sent %v", took, c.sent)
		}
	})
}

func TestContents_ReadWhatTheScopeNeeds(t *testing.T) {
	t.Parallel()
	own, shared := web(), web()
	shared.Sharing.Is = true
	known := &model.LoadBalancer{ID: "a", Listeners: []model.Listener{{ID: "l"}}}
	for name, test := range map[string]struct {
		id    ownership.Identity
		scope Scope
		sent  []string // the attributes are known, the listener is the Service's
	}{
		"all":                             {own, Scope{}, []string{"listeners", "pools", "tree"}},
		"known, but not to delete":        {own, Scope{Known: known}, []string{"listeners", "pools", "tree"}},
		"to delete its parts":             {own, Scope{Leaving: true}, []string{"listeners", "pools", "tree"}},
		"to delete it":                    {own, Scope{Leaving: true, Cascade: true}, []string{"listeners"}},
		"to delete it, known":             {own, Scope{Leaving: true, Cascade: true, Known: known}, nil},
		"to leave that of another owner":  {shared, Scope{Leaving: true, Cascade: true, Known: known}, []string{"listeners", "pools", "tree"}},
		"that of another owner, and more": {shared, Scope{Leaving: true}, []string{"listeners", "pools", "tree"}},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			lb := balancer("a", "ACTIVE")
			lb.Listeners = []octavia.Listener{{ID: "l"}}
			c.listeners = []octavia.Listener{{ID: "l", Name: web().ListenerName(0), Tags: web().Tags(), Protocol: "TCP", Port: 80, ProvisioningStatus: "ACTIVE", LoadBalancers: []octavia.ObjectID{{ID: "a"}}}}
			if _, err := r.Contents(t.Context(), foundAs(test.id, lb), test.scope, &Progress{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var sent []string
			for _, request := range c.sent {
				sent = append(sent, strings.Fields(request)[1])
			}
			slices.Sort(sent)
			if !slices.Equal(sent, test.sent) {
				t.Errorf("%s: sent %v, want %v", name, sent, test.sent)
			}
		})
	}
}

func TestContents_WaitUntilBatchIsOver(t *testing.T) {
	t.Parallel()
	// every moves updated_at each second, from the first to the last.
	every := func(first, last int) func(c *cloud) {
		return func(c *cloud) {
			for i := first; i <= last; i++ {
				c.touch(time.Duration(i)*time.Second, "a")
			}
		}
	}
	nothing := func(*cloud) {}
	another := func(c *cloud) { // changes it
		c.change(4*time.Second, "a", func(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = "PENDING_UPDATE" })
		c.touch(4*time.Second, "a")
		c.change(11*time.Second, "a", active)
		c.touch(11*time.Second, "a")
	}
	for name, test := range map[string]struct {
		provider string
		age      time.Duration
		change   func(c *cloud)
		members  int
		took     time.Duration
		reads    int // of the attributes
	}{
		"another driver":             {"amphora", 0, nothing, 0, 0, 0},
		"at rest":                    {"ovn", 5 * time.Second, nothing, 0, 0, 0},
		"almost at rest":             {"ovn", 4 * time.Second, nothing, 0, time.Second, 1},
		"just changed":               {"ovn", 0, nothing, 0, 5 * time.Second, 1},
		"once more":                  {"ovn", 3 * time.Second, every(1, 1), 0, 6 * time.Second, 2},
		"a batch":                    {"ovn", 0, every(1, 12), 0, 17 * time.Second, 4},
		"a clock that is ahead":      {"ovn", -time.Second, nothing, 0, 5 * time.Second, 1},
		"a clock that is as far as":  {"ovn", -5 * time.Second, nothing, 0, 5 * time.Second, 1},
		"a clock that is far ahead":  {"ovn", -6 * time.Second, nothing, 0, 0, 0},
		"another change":             {"ovn", 0, another, 0, 16 * time.Second, 3},
		"health that keeps changing": {"ovn", 0, every(1, 200), 0, time.Minute, 12},
		"and few members":            {"ovn", 0, every(1, 200), 12, time.Minute, 12},
		"and many members":           {"ovn", 0, every(1, 200), 20, 100 * time.Second, 20},
		"a batch of many members":    {"ovn", 0, every(1, 78), 20, 83 * time.Second, 17},
	} {
		for _, blocks := range []bool{true, false} {
			runCase(t, fmt.Sprintf("%s, it blocks: %v", name, blocks), func(t *testing.T, c *cloud, r Reader) {
				lb := balancer("a", "ACTIVE")
				lb.Provider, lb.UpdatedAt.Time = test.provider, time.Now().Add(-test.age)
				c.all, c.members = []octavia.LoadBalancer{lb}, test.members
				test.change(c)
				var got *model.Observed
				var at Progress
				work := func(ctx context.Context) (err error) {
					got, err = r.Contents(ctx, foundAs(web(), lb), Scope{}, &at)
					return err
				}
				var err error
				if blocks {
					err = work(t.Context())
				} else {
					err = inSteps(t, work)
				}
				reads, trees := 0, 0
				for _, request := range c.sent {
					if strings.Contains(request, " get ") {
						reads++
					} else if strings.Contains(request, " tree ") {
						trees++
					}
				}
				if err != nil || got.LoadBalancer == nil || time.Since(c.began) != test.took || reads != test.reads || trees > 1 {
					t.Errorf("after %s, %d reads, %d trees: %+v, error %v, want %s, %d", time.Since(c.began), reads, trees, got, err, test.took, test.reads)
				}
			})
		}
	}
}

// Lists are read in full before a change.
func TestContents_OfListsDoNotWaitForABatch(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		lb := balancer("a", "ACTIVE")
		lb.Provider, lb.UpdatedAt.Time = "ovn", time.Now()
		r.Observer.Source = model.Lists
		if _, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{}); err != nil || len(c.sent) > 0 {
			t.Errorf("sent %v, error %v", c.sent, err)
		}
	})
}

func TestContents_AtRestReadTheNewestState(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		lb := balancer("a", "ACTIVE")
		lb.Provider, lb.UpdatedAt.Time = "ovn", time.Now()
		c.all = []octavia.LoadBalancer{lb}
		c.change(time.Second, "a", func(lb *octavia.LoadBalancer) { lb.Description = "after" })
		c.touch(time.Second, "a")
		got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{})
		if err != nil || got.LoadBalancer.Description != "after" {
			t.Errorf("%+v, error %v", got.LoadBalancer, err)
		}
	})
	for _, fails := range []string{"get", "tree"} {
		runCase(t, fails, func(t *testing.T, c *cloud, r Reader) {
			lb := balancer("a", "ACTIVE")
			lb.Provider, lb.UpdatedAt.Time = "ovn", time.Now()
			c.all = []octavia.LoadBalancer{lb}
			for i := range 100 {
				c.touch(time.Duration(i)*time.Second, "a")
			}
			c.fails[fails] = errFailed
			if got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{}); !errors.Is(err, errFailed) || got != nil {
				t.Errorf("%s fails: %+v, error %v", fails, got, err)
			}
		})
	}
}

func TestAtRest_IsFiveIntervalsAfterTheLastChange(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, _ *cloud, r Reader) {
		for _, test := range []struct {
			provider string
			age      time.Duration
			want     bool
		}{
			{"amphora", 0, true}, {"ovn", 0, false}, {"ovn", 5*time.Second - 1, false}, {"ovn", 5 * time.Second, true},
			{"ovn", -5 * time.Second, false}, {"ovn", -5*time.Second - 1, true},
		} {
			if got := r.AtRest(test.provider, test.age); got != test.want {
				t.Errorf("%s after %s: %v", test.provider, test.age, got)
			}
		}
	})
}

func TestContents_WaitForPendingParts(t *testing.T) {
	t.Parallel()
	result := &model.LoadBalancer{ID: "a", Name: "settled"}
	changed, broken := &apply.ChangedError{ID: "a", How: "how"}, &apply.ChildrenError{ID: "a"}
	for name, test := range map[string]struct {
		balancer, listener string // statuses
		settled            []settled
		change             func(c *cloud) // during the wait
		want               string         // name, "" if it is gone
		settles, reads     int
		err                error
	}{
		"nothing is pending":                   {"ACTIVE", "ACTIVE", nil, nil, "read", 0, 0, nil},
		"a part is broken":                     {"ACTIVE", "ERROR", nil, nil, "read", 0, 0, nil},
		"the load balancer is in error":        {"ERROR", "PENDING_UPDATE", nil, nil, "read", 0, 0, nil},
		"a pending part":                       {"ACTIVE", "PENDING_UPDATE", []settled{{result, nil}}, nil, "settled", 1, 0, nil},
		"it stays pending":                     {"ACTIVE", "PENDING_UPDATE", []settled{{result, fmt.Errorf("settle: %w", broken)}}, nil, "settled", 1, 0, nil},
		"something else is changed":            {"ACTIVE", "PENDING_UPDATE", []settled{{result, fmt.Errorf("settle: %w", changed)}}, nil, "settled", 1, 0, nil},
		"it leaves":                            {"ACTIVE", "PENDING_DELETE", []settled{{result, nil}}, nil, "settled", 1, 0, nil},
		"it has left":                          {"ACTIVE", "PENDING_DELETE", []settled{{result, changed}}, func(c *cloud) { c.listeners = nil; c.all[0].Name = "again" }, "again", 1, 1, nil},
		"it has left, and another one leaves":  {"ACTIVE", "PENDING_DELETE", []settled{{result, changed}, {result, nil}}, func(*cloud) {}, "settled", 2, 1, nil},
		"it has left with the load balancer":   {"ACTIVE", "PENDING_DELETE", []settled{{result, changed}}, func(c *cloud) { c.all = nil }, "", 1, 1, nil},
		"the wait fails":                       {"ACTIVE", "PENDING_UPDATE", []settled{{result, errFailed}}, nil, "", 1, 0, errFailed},
		"it has left, and the next read fails": {"ACTIVE", "PENDING_DELETE", []settled{{result, changed}}, func(c *cloud) { c.fails["get"] = errFailed }, "", 1, 1, errFailed},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			lb := balancer("a", test.balancer)
			lb.Name, lb.Listeners = "read", []octavia.Listener{{ID: "l"}}
			c.all, c.settled = []octavia.LoadBalancer{lb}, test.settled
			c.listeners = []octavia.Listener{{
				ID: "l", Name: web().ListenerName(0), Tags: web().Tags(), Protocol: "TCP", Port: 80, ProvisioningStatus: test.listener, LoadBalancers: []octavia.ObjectID{{ID: "a"}},
			}}
			c.settling = test.change
			got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &Progress{})
			var is string
			if got != nil && got.LoadBalancer != nil {
				is = got.LoadBalancer.Name
			}
			settles, reads := 0, 0
			for _, request := range c.sent {
				if strings.HasSuffix(request, " settle") {
					settles++
				} else if strings.Contains(request, " get ") {
					reads++
				}
			}
			if !errors.Is(err, test.err) || (err == nil) != (got != nil) || is != test.want || settles != test.settles || reads != test.reads {
				t.Errorf("%s: %q, error %v, sent %v", name, is, err, c.sent)
			}
		})
	}
}

func TestContents_ContinueTheSameWaitForParts(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		lb := balancer("a", "ACTIVE")
		lb.Listeners = []octavia.Listener{{ID: "l"}}
		c.listeners = []octavia.Listener{{
			ID: "l", Name: web().ListenerName(0), Tags: web().Tags(), Protocol: "TCP", Port: 80, ProvisioningStatus: "PENDING_UPDATE", LoadBalancers: []octavia.ObjectID{{ID: "a"}},
		}}
		c.settled = []settled{{nil, async.ErrWaiting}, {&model.LoadBalancer{ID: "a"}, nil}}
		var at Progress
		if got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &at); !async.IsWaiting(err) || got != nil {
			t.Errorf("%+v, error %v", got, err)
		}
		requests := len(c.sent)
		if got, err := r.Contents(t.Context(), foundAs(web(), lb), Scope{}, &at); err != nil || got.LoadBalancer == nil || len(c.sent) != requests+1 {
			t.Errorf("%+v, error %v, sent %v", got, err, c.sent)
		}
		if len(c.settlings) != 2 || c.settlings[0] == nil || c.settlings[0] != c.settlings[1] {
			t.Errorf("waited for %v", c.settlings)
		}
	})
}

func TestUnchanged_OnlyWhenActiveWithTheSameTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		change func(c *cloud)
		want   bool
		err    error
	}{
		"unchanged":         {"ACTIVE", func(*cloud) {}, true, nil},
		"changed":           {"ACTIVE", func(c *cloud) { c.touch(0, "a") }, false, nil},
		"in error":          {"ERROR", func(*cloud) {}, false, nil},
		"gone":              {"ACTIVE", func(c *cloud) { c.remove(0, "a") }, false, nil},
		"pending":           {"PENDING_UPDATE", func(c *cloud) { c.change(time.Second, "a", active) }, true, nil},
		"pending, changed":  {"PENDING_UPDATE", func(c *cloud) { c.change(time.Second, "a", active); c.touch(time.Second, "a") }, false, nil},
		"it cannot be read": {"ACTIVE", func(c *cloud) { c.fails["poll"] = refusal(http.StatusForbidden) }, false, refusal(http.StatusForbidden)},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			lb := balancer("a", test.status)
			c.all = []octavia.LoadBalancer{lb}
			test.change(c)
			got, err := r.Unchanged(t.Context(), "a", "amphora", lb.UpdatedAt.Time)
			if got != test.want || (err == nil) != (test.err == nil) {
				t.Errorf("%s: %v, error %v", name, got, err)
			}
			if len(c.sent) == 0 || c.sent[0] != "0s poll a" {
				t.Errorf("%s: sent %v", name, c.sent)
			}
		})
	}
}
