package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Nothing of the floating IP that can be refused is left when a load balancer is deleted for its VIP, and
// no floating IP is deleted before that.
func TestDiff_DeletesALoadBalancerForItsVIPWhenTheFloatingIPIsThere(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := m.cloud(opts)
		lb := c.observed.LoadBalancer
		if lb == nil || len(lb.Foreign) > 0 || lb.Shared != nil {
			return
		}
		desired.VIP.PortID, desired.FlavorID = lb.VIP.PortID, "big"
		c.observed.Duplicates = nil
		if lb.Status.Failed() || desired.VIP.SubnetID != "" && desired.VIP.SubnetID != lb.VIP.SubnetID || desired.VIP.NetworkID != "" && desired.VIP.NetworkID != lb.VIP.NetworkID {
			return
		}
		opts.Replacement = &plan.Replacement{LoadBalancer: desired, Driver: opts.Driver}
		todo := plan.Diff(desired, c.observed, opts)
		deleted := false
		for _, step := range todo.Steps {
			switch step.(type) {
			case plan.DeleteLoadBalancer:
				fip := c.observed.LoadBalancer.FloatingIP
				if want := desired.FloatingIP; want != nil && (fip == nil || !want.Fits(*fip)) {
					t.Errorf("the load balancer is deleted before its floating IP fits:\n%s", todo)
				}
				deleted = true
			case plan.CreateFloatingIP:
				if deleted {
					t.Errorf("a floating IP is created after the load balancer is deleted:\n%s", todo)
				}
			case plan.DeleteFloatingIP:
				if !deleted {
					t.Errorf("a floating IP is deleted before the load balancer:\n%s", todo)
				}
			}
			if err := c.do(step); err != nil {
				t.Fatalf("%v\n%s", err, todo)
			}
		}
		if again := plan.Diff(desired, c.observed, opts); !deleted || !again.Empty() {
			t.Errorf("after\n%sstill to do:\n%s", todo, again)
		}
	})
}

// An address that the Service requests is reserved before its load balancer is created.
func TestDiff_ReservesTheFloatingIPOfAReplacement(t *testing.T) {
	t.Parallel()
	desired := web(func(lb *model.LoadBalancer) { lb.FlavorID, lb.FloatingIP.Address = "big", "203.0.113.80" })
	c := &cloud{observed: made(t, web())}
	opts := plan.Options{Replacement: &plan.Replacement{LoadBalancer: desired}}
	todo := plan.Diff(desired, c.observed, opts)
	if s, creates := todo.Steps[0].(plan.CreateFloatingIP); len(todo.Steps) != 2 || !creates || !s.Beside {
		t.Errorf("plan:\n%s", todo)
	}
	plan.Advance(&c.observed, todo.Steps[0])
	c.identify()
	if again := plan.Diff(desired, c.observed, opts); len(again.Steps) != 1 {
		t.Errorf("with the floating IP:\n%s", again)
	}
}

// The old load balancer gets no floating IP where that cannot be, or brings nothing: it goes first then, as
// the Service would wait for ever otherwise.
func TestDiff_DeletesALoadBalancerForItsVIPAtOnceWhereItCannotHaveTheFloatingIP(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(observed *model.Observed, desired *model.LoadBalancer){
		"it is in ERROR": func(observed *model.Observed, _ *model.LoadBalancer) {
			observed.LoadBalancer.Status.Provisioning = "ERROR"
		},
		"the VIP moves to another subnet":  func(_ *model.Observed, desired *model.LoadBalancer) { desired.VIP.SubnetID = "another" },
		"the VIP moves to another network": func(_ *model.Observed, desired *model.LoadBalancer) { desired.VIP.NetworkID = "another" },
		"a duplicate has the floating IP on": func(observed *model.Observed, _ *model.LoadBalancer) {
			duplicate := *observed.LoadBalancer
			duplicate.ID, duplicate.FloatingIP = "duplicate", &model.FloatingIP{ID: "fip-9", Address: "203.0.113.80", PortID: "port-9", Owned: true}
			observed.Duplicates = []model.LoadBalancer{duplicate}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desired := web(func(lb *model.LoadBalancer) { lb.FlavorID, lb.FloatingIP.Address = "big", "203.0.113.80" })
			c := &cloud{observed: made(t, web())}
			desired.VIP.Address = c.observed.LoadBalancer.VIP.Address
			change(&c.observed, desired)
			todo := plan.Diff(desired, c.observed, plan.Options{Replacement: &plan.Replacement{LoadBalancer: desired}})
			if len(todo.Steps) == 0 {
				t.Fatal("no steps")
			}
			if _, deletes := todo.Steps[0].(plan.DeleteLoadBalancer); !deletes {
				t.Errorf("the first step is not the deletion:\n%s", todo)
			}
		})
	}
}

// Two load balancers cannot have one port or address: then the old one goes first, else they exist at the same time.
func TestDiff_DeletesTheOldLoadBalancerFirstOnlyWhereItHasTheWantedVIP(t *testing.T) {
	t.Parallel()
	observed := made(t, web(floatingIP(nil)))
	there := &observed.LoadBalancer.VIP
	there.Additional = []model.AdditionalVIP{{Family: model.IPv6, Address: "fd00::5"}}
	for name, test := range map[string]struct {
		vip   model.VIP
		first bool
	}{
		"any":                   {model.VIP{}, false},
		"its port":              {model.VIP{PortID: there.PortID}, true},
		"another port":          {model.VIP{PortID: "another"}, false},
		"its address":           {model.VIP{Address: there.Address}, true},
		"another address":       {model.VIP{Address: "10.9.9.9"}, false},
		"its other address":     {model.VIP{Address: "fd00::5"}, true},
		"its address as second": {model.VIP{Additional: []model.AdditionalVIP{{Family: model.IPv6, Address: "fd00::5"}}}, true},
	} {
		desired := web(floatingIP(nil), func(lb *model.LoadBalancer) { lb.FlavorID, lb.VIP = "big", test.vip })
		todo := plan.Diff(desired, observed, plan.Options{Published: true, Replacement: &plan.Replacement{LoadBalancer: desired}})
		if _, deletes := todo.Steps[0].(plan.DeleteLoadBalancer); deletes != test.first {
			t.Errorf("%s:\n%s", name, todo)
		}
	}
}

// One in ERROR loses its floating IP with its VIP: the new load balancer gets the same.
func TestDiff_GivesTheFloatingIPOfALoadBalancerInErrorToTheOneThatTakesItsVIP(t *testing.T) {
	t.Parallel()
	observed := made(t, web())
	lb := observed.LoadBalancer
	lb.Status.Provisioning, lb.FloatingIP.Owned = "ERROR", true
	observed.UnattachedFloatingIPs = []model.FloatingIP{{ID: "fip-9", Address: "203.0.113.9", Owned: true}}
	desired := web(func(other *model.LoadBalancer) { other.FlavorID, other.VIP.Address = "big", lb.VIP.Address })
	for name, published := range map[string]bool{"published": true, "never served": false} {
		todo := plan.Diff(desired, observed, plan.Options{Published: published, Replacement: &plan.Replacement{LoadBalancer: desired}})
		got := lines(todo)
		want := []string{"floating IP " + lb.FloatingIP.Address + ": associate", "floating IP 203.0.113.9: delete"}
		if diff := cmp.Diff(want, got[min(2, len(got)):]); diff != "" {
			t.Errorf("%s: after the load balancers %s", name, diff)
		}
	}
}

// replacing returns a load balancer of provider amphora with the replacement of provider ovn that a plan has created.
func replacing(t *testing.T, desired *model.LoadBalancer) (*cloud, plan.Options) {
	t.Helper()
	c, next := &cloud{observed: made(t, web())}, *desired
	next.ReplacementHash = plan.ReplacementHash(desired)
	opts := plan.Options{Published: true, Replacement: &plan.Replacement{LoadBalancer: &next}}
	todo := plan.Diff(desired, c.observed, opts)
	want := `load balancer kube_service_rig_default_web: create (ovn) with TCP/80, TCP/443 and 6 members, to take the place of lb-1: its provider cannot change from "amphora" to "ovn"`
	if got := steps(todo); got != want {
		t.Fatalf("first %s, want %s", got, want)
	}
	plan.Advance(&c.observed, todo.Steps[0])
	c.identify()
	return c, opts
}

func ofOVN(lb *model.LoadBalancer) { lb.Provider = "ovn" }

// A replacement interrupts no traffic but that of its floating IP while that moves.
func TestDiff_ReplacesBesideTheOldOne(t *testing.T) {
	t.Parallel()
	desired := web(ofOVN)
	c, opts := replacing(t, desired)
	fip := *c.observed.Outgoing.FloatingIP
	todo := plan.Diff(desired, c.observed, opts)
	want := []string{"floating IP " + fip.Address + ": move to the new load balancer", "load balancer kube_service_rig_default_web (lb-1): delete: another one has taken its place"}
	if diff := cmp.Diff(want, lines(todo)); diff != "" {
		t.Error(diff)
	}
	if pauses := plan.Pauses(todo.Steps, c.observed); len(pauses) != 2 || pauses[0] == "" || pauses[1] != "" {
		t.Errorf("pauses %q", pauses)
	}
	for _, step := range todo.Steps {
		plan.Advance(&c.observed, step)
	}
	if lb := c.observed.LoadBalancer; c.observed.Outgoing != nil || lb.Provider != "ovn" || lb.FloatingIP == nil || lb.FloatingIP.ID != fip.ID || len(c.observed.UnattachedFloatingIPs) > 0 {
		t.Errorf("in the end %+v", c.observed)
	}
	if again := plan.Diff(desired, c.observed, opts); !again.Empty() || len(again.Notices) > 0 {
		t.Errorf("still to do:\n%s%v", again, again.Notices)
	}
}

// The states of a replacement that was begun, and of the load balancer that it replaces.
func TestDiff_GoesOnWithAReplacementAsLongAsItCanServe(t *testing.T) {
	t.Parallel()
	foreign := []model.Foreign{{Kind: "pool", ID: "p"}}
	failed := model.Status{Provisioning: "ERROR"}
	serves := func(o *model.Observed) { o.LoadBalancer.FloatingIP, o.Outgoing.FloatingIP = o.Outgoing.FloatingIP, nil }
	outdated := func(o *model.Observed) { o.LoadBalancer.Provider, o.LoadBalancer.ReplacementHash = "acme", "another" }
	const finish = "floating IP OLD: move to the new load balancer; NAME (lb-1): delete: another one has taken its place"
	const onlyDelete = "NAME (lb-1): delete: another one has taken its place"
	for name, test := range map[string]struct {
		changes []func(*model.Observed)
		want    string
		notices int
	}{
		"ACTIVE":                                  {nil, finish, 0},
		"the address moved":                       {[]func(*model.Observed){serves}, onlyDelete, 0},
		"in ERROR":                                {[]func(*model.Observed){func(o *model.Observed) { o.LoadBalancer.Status = failed }}, "NAME (NEW): delete: it is in ERROR and has never served", 0},
		"in ERROR, and serves":                    {[]func(*model.Observed){serves, func(o *model.Observed) { o.LoadBalancer.Status = failed }}, "blocked: NAME (NEW) is in ERROR; it may still serve", 0},
		"in ERROR, with foreign":                  {[]func(*model.Observed){func(o *model.Observed) { o.LoadBalancer.Status, o.LoadBalancer.Foreign = failed, foreign }}, "blocked: NAME (NEW) is in ERROR, and is not deleted because it also holds pool p", 0},
		"outdated":                                {[]func(*model.Observed){outdated}, "NAME (NEW): delete: it is outdated", 0},
		"outdated, and serves":                    {[]func(*model.Observed){outdated, serves}, onlyDelete, 1},
		"outdated, with foreign":                  {[]func(*model.Observed){outdated, func(o *model.Observed) { o.LoadBalancer.Foreign = foreign }}, finish, 1},
		"outdated, old in ERROR":                  {[]func(*model.Observed){outdated, func(o *model.Observed) { o.Outgoing.Status = failed }}, finish, 1},
		"made for other settings, and as desired": {[]func(*model.Observed){func(o *model.Observed) { o.LoadBalancer.ReplacementHash = "another" }}, finish, 0},
		"did not help":                            {[]func(*model.Observed){func(o *model.Observed) { o.LoadBalancer.Provider = "acme" }}, finish, 1},
		"old one holds others'":                   {[]func(*model.Observed){func(o *model.Observed) { o.Outgoing.Foreign = foreign }}, "blocked: NAME (lb-1) was to be replaced, and is not deleted because it also holds pool p", 0},
		"the old one has no more":                 {[]func(*model.Observed){func(o *model.Observed) { o.Outgoing.FloatingIP = nil }}, "floating IP: create on network public; " + onlyDelete, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desired := web(ofOVN)
			c, opts := replacing(t, desired)
			address := c.observed.Outgoing.FloatingIP.Address
			for _, change := range test.changes {
				change(&c.observed)
			}
			todo := plan.Diff(desired, c.observed, opts)
			want := strings.NewReplacer("NAME", "load balancer kube_service_rig_default_web", "NEW", c.observed.LoadBalancer.ID, "OLD", address).Replace(test.want)
			if got := steps(todo); got != want && (todo.Blocked == "" || !strings.HasPrefix(got, want)) {
				t.Errorf("%s, want %s", got, want)
			}
			if len(todo.Notices) != test.notices {
				t.Errorf("notices %v", todo.Notices)
			}
		})
	}
}

// The Service may need no floating IP any more, or another one, when the replacement is there.
func TestDiff_ReplacesWithTheFloatingIPThatIsWantedByThen(t *testing.T) {
	t.Parallel()
	const gone = "; load balancer kube_service_rig_default_web (lb-1): delete: another one has taken its place"
	for name, test := range map[string]struct {
		want *model.FloatingIP
		keep bool
		plan string
	}{
		"none":            {nil, false, "floating IP OLD: delete" + gone},
		"none, it stays":  {nil, true, "floating IP OLD: disassociate" + gone},
		"another address": {&model.FloatingIP{NetworkID: "public", Address: "203.0.113.9"}, false, "floating IP: create on network public 203.0.113.9" + gone},
	} {
		c, opts := replacing(t, web(ofOVN))
		opts.KeepFloatingIP = test.keep
		want := strings.ReplaceAll(test.plan, "OLD", c.observed.Outgoing.FloatingIP.Address)
		if got := steps(plan.Diff(web(ofOVN, floatingIP(test.want)), c.observed, opts)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The settings that cannot change need a replacement, and are in its hash: nothing else is.
func TestReplacementHash_HasWhatNeedsAReplacement(t *testing.T) {
	t.Parallel()
	full := func(changes ...func(*model.LoadBalancer)) *model.LoadBalancer {
		return web(append([]func(*model.LoadBalancer){func(lb *model.LoadBalancer) {
			lb.FlavorID, lb.AvailabilityZone = "small", "zone"
			lb.VIP = model.VIP{PortID: "port", SubnetID: "subnet", NetworkID: "network", Address: "10.0.0.5"}
		}}, changes...)...)
	}
	for name, test := range map[string]struct {
		change   func(lb *model.LoadBalancer, to string)
		needs    bool
		optional bool // "" requests nothing
	}{
		"provider":          {func(lb *model.LoadBalancer, to string) { lb.Provider = to }, true, true},
		"flavor":            {func(lb *model.LoadBalancer, to string) { lb.FlavorID = to }, true, true},
		"availability zone": {func(lb *model.LoadBalancer, to string) { lb.AvailabilityZone = to }, true, true},
		"port":              {func(lb *model.LoadBalancer, to string) { lb.VIP.PortID = to }, true, true},
		"subnet":            {func(lb *model.LoadBalancer, to string) { lb.VIP.SubnetID = to }, true, true},
		"network":           {func(lb *model.LoadBalancer, to string) { lb.VIP.NetworkID = to }, true, true},
		"address":           {func(lb *model.LoadBalancer, to string) { lb.VIP.Address = to }, true, true},
		"another VIP": {func(lb *model.LoadBalancer, to string) {
			lb.VIP.Additional = []model.AdditionalVIP{{Family: model.IPv6, SubnetID: to}}
		}, true, false},
		"name":        {func(lb *model.LoadBalancer, to string) { lb.Name = to }, false, true},
		"tags":        {func(lb *model.LoadBalancer, to string) { lb.Tags = []string{to} }, false, true},
		"listeners":   {func(lb *model.LoadBalancer, _ string) { lb.Listeners = nil }, false, true},
		"floating IP": {func(lb *model.LoadBalancer, to string) { lb.FloatingIP = &model.FloatingIP{Address: to} }, false, true},
		"QoS policy":  {func(lb *model.LoadBalancer, to string) { lb.VIP.QoSPolicyID = to }, false, true},
	} {
		desired, there := full(func(lb *model.LoadBalancer) { test.change(lb, "other") }), full()
		if got := plan.NeedsReplacement(desired, there); got != test.needs {
			t.Errorf("another %s needs a replacement: %v", name, got)
		}
		if differ := plan.ReplacementHash(desired) != plan.ReplacementHash(there); differ != test.needs {
			t.Errorf("another %s makes another hash: %v", name, differ)
		}
		if unset := full(func(lb *model.LoadBalancer) { test.change(lb, "") }); test.optional && plan.NeedsReplacement(unset, there) {
			t.Errorf("no %s needs a replacement", name)
		}
		for why, change := range map[string]func(*model.LoadBalancer){
			"was made for the same": func(lb *model.LoadBalancer) { lb.ReplacementHash = plan.ReplacementHash(desired) },
			"holds others' objects": func(lb *model.LoadBalancer) { lb.Foreign = []model.Foreign{{Kind: "pool"}} },
			"is another's":          func(lb *model.LoadBalancer) { lb.Shared = &model.Shared{} },
		} {
			if plan.NeedsReplacement(desired, full(change)) {
				t.Errorf("another %s replaces a load balancer that %s", name, why)
			}
		}
	}
	if alias := full(func(lb *model.LoadBalancer) { lb.Provider = "octavia" }); plan.NeedsReplacement(alias, full()) || plan.ReplacementHash(alias) != plan.ReplacementHash(full()) {
		t.Error("another name of the provider is another provider")
	}
}

// What stays, and what the user can do about it.
func TestDiff_NoticesWhatCannotChange(t *testing.T) {
	t.Parallel()
	const stays = `the flavor stays "" on the load balancer that exists: `
	const allow = `the annotation loadbalancer.openstack.org/allow-replace: "true" lets a new load balancer with "big" take its place`
	network := func(id string) *model.FloatingIP { return &model.FloatingIP{NetworkID: id} }
	for name, test := range map[string]struct {
		flavor    string
		want, has *model.FloatingIP
		change    func(*model.LoadBalancer)
		notice    string
	}{
		"nothing":            {},
		"a flavor":           {"big", network("public"), nil, nil, stays + allow},
		"a flavor, internal": {"big", nil, nil, nil, stays + allow + ", at another address"},
		"made for it": {"big", nil, nil, func(lb *model.LoadBalancer) {
			lb.ReplacementHash = plan.ReplacementHash(web(func(lb *model.LoadBalancer) { lb.FlavorID = "big" }))
		}, stays + `it was created again for "big", which did not help`},
		"others are on it":           {"big", nil, nil, func(lb *model.LoadBalancer) { lb.Foreign = []model.Foreign{{Kind: "pool"}} }, stays + `"big" is not possible as long as others are on it`},
		"a floating network":         {"", network("other"), network("public"), nil, `the floating IP 203.0.113.7 of network "public" stays, as its address would change: name another one by ID, tag or address to take one of network "other"`},
		"the same floating network":  {"", network("public"), network("public"), nil, ""},
		"its network is not known":   {"", network("other"), network(""), nil, ""},
		"any floating network":       {"", network(""), network("public"), nil, ""},
		"one in a network requested": {"", &model.FloatingIP{NetworkID: "other", Address: "203.0.113.7"}, network("public"), nil, ""},
	} {
		observed := made(t, web(floatingIP(nil)))
		if test.has != nil {
			test.has.ID, test.has.Address = "fip", "203.0.113.7"
			observed.LoadBalancer.FloatingIP = test.has
		}
		if test.change != nil {
			test.change(observed.LoadBalancer)
		}
		got := plan.Diff(web(floatingIP(test.want), func(lb *model.LoadBalancer) { lb.FlavorID = test.flavor }), observed, plan.Options{}).Notices
		if strings.Join(got, "\n") != test.notice {
			t.Errorf("%s: %q, want %q", name, got, test.notice)
		}
	}
}
