package apply_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// ledger is an Octavia and a Neutron that records requests, and accepts each unless the test has another answer.
type ledger struct {
	observe.Octavia

	mu   sync.Mutex
	sent []string
	// answers are those of the next requests, by the first word of their records; after the last one, requests
	// are accepted. An answer is an error, or a result of the type that the method returns.
	answers map[string][]any
	// lb is the load balancer that the cloud has: status trees and reads show it.
	lb *model.LoadBalancer
	// lists are those of load balancers, floating IPs on ports.
	lists    []octavia.LoadBalancer
	floating []floatingips.FloatingIP
	// gone is the load balancer that does not exist once the requests until were sent.
	gone  string
	until []string
}

// refusal is an answer of a service with an HTTP status, as clients return it.
func refusal(status int, body string) error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodPost, Actual: status, Body: []byte(body), ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "do it")
}

// call records a request, and returns its answer: the error, or the result.
func (l *ledger) call(method string, words ...any) (result any, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := method
	for _, word := range words {
		if _, is := word.(string); !is {
			body, _ := json.Marshal(word)
			word = string(body)
		}
		text += " " + fmt.Sprint(word)
	}
	l.sent = append(l.sent, text)
	if len(l.until) > 0 && method == l.until[0] {
		l.until = l.until[1:]
	}
	if method == "LoadBalancerState" && len(l.until) == 0 && l.gone != "" && strings.HasSuffix(text, " "+l.gone) {
		return nil, refusal(http.StatusNotFound, "")
	}
	if queue := l.answers[method]; len(queue) > 0 {
		l.answers[method] = queue[1:]
		if err, is := queue[0].(error); is {
			return nil, err
		}
		return queue[0], nil
	}
	return nil, nil
}

// do is call for a request without a result.
func (l *ledger) do(method string, words ...any) error {
	_, err := l.call(method, words...)
	return err
}

// answer makes the next requests of a method get these answers.
func (l *ledger) answer(method string, all ...any) {
	if l.answers == nil {
		l.answers = map[string][]any{}
	}
	l.answers[method] = append(l.answers[method], all...)
}

// assertSent compares the requests since the last time.
func (l *ledger) assertSent(t *testing.T, what string, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.sent); diff != "" {
		t.Errorf("%s: sent %s", what, diff)
	}
	l.sent = nil
}

func (l *ledger) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	result, err := l.call("LoadBalancerState", id)
	state, is := result.(octavia.LoadBalancerState)
	if !is {
		state = octavia.LoadBalancerState{ProvisioningStatus: model.StatusActive}
	}
	state.ID = id
	return state, err
}

func (l *ledger) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	return nil, l.do("LoadBalancerStates")
}

func (l *ledger) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	result, err := l.call("StatusTree", id)
	if err != nil {
		return nil, err
	}
	if shown, is := result.(*model.LoadBalancer); is {
		return treeOf(shown), nil
	}
	return treeOf(l.lb), nil
}

func (l *ledger) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	err := l.do("LoadBalancers")
	return slices.Clone(l.lists), err
}

func (l *ledger) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	result, err := l.call("LoadBalancer", id)
	lb, _ := result.(*octavia.LoadBalancer)
	return lb, err
}

// Listeners returns a listener of another client.
func (l *ledger) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	return []octavia.Listener{{ID: "theirs", Protocol: "TCP", Port: 22}}, l.do("Listeners", id)
}

func (l *ledger) Pool(_ context.Context, id string) (*octavia.Pool, error) {
	result, err := l.call("Pool", id)
	if pool, is := result.(*octavia.Pool); is {
		return pool, err
	}
	if err == nil {
		err = refusal(http.StatusNotFound, "")
	}
	return nil, err
}

func (l *ledger) CreateLoadBalancer(_ context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	err := l.do("CreateLoadBalancer", lb.Name)
	lb.ID, lb.VIPPortID, lb.ProvisioningStatus = "made", "made-port", model.StatusPendingCreate
	return &lb, err
}

func (l *ledger) UpdateLoadBalancer(_ context.Context, id string, changes octavia.Changes) error {
	return l.do("UpdateLoadBalancer", id, changes)
}

func (l *ledger) DeleteLoadBalancer(_ context.Context, id string, cascade bool) error {
	return l.do("DeleteLoadBalancer", id, cascade)
}

func (l *ledger) FailOver(_ context.Context, id string) error { return l.do("FailOver", id) }

func (l *ledger) CreateListener(_ context.Context, listener octavia.Listener) (*octavia.Listener, error) {
	err := l.do("CreateListener", listener)
	listener.ID, listener.TimeoutClientData = "made", ptr.To(50000)
	return &listener, err
}

func (l *ledger) UpdateListener(_ context.Context, id string, changes octavia.Changes) (*octavia.Listener, error) {
	return &octavia.Listener{ID: id, TimeoutClientData: ptr.To(50000)}, l.do("UpdateListener", id, changes)
}

func (l *ledger) DeleteListener(_ context.Context, id string) error {
	return l.do("DeleteListener", id)
}

func (l *ledger) CreatePool(_ context.Context, pool octavia.Pool) (*octavia.Pool, error) {
	err := l.do("CreatePool", pool)
	pool.ID = "made"
	return &pool, err
}

func (l *ledger) UpdatePool(_ context.Context, id string, changes octavia.Changes) error {
	return l.do("UpdatePool", id, changes)
}

func (l *ledger) DeletePool(_ context.Context, id string) error { return l.do("DeletePool", id) }

func (l *ledger) CreateMonitor(_ context.Context, monitor octavia.HealthMonitor) (*octavia.HealthMonitor, error) {
	err := l.do("CreateMonitor", monitor)
	monitor.ID = "made"
	return &monitor, err
}

func (l *ledger) UpdateMonitor(_ context.Context, id string, changes octavia.Changes) error {
	return l.do("UpdateMonitor", id, changes)
}

func (l *ledger) DeleteMonitor(_ context.Context, id string) error {
	return l.do("DeleteMonitor", id)
}

func (l *ledger) SetMembers(_ context.Context, pool string, members []octavia.Member, additive bool) error {
	return l.do("SetMembers", pool, additive, members)
}

func (l *ledger) AddMember(_ context.Context, pool string, member octavia.Member) (id string, err error) {
	return "made", l.do("AddMember", pool, member)
}

func (l *ledger) UpdateMember(_ context.Context, pool, member string, changes octavia.Changes) error {
	return l.do("UpdateMember", pool, member, changes)
}

func (l *ledger) RemoveMember(_ context.Context, pool, member string) error {
	return l.do("RemoveMember", pool, member)
}

func (l *ledger) CreateFloatingIP(_ context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
	err := l.do("CreateFloatingIP", opts)
	return &floatingips.FloatingIP{ID: "made", FloatingNetworkID: opts.FloatingNetworkID, FloatingIP: "203.0.113.99"}, err
}

func (l *ledger) UpdateFloatingIP(_ context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error) {
	words := []any{id, opts}
	if opts.RevisionNumber != nil {
		words = append(words, "if", *opts.RevisionNumber)
	}
	return nil, l.do("UpdateFloatingIP", words...)
}

func (l *ledger) DeleteFloatingIP(_ context.Context, id string) error {
	return l.do("DeleteFloatingIP", id)
}

func (l *ledger) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	err := l.do("FloatingIPs")
	if filter.Description != "" {
		return nil, err
	}
	return slices.Clone(l.floating), err
}

// forwardNetwork is the part of Neutron for port forwardings.
type forwardNetwork struct {
	router.ForwardingNeutron
	*ledger
}

func (f forwardNetwork) DeleteForwarding(_ context.Context, fip, id string) error {
	return f.do("DeleteForwarding", fip, id)
}

func (f forwardNetwork) CreateForwarding(_ context.Context, fip string, want neutron.Forwarding) (id string, err error) {
	return "made", f.do("CreateForwarding", fip, want.InternalIPAddress, want.Description)
}

// treeOf is the status tree of a load balancer in the state of a model.
func treeOf(lb *model.LoadBalancer) *octavia.StatusTree {
	node := func(id, name string, status model.Status) octavia.NodeStatus {
		return octavia.NodeStatus{ID: id, Name: name, ProvisioningStatus: status.Provisioning, OperatingStatus: status.Operating}
	}
	tree := &octavia.StatusTree{NodeStatus: node(lb.ID, lb.Name, lb.Status)}
	for _, l := range lb.Listeners {
		listener := octavia.ListenerStatus{NodeStatus: node(l.ID, l.Name, l.Status)}
		if l.Protocol.HasPool() {
			pool := octavia.PoolStatus{NodeStatus: node(l.Pool.ID, l.Pool.Name, l.Pool.Status)}
			if m := l.Pool.Monitor; m != nil {
				pool.Monitor = octavia.MonitorStatus{NodeStatus: node(m.ID, m.Name, m.Status), Type: m.Type}
			}
			for _, m := range l.Pool.Members.All() {
				pool.Members = append(pool.Members, octavia.MemberStatus{NodeStatus: node(m.ID, m.Name, m.Status), Address: m.Address, Port: m.Port})
			}
			listener.Pools = append(listener.Pools, pool)
		}
		tree.Listeners = append(tree.Listeners, listener)
	}
	return tree
}

// newLedger returns a ledger and an applier that writes to it. It waits for parts without progress as long as the test
// lasts.
func newLedger(t *testing.T) (*ledger, *apply.Applier) {
	t.Helper()
	return newLedgerOf(t, time.Hour)
}

// childTimeout is how long an impatient applier waits for parts without progress.
const childTimeout = 5 * time.Millisecond

// newImpatient returns a ledger and an applier that soon gives up parts without progress.
func newImpatient(t *testing.T) (*ledger, *apply.Applier) {
	t.Helper()
	return newLedgerOf(t, childTimeout)
}

func newLedgerOf(t *testing.T, patience time.Duration) (*ledger, *apply.Applier) {
	t.Helper()
	l := &ledger{}
	shared := watcher.New(l, clock.RealClock{})
	t.Cleanup(shared.Close)
	fast := driver.PollInterval{First: time.Millisecond, Cap: time.Millisecond}
	return l, apply.New(apply.Applier{
		Octavia: l, Neutron: l, Watcher: shared, Clock: clock.RealClock{}, Observer: &observe.Observer{Octavia: l, Neutron: l},
		Forwardings: &router.Forwardings{Neutron: forwardNetwork{ledger: l}},
		Drivers: driver.NewRegistry(driver.Settings{Timing: driver.Timing{
			Create: fast, Update: fast, Delete: fast, ChildInterval: time.Millisecond, ChildTimeout: patience, LostCreateRetry: time.Millisecond,
		}}),
	})
}

// serving is the state of a Service with two ports, a pool without a listener, a free floating IP, and another load
// balancer with a floating IP.
func serving(provider string) model.Observed {
	active := model.Status{Provisioning: model.StatusActive}
	lb := &model.LoadBalancer{
		ID: "lb", Name: "web", Provider: provider, Status: active, VIP: model.VIP{SubnetID: "subnet", PortID: "port", Address: "10.0.0.9"},
		Orphans: []model.Pool{{ID: "spare", Name: "spare", Protocol: model.HTTP, Status: active}},
	}
	for _, port := range []int{80, 443} {
		id := fmt.Sprint(port)
		lb.Listeners = append(lb.Listeners, model.Listener{ID: "l" + id, Name: "listener " + id, Protocol: model.TCP, Port: port, Status: active, Pool: model.Pool{
			ID: "p" + id, Name: "pool " + id, Protocol: model.TCP, Algorithm: "ROUND_ROBIN", Status: active,
			Members: model.MembersOf(
				model.Member{ID: "a" + id, Name: "node-a", Address: "10.0.0.11", Port: 30000 + port, Status: active},
				model.Member{ID: "b" + id, Name: "node-b", Address: "10.0.0.12", Port: 30000 + port, Status: active},
			),
			Monitor: &model.Monitor{ID: "m" + id, Name: "monitor " + id, Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3, Status: active},
		}})
	}
	lb.Sort()
	return model.Observed{
		LoadBalancer:          lb,
		UnattachedFloatingIPs: []model.FloatingIP{{ID: "free", Address: "203.0.113.1", Owned: true}},
		Duplicates:            []model.LoadBalancer{{ID: "old", Name: "old", FloatingIP: &model.FloatingIP{ID: "moving", Address: "203.0.113.2", PortID: "old-port"}}},
	}
}

// after is the state after steps, with the IDs of a ledger.
func after(observed model.Observed, steps ...plan.Step) model.Observed {
	observed = observed.Clone()
	for _, step := range steps {
		plan.Advance(&observed, step)
		identify := func(pool *model.Pool) {
			if pool.ID == "" && pool.Name != "" {
				pool.ID = "made"
			}
			if pool.Monitor != nil && pool.Monitor.ID == "" {
				monitor := *pool.Monitor
				monitor.ID, pool.Monitor = "made", &monitor
			}
			if _, is := step.(plan.AddMember); is {
				pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member {
					if m.ID == "" {
						m.ID = "made"
					}
					return m
				})
			}
		}
		if lb := observed.LoadBalancer; lb != nil {
			for i := range lb.Listeners {
				if l := &lb.Listeners[i]; l.ID == "" {
					l.ID = "made"
				}
				identify(&lb.Listeners[i].Pool)
			}
			for i := range lb.Orphans {
				identify(&lb.Orphans[i])
			}
		}
	}
	return observed
}

// apply applies steps, and returns the state and the error.
func (l *ledger) apply(t *testing.T, applier *apply.Applier, observed model.Observed, steps ...plan.Step) (model.Observed, error) {
	t.Helper()
	return applier.Run(t.Context(), apply.Request{ID: us(), Observed: observed, Plan: plan.Plan{Steps: steps}})
}

// words returns the first words of requests.
func words(sent []string) (all []string) {
	for _, text := range sent {
		word, _, _ := strings.Cut(text, " ")
		all = append(all, word)
	}
	return all
}

// goneAfter makes a load balancer be gone for the reads after some requests: until then it is ACTIVE.
func (l *ledger) goneAfter(id string, requests ...string) {
	l.gone, l.until = id, requests
}
