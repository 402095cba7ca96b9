package reading

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

var errFailed = errors.New("failed")

// roles returns the IDs of the load balancers in a result, by their roles.
func roles(found Result) (serves, outgoing, duplicates string) {
	if found.Observed == nil {
		return "", "", ""
	}
	if found.LoadBalancer != nil {
		serves = found.LoadBalancer.ID
	}
	if found.Outgoing != nil {
		outgoing = found.Outgoing.ID
	}
	for _, lb := range found.Duplicates {
		duplicates += lb.ID
	}
	return serves, outgoing, duplicates
}

func TestRead_ReturnsLoadBalancersByRole(t *testing.T) {
	t.Parallel()
	replacing := func(id, replaced, status string) octavia.LoadBalancer {
		lb := balancer(id, status)
		lb.Tags = append(lb.Tags, ownership.ReplacesTag(replaced, "hash"))
		return lb
	}
	for name, test := range map[string]struct {
		all                          func() []octavia.LoadBalancer
		gone                         string // after 5 s
		first                        string // the ID of the result
		serves, outgoing, duplicates string
	}{
		"none":                      {func() []octavia.LoadBalancer { return nil }, "", "", "", "", ""},
		"one":                       {func() []octavia.LoadBalancer { return []octavia.LoadBalancer{balancer("a", "ACTIVE")} }, "", "a", "a", "", ""},
		"one that is being deleted": {func() []octavia.LoadBalancer { return []octavia.LoadBalancer{balancer("a", "PENDING_DELETE")} }, "a", "a", "", "", ""},
		"two": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("a", "ACTIVE"), balancer("b", "ACTIVE")}
		}, "", "a", "a", "", "b"},
		"three": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("c", "ACTIVE"), balancer("a", "ACTIVE"), balancer("b", "ACTIVE")}
		}, "", "a", "a", "", "cb"},
		"one and its replacement": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("a", "ACTIVE"), replacing("b", "a", "ACTIVE")}
		}, "", "b", "b", "a", ""},
		"one, its replacement and another": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("a", "ACTIVE"), replacing("b", "a", "ACTIVE"), balancer("c", "ACTIVE")}
		}, "", "b", "b", "a", "c"},
		"the replacement is being deleted": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("a", "ACTIVE"), replacing("b", "a", "PENDING_DELETE")}
		}, "b", "b", "a", "", ""},
		"the replaced one is": {func() []octavia.LoadBalancer {
			return []octavia.LoadBalancer{balancer("a", "PENDING_DELETE"), replacing("b", "a", "ACTIVE")}
		}, "a", "b", "b", "", ""},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			c.all = test.all()
			c.remove(5*time.Second, test.gone)
			var lock async.Guard
			defer lock.Release()
			var at Search
			found, err := r.Read(t.Context(), web(), observe.Hints{}, Scope{}, &lock, &at)
			if err != nil || found.ID != test.first || found.As.ServiceUID != "uid" || found.Observed == nil || at != (Search{}) {
				t.Errorf("%s: %+v, error %v", name, found, err)
			}
			if serves, outgoing, duplicates := roles(found); serves != test.serves || outgoing != test.outgoing || duplicates != test.duplicates {
				t.Errorf("%s: %q serves, %q leaves, %q are duplicates", name, serves, outgoing, duplicates)
			}
			if held := r.Locks.Held(test.first); held != (test.first != "") {
				t.Errorf("%s: the first is locked: %v", name, held)
			}
			for _, lb := range found.Duplicates {
				if lb.FloatingIP == nil || lb.FloatingIP.ID != "fip-port-"+lb.ID {
					t.Errorf("%s: duplicate %s has floating IP %+v", name, lb.ID, lb.FloatingIP)
				}
			}
		})
	}
}

// Other Services may have changed a load balancer that they had locked.
func TestRead_ReadsLoadBalancerAgainAfterWaitForLock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held   bool
		change func(c *cloud)
		name   string // of the result, "" if there is none
		sent   []string
		err    error
	}{
		"free":        {false, func(*cloud) {}, "before", []string{"0s list"}, nil},
		"held":        {true, func(c *cloud) { c.change(0, "a", func(lb *octavia.LoadBalancer) { lb.Name = "after" }) }, "after", []string{"0s list", "3s get a"}, nil},
		"gone":        {true, func(c *cloud) { c.remove(0, "a") }, "", []string{"0s list", "3s get a"}, nil},
		"cannot read": {true, func(c *cloud) { c.fails["get"] = errFailed }, "", []string{"0s list", "3s get a"}, errFailed},
	} {
		runCase(t, name, func(t *testing.T, c *cloud, r Reader) {
			c.all = []octavia.LoadBalancer{balancer("a", "ACTIVE")}
			c.all[0].Name = "before"
			var other, lock async.Guard
			if test.held {
				if _, err := other.Acquire(t.Context(), r.Locks, "a"); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(3*time.Second, func() {
					c.mu.Lock()
					defer c.mu.Unlock()
					test.change(c)
					other.Release()
				})
			}
			found, err := r.Read(t.Context(), web(), observe.Hints{}, Scope{}, &lock, &Search{})
			lock.Release()
			if !errors.Is(err, test.err) {
				t.Errorf("%s: error %v", name, err)
			}
			if got := found.Observed; got != nil && got.LoadBalancer != nil && got.LoadBalancer.Name != test.name || (got == nil || got.LoadBalancer == nil) != (test.name == "") {
				t.Errorf("%s: %+v", name, got)
			}
			c.assertSent(t, name, test.sent...)
		})
	}
}

// A round that waits gives its worker back, and continues where it was.
func TestRead_ContinuesAfterWaitWithoutSecondSearch(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		c.all = []octavia.LoadBalancer{balancer("a", "PENDING_UPDATE")}
		c.all[0].UpdatedAt.Time = time.Now()
		c.change(10*time.Second, "a", func(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = "ACTIVE" })
		var lock async.Guard
		defer lock.Release()
		var found Result
		var at Search
		steps := 0
		err := inSteps(t, func(ctx context.Context) (err error) {
			steps++
			found, err = r.Read(ctx, web(), observe.Hints{}, Scope{}, &lock, &at)
			return err
		})
		if serves, _, _ := roles(found); err != nil || serves != "a" || steps != 2 || at != (Search{}) {
			t.Errorf("after %d steps: %+v, error %v", steps, found, err)
		}
		if len(c.sent) != 4 || c.sent[0] != "0s list" || c.sent[1] != "7s poll a" || !strings.HasSuffix(c.sent[3], " get a") {
			t.Errorf("sent %v", c.sent)
		}
	})
}

func TestRead_FailsWithTheSearchAndWithDuplicates(t *testing.T) {
	t.Parallel()
	for fails, parts := range map[string]bool{"list": false, "listeners": true} {
		runCase(t, fails, func(t *testing.T, c *cloud, r Reader) {
			c.all = []octavia.LoadBalancer{balancer("a", "ACTIVE"), balancer("b", "ACTIVE")}
			if parts {
				c.all[1].Listeners = []octavia.Listener{{ID: "l"}}
			}
			c.fails[fails] = errFailed
			var lock async.Guard
			defer lock.Release()
			if found, err := r.Read(t.Context(), web(), observe.Hints{}, Scope{}, &lock, &Search{}); !errors.Is(err, errFailed) || found.Observed != nil {
				t.Errorf("%s: %+v, error %v", fails, found, err)
			}
		})
	}
}

func TestListed_HasAttributesUnlessItIsGone(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, c *cloud, r Reader) {
		c.all = []octavia.LoadBalancer{balancer("a", "ERROR")}
		found, err := r.Listed(t.Context(), "a", web())
		if err != nil || len(found) != 1 || found[0].LoadBalancers[0].ProvisioningStatus != "ERROR" || found[0].As != web() {
			t.Errorf("%+v, error %v", found, err)
		}
		if found, err := r.Listed(t.Context(), "b", web()); err != nil || found != nil {
			t.Errorf("one that is gone: %+v, error %v", found, err)
		}
		c.fails["get"] = errFailed
		if found, err := r.Listed(t.Context(), "a", web()); !errors.Is(err, errFailed) || found != nil {
			t.Errorf("one that cannot be read: %+v, error %v", found, err)
		}
	})
}
