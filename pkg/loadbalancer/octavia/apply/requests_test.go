package apply_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// sentStep is a step on serving, with its request.
type sentStep struct {
	step plan.Step
	sent string
}

// of80 is the pool of port 80.
func of80() plan.PoolRef {
	return plan.PoolRef{ID: "p80", Name: "pool 80", Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Protocol: model.TCP}
}

// changed returns a value with a change.
func changed[T any](value T, change func(*T)) T {
	change(&value)
	return value
}

// stepsOfListeners are steps for load balancers, listeners and pools, in all of their variants.
func stepsOfListeners() map[string]sentStep {
	l80 := serving("amphora").LoadBalancer.Listener(model.ListenerKey{Transport: model.TCP, Port: 80})
	update := func(from, to func(*model.Listener)) plan.UpdateListener {
		return plan.UpdateListener{ID: "l80", Key: l80.Key(), From: changed(*l80, from), To: changed(*l80, to)}
	}
	same := func(*model.Listener) {}
	asked := func(value int) model.Limit { return model.Limit{Value: value, Asked: true} }
	all := map[string]sentStep{
		"VIP, all off": {
			plan.UpdateLoadBalancer{ID: "lb", From: model.VIPSettings{QoSPolicyID: "q", SecurityGroupIDs: []string{"s"}}},
			`UpdateLoadBalancer lb {"vip_qos_policy_id":null,"vip_sg_ids":[]}`,
		},
		"VIP, all on": {
			plan.UpdateLoadBalancer{ID: "lb", To: model.VIPSettings{QoSPolicyID: "q", SecurityGroupIDs: []string{"s", "t"}}},
			`UpdateLoadBalancer lb {"vip_qos_policy_id":"q","vip_sg_ids":["s","t"]}`,
		},
		"switch on": {plan.UpdateLoadBalancer{ID: "lb", SwitchOn: true}, `UpdateLoadBalancer lb {"admin_state_up":true}`},
		"failover":  {plan.FailOver{ID: "lb"}, "FailOver lb"},
		"listener": {
			plan.CreateListener{Listener: model.Listener{
				Name: "new", Protocol: model.HTTP, Port: 8080, Tags: []string{"t"}, AllowedCIDRs: []string{"10.0.0.0/8"}, InsertHeaders: []string{"X-Forwarded-For"},
				TLSContainerRef: "ref", Limits: model.Limits{TimeoutClientData: asked(50000)}, Pool: model.Pool{ID: "spare", Name: "spare", Protocol: model.HTTP},
			}},
			`CreateListener {"name":"new","description":"Set by Kubernetes: timeout_client_data","tags":["t"],"protocol":"HTTP","protocol_port":8080,"allowed_cidrs":["10.0.0.0/8"],` +
				`"insert_headers":{"X-Forwarded-For":"true"},"default_tls_container_ref":"ref","timeout_client_data":50000,"default_pool_id":"spare","loadbalancer_id":"lb"}`,
		},
		"listener of metrics": {
			plan.CreateListener{Listener: model.Listener{Name: "metrics", Protocol: model.Prometheus, Port: 9090}},
			`CreateListener {"name":"metrics","protocol":"PROMETHEUS","protocol_port":9090,"loadbalancer_id":"lb"}`,
		},
		"repair":           {update(same, same), `UpdateListener l80 {}`},
		"clients":          {update(same, func(l *model.Listener) { l.AllowedCIDRs = []string{"10.0.0.0/8"} }), `UpdateListener l80 {"allowed_cidrs":["10.0.0.0/8"]}`},
		"all clients":      {update(func(l *model.Listener) { l.AllowedCIDRs = []string{"10.0.0.0/8"} }, same), `UpdateListener l80 {"allowed_cidrs":[]}`},
		"no headers":       {update(func(l *model.Listener) { l.InsertHeaders = []string{"X-Forwarded-For"} }, same), `UpdateListener l80 {"insert_headers":{}}`},
		"certificate":      {update(same, func(l *model.Listener) { l.TLSContainerRef = "ref" }), `UpdateListener l80 {"default_tls_container_ref":"ref"}`},
		"switched on":      {update(func(l *model.Listener) { l.AdminDown = true }, same), `UpdateListener l80 {"admin_state_up":true}`},
		"switched off":     {update(same, func(l *model.Listener) { l.AdminDown = true }), `UpdateListener l80 {"admin_state_up":false}`},
		"limit":            {update(same, func(l *model.Listener) { l.Limits.ConnectionLimit = asked(7) }), `UpdateListener l80 {"connection_limit":7,"description":"Set by Kubernetes: connection_limit"}`},
		"no limit":         {update(func(l *model.Listener) { l.Limits.ConnectionLimit = asked(7) }, same), `UpdateListener l80 {"connection_limit":null,"description":"Set by Kubernetes: nothing"}`},
		"another pool":     {update(same, func(l *model.Listener) { l.Pool = model.Pool{Name: "spare", Protocol: model.HTTP} }), `UpdateListener l80 {"default_pool_id":"spare"}`},
		"listener deleted": {plan.DeleteListener{ID: "l80", Key: l80.Key()}, "DeleteListener l80"},
		"pool": {
			plan.CreatePool{Pool: model.Pool{
				Name: "fresh", Protocol: model.HTTP, Algorithm: "ROUND_ROBIN", Tags: []string{"t"}, Persistence: model.Persistence{Type: "APP_COOKIE", CookieName: "c"},
				Members: l80.Pool.Members, Monitor: l80.Pool.Monitor,
			}},
			`CreatePool {"name":"fresh","tags":["t"],"protocol":"HTTP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"APP_COOKIE","cookie_name":"c"},"loadbalancer_id":"lb"}`,
		},
		"pool deleted": {plan.DeletePool{ID: "spare"}, "DeletePool spare"},
	}
	for name, change := range map[string]struct {
		from, to model.Persistence
		sent     string
	}{
		"persistence":            {model.Persistence{}, model.Persistence{Type: model.SourceIP, Timeout: 60}, `{"persistence_timeout":60,"type":"SOURCE_IP"}`},
		"persistence, no values": {model.Persistence{Type: model.SourceIP, Timeout: 60, CookieName: "c"}, model.Persistence{Type: "HTTP_COOKIE"}, `{"cookie_name":null,"persistence_timeout":null,"type":"HTTP_COOKIE"}`},
		"no persistence":         {model.Persistence{Type: model.SourceIP, Timeout: 60}, model.Persistence{}, `null`},
	} {
		step := plan.UpdatePool{Pool: of80(), From: l80.Pool, To: l80.Pool}
		step.From.Persistence, step.To.Persistence = change.from, change.to
		all[name] = sentStep{step, `UpdatePool p80 {"session_persistence":` + change.sent + `}`}
	}
	return all
}

// stepsInPools are steps within the pool of port 80.
func stepsInPools() map[string]sentStep {
	pool := serving("amphora").LoadBalancer.Listener(model.ListenerKey{Transport: model.TCP, Port: 80}).Pool
	a, b := pool.Members.At(0), pool.Members.At(1)
	c := model.Member{Name: "node-c", Address: "10.0.0.13", Port: 30080, SubnetID: "s", MonitorPort: 31000, Weight: 5, AdminDown: true}
	slow := func(m *model.Monitor) { m.Delay, m.Timeout, m.MaxRetries, m.MaxRetriesDown = 30, 20, 4, 2 }
	web := func(m *model.Monitor) {
		slow(m)
		m.HTTPMethod, m.URLPath, m.ExpectedCodes, m.HTTPVersion, m.DomainName = "GET", "/", "200", "1.1", "example.org"
	}
	const intervals = `"delay":30,"max_retries":4,"max_retries_down":2`
	monitor := func(from, to func(*model.Monitor)) plan.UpdateMonitor {
		return plan.UpdateMonitor{Pool: of80(), From: changed(*pool.Monitor, from), To: changed(*pool.Monitor, to)}
	}
	return map[string]sentStep{
		"repair":       {plan.UpdatePool{Pool: of80(), From: pool, To: pool}, `UpdatePool p80 {}`},
		"algorithm":    {plan.UpdatePool{Pool: of80(), From: pool, To: changed(pool, func(p *model.Pool) { p.Algorithm = "SOURCE_IP" })}, `UpdatePool p80 {"lb_algorithm":"SOURCE_IP"}`},
		"pool is down": {plan.UpdatePool{Pool: of80(), From: changed(pool, func(p *model.Pool) { p.AdminDown = true }), To: pool}, `UpdatePool p80 {"admin_state_up":true}`},
		"members": {
			plan.SetMembers{Pool: of80(), Members: model.MembersOf(b, c), Added: model.MembersOf(c), Removed: model.MembersOf(a)},
			`SetMembers p80 false [{"name":"node-b","address":"10.0.0.12","protocol_port":30080},` +
				`{"name":"node-c","address":"10.0.0.13","protocol_port":30080,"subnet_id":"s","weight":5,"admin_state_up":false,"monitor_port":31000}]`,
		},
		"more members": {
			plan.SetMembers{Pool: of80(), Members: model.MembersOf(c), Added: model.MembersOf(c), Additive: true},
			`SetMembers p80 true [{"name":"node-c","address":"10.0.0.13","protocol_port":30080,"subnet_id":"s","weight":5,"admin_state_up":false,"monitor_port":31000}]`,
		},
		"member": {plan.AddMember{Pool: of80(), Member: changed(c, func(m *model.Member) { m.AdminDown, m.Drained = false, true })},
			`AddMember p80 {"name":"node-c","address":"10.0.0.13","protocol_port":30080,"subnet_id":"s","weight":0,"monitor_port":31000}`},
		"member changed":   {plan.UpdateMember{Pool: of80(), From: a, To: changed(a, func(m *model.Member) { m.Weight, m.MonitorPort = 9, 31000 })}, `UpdateMember p80 a80 {"admin_state_up":true,"backup":false,"monitor_port":31000,"weight":9}`},
		"member of others": {plan.UpdateMember{Pool: of80(), From: changed(a, func(m *model.Member) { m.Unasked = "10.9.9.9" }), To: changed(a, func(m *model.Member) { m.AdminDown = true })}, `UpdateMember p80 a80 {"admin_state_up":false,"backup":false,"monitor_address":null,"monitor_port":null,"weight":1}`},
		"member removed":   {plan.RemoveMember{Pool: of80(), Member: a}, "RemoveMember p80 a80"},
		"monitor": {
			plan.CreateMonitor{Pool: of80(), Monitor: changed(model.Monitor{Name: "m", Type: "HTTP", Tags: []string{"t"}}, web)},
			`CreateMonitor {"name":"m","tags":["t"],"pool_id":"p80","type":"HTTP","delay":30,"timeout":20,"max_retries":4,"max_retries_down":2,` +
				`"http_method":"GET","url_path":"/","expected_codes":"200","http_version":1.1,"domain_name":"example.org"}`,
		},
		"monitor changed":      {monitor(func(*model.Monitor) {}, slow), `UpdateMonitor m80 {` + intervals + `,"timeout":20}`},
		"monitor of HTTP":      {monitor(slow, web), `UpdateMonitor m80 {"delay":30,"domain_name":"example.org","expected_codes":"200","http_method":"GET","http_version":1.1,"max_retries":4,"max_retries_down":2,"timeout":20,"url_path":"/"}`},
		"monitor without host": {monitor(web, slow), `UpdateMonitor m80 {"delay":30,"domain_name":null,"http_version":null,"max_retries":4,"max_retries_down":2,"timeout":20}`},
		"monitor is down":      {monitor(func(m *model.Monitor) { m.AdminDown = true }, slow), `UpdateMonitor m80 {"admin_state_up":true,` + intervals + `,"timeout":20}`},
		"monitor deleted":      {plan.DeleteMonitor{Pool: of80(), Monitor: *pool.Monitor}, "DeleteMonitor m80"},
	}
}

// stepsOfFloatingIPs are steps that no load balancer waits for.
func stepsOfFloatingIPs() map[string]sentStep {
	return map[string]sentStep{
		"associate": {plan.AssociateFloatingIP{ID: "free", Revision: ptr.To(4), Describe: "ours"}, `UpdateFloatingIP free {"description":"ours","port_id":"port"} if 4`},
		"last one":  {plan.AssociateFloatingIP{}, `UpdateFloatingIP free {"port_id":"port"}`},
		"move":      {plan.MoveFloatingIP{ID: "moving", Revision: ptr.To(7)}, `UpdateFloatingIP moving {"port_id":"port"} if 7`},
		"take off":  {plan.DisassociateFloatingIP{ID: "free"}, `UpdateFloatingIP free {"port_id":""}`},
		"claim":     {plan.ClaimFloatingIP{ID: "free", Describe: "ours"}, `UpdateFloatingIP free {"description":"ours"}`},
		"delete":    {plan.DeleteFloatingIP{ID: "free"}, "DeleteFloatingIP free"},
		"create": {
			plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "ext", Description: "ours"}},
			`CreateFloatingIP {"description":"ours","floating_network_id":"ext","port_id":"port"}`,
		},
		"create beside": {plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "ext"}, Beside: true}, `CreateFloatingIP {"floating_network_id":"ext"}`},
	}
}

// ofCloud leaves out the values that the cloud chooses.
func ofCloud() cmp.Option {
	return cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.Listener{}, "Limits"), cmpopts.IgnoreFields(model.LoadBalancer{}, "UpdatedAt")}
}

func TestRun_SendsEachStepInOneRequestAndReadsTheResult(t *testing.T) {
	t.Parallel()
	for _, steps := range []map[string]sentStep{stepsOfListeners(), stepsInPools()} {
		for name, test := range steps {
			l, applier := newLedger(t)
			want := after(serving("amphora"), test.step)
			l.lb = want.LoadBalancer
			got, err := l.apply(t, applier, serving("amphora"), test.step)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			l.assertSent(t, name, test.sent, "LoadBalancerState lb", "StatusTree lb")
			if diff := cmp.Diff(want, got, ofCloud()); diff != "" {
				t.Errorf("%s: the state is not that of the plan: %s", name, diff)
			}
		}
	}
	for name, test := range stepsOfFloatingIPs() {
		l, applier := newLedger(t)
		if _, err := l.apply(t, applier, serving("amphora"), test.step); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		l.assertSent(t, name, test.sent)
	}
}

// The cloud chooses limits that are not requested, and reports them in its answer.
func TestRun_RecordsTheLimitsOfTheCloud(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"listener", "no limit"} {
		step := stepsOfListeners()[name].step
		l, applier := newLedger(t)
		want := after(serving("amphora"), step)
		l.lb = want.LoadBalancer
		got, err := l.apply(t, applier, serving("amphora"), step)
		if err != nil {
			t.Fatal(err)
		}
		port := map[string]int{"listener": 8080, "no limit": 80}[name]
		if limits := got.LoadBalancer.Listener(model.ListenerKey{Transport: model.TCP, Port: port}).Limits; limits.TimeoutClientData.Value != 50000 || limits.ConnectionLimit.Value == model.UnknownLimit {
			t.Errorf("%s: limits %+v", name, limits)
		}
	}
}

// A refused request has changed nothing, and the steps before it have, with the IDs of what they created. No status
// is read for that.
func TestRun_ReturnsTheStateBeforeAStepThatFails(t *testing.T) {
	t.Parallel()
	refused := refusal(http.StatusBadRequest, `{"faultstring": "no"}`)
	for _, steps := range []map[string]sentStep{stepsOfListeners(), stepsInPools(), stepsOfFloatingIPs()} {
		for name, test := range steps {
			l, applier := newLedger(t)
			method, _, _ := strings.Cut(test.sent, " ")
			l.answer(method, refused)
			got, err := l.apply(t, applier, serving("amphora"), test.step)
			if apierror.StatusCode(err) != http.StatusBadRequest {
				t.Errorf("%s: error %v, want the refusal", name, err)
			}
			if diff := cmp.Diff(serving("amphora"), got, ofCloud()); diff != "" {
				t.Errorf("%s: a refused step changes the state: %s", name, diff)
			}
			l.assertSent(t, name, test.sent)
			l.answer("UpdateLoadBalancer", refused)
			if method == "UpdateLoadBalancer" || method == "UpdateFloatingIP" || method == "CreateFloatingIP" || method == "DeleteFloatingIP" {
				continue
			}
			got, err = l.apply(t, applier, serving("amphora"), test.step, plan.UpdateLoadBalancer{ID: "lb", SwitchOn: true})
			if diff := cmp.Diff(after(serving("amphora"), test.step), got, ofCloud()); diff != "" || apierror.StatusCode(err) != http.StatusBadRequest {
				t.Errorf("%s: error %v, state before the next step: %s", name, err, diff)
			}
			if sent := words(l.sent); !slices.Equal(sent, []string{method, "LoadBalancerState", "UpdateLoadBalancer"}) {
				t.Errorf("%s: sent %q", name, sent)
			}
		}
	}
}

// Another client can delete a pool between the plan and the step.
func TestRun_SendsNothingForAPoolThatIsGone(t *testing.T) {
	t.Parallel()
	all := stepsInPools()
	for _, name := range []string{"listener", "another pool"} {
		all[name] = stepsOfListeners()[name]
	}
	for name, test := range all {
		l, applier := newLedger(t)
		observed := serving("amphora")
		observed.LoadBalancer.Listeners, observed.LoadBalancer.Orphans = observed.LoadBalancer.Listeners[:1], nil
		observed.LoadBalancer.Listeners[0].Pool.ID = "another"
		_, err := l.apply(t, applier, observed, test.step)
		if err == nil || !strings.Contains(err.Error(), "not found; what is missing is created in the next attempt") {
			t.Errorf("%s: error %v", name, err)
		}
		l.assertSent(t, name)
	}
	l, applier := newLedger(t)
	_, err := l.apply(t, applier, serving("amphora"), plan.AssociateFloatingIP{ID: "taken", Address: "203.0.113.7"})
	if err == nil || !strings.Contains(err.Error(), "203.0.113.7: it is not there any more") {
		t.Errorf("a floating IP that is gone: %v", err)
	}
	l.assertSent(t, "a floating IP that is gone")
}

// unknown is a step of a later version.
type unknown struct{ plan.Step }

func TestRun_RefusesStepsThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	l, applier := newLedger(t)
	observed := serving("amphora")
	observed.LoadBalancer.Orphans = append(observed.LoadBalancer.Orphans, model.Pool{}) // which a step without a pool refers to
	_, err := l.apply(t, applier, observed, unknown{plan.FailOver{ID: "lb"}})
	if err == nil || !strings.Contains(err.Error(), "unsupported step apply_test.unknown") {
		t.Errorf("error %v", err)
	}
	l.assertSent(t, "unknown step")
}

// A refusal that another plan may avoid is distinguished from others.
func TestRun_TellsRefusalsThatAnotherPlanAvoids(t *testing.T) {
	t.Parallel()
	batch, add := stepsInPools()["members"].step, stepsInPools()["member"].step
	filled := plan.CreateLoadBalancer{LoadBalancer: serving("amphora").LoadBalancer}
	empty := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Name: "web"}}
	const policy = `{"faultstring": "Policy does not allow this request."}`
	const quota = `{"faultstring": "Quota has been met for resources: Member"}`
	for name, test := range map[string]struct {
		step     plan.Step
		provider string
		status   int
		body     string
		refused  bool
		tries    int
	}{
		"unsupported":                {add, "amphora", http.StatusNotImplemented, "{}", true, 1},
		"invalid batch":              {batch, "amphora", http.StatusBadRequest, policy, true, 1},
		"forbidden batch":            {batch, "amphora", http.StatusForbidden, policy, true, 1},
		"invalid member":             {add, "amphora", http.StatusBadRequest, policy, false, 1},
		"forbidden member":           {add, "amphora", http.StatusForbidden, policy, false, 1},
		"forbidden failover":         {plan.FailOver{ID: "lb"}, "amphora", http.StatusForbidden, "{}", true, 1},
		"invalid failover":           {plan.FailOver{ID: "lb"}, "amphora", http.StatusBadRequest, "{}", false, 1},
		"no route, full creation":    {filled, "amphora", http.StatusMethodNotAllowed, "", true, 1},
		"no route, empty creation":   {empty, "amphora", http.StatusMethodNotAllowed, "", false, 1},
		"quota, before a removal":    {add, "ovn", http.StatusForbidden, quota, true, 1},
		"quota, no member by member": {add, "amphora", http.StatusForbidden, quota, false, 1},
		"locked forever":             {add, "amphora", http.StatusConflict, `{"faultstring": "Load Balancer lb is immutable and cannot be updated."}`, false, 5},
		"another conflict":           {add, "amphora", http.StatusConflict, `{"faultstring": "exists"}`, false, 1},
	} {
		l, applier := newLedger(t)
		l.lb = serving(test.provider).LoadBalancer
		for _, one := range []string{"AddMember", "SetMembers", "FailOver", "CreateLoadBalancer"} {
			for range 9 {
				l.answer(one, refusal(test.status, test.body))
			}
		}
		_, err := l.apply(t, applier, serving(test.provider), test.step, plan.RemoveMember{Pool: of80(), Member: model.Member{ID: "a80"}})
		var refused *apply.RefusedError
		if errors.As(err, &refused) != test.refused || apierror.StatusCode(err) != test.status {
			t.Errorf("%s: error %v, refused %t", name, err, refused != nil)
		}
		tries := 0
		for _, word := range words(l.sent) {
			if word != "LoadBalancerState" && word != "Pool" {
				tries++
			}
		}
		if tries != test.tries {
			t.Errorf("%s: sent %q, want %d tries", name, words(l.sent), test.tries)
		}
	}
}
