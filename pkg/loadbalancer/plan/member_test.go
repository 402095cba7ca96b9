package plan_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestAdvance_KeepsTheIDOfAMemberThatChanges(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{Listeners: []model.Listener{{Pool: model.Pool{ID: "p", Members: model.MembersOf(
		model.Member{ID: "a", Address: "10.0.0.1", Port: 80}, model.Member{ID: "b", Address: "10.0.0.2", Port: 80},
	)}}}}
	from := lb.Listeners[0].Pool.Members.At(1)
	to := model.Member{Address: "10.0.0.2", Port: 80, MonitorPort: 10256}
	plan.Advance(&model.Observed{LoadBalancer: lb}, plan.UpdateMember{Pool: plan.PoolRef{ID: "p"}, From: from, To: to})
	members := lb.Listeners[0].Pool.Members
	if !members.IsID(0, "a") || members.Kind(0).MonitorPort != 0 || !members.IsID(1, "b") || members.Kind(1).MonitorPort != 10256 {
		t.Errorf("%+v", members)
	}
}

func TestUpdateMember_PrintsEachSettingThatChanges(t *testing.T) {
	t.Parallel()
	from := model.Member{Name: "node-1", Weight: 5}
	for setting, change := range map[string]func(*model.Member){
		"repair": func(*model.Member) {}, "monitor_port 0 → 10256": func(m *model.Member) { m.MonitorPort = 10256 },
		"weight 5 → 1": func(m *model.Member) { m.Weight = 0 }, "weight 5 → 0": func(m *model.Member) { m.Drained = true },
		"backup false → true": func(m *model.Member) { m.Backup = true }, "settings  → monitor_address": func(m *model.Member) { m.Unasked = "monitor_address" },
	} {
		to := from
		change(&to)
		if got, want := (plan.UpdateMember{Pool: plan.PoolRef{Name: "pool"}, From: from, To: to}).String(), "pool pool: member node-1: "+setting; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUpdatePool_PrintsEachSettingThatChanges(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct{ from, to model.Pool }{
		"repair":                                        {model.Pool{}, model.Pool{Members: model.MembersOf(memberOn(1, 80))}},
		"admin_state_up false → true":                   {model.Pool{AdminDown: true}, model.Pool{}},
		"lb_algorithm A → B":                            {model.Pool{Algorithm: "A"}, model.Pool{Algorithm: "B"}},
		"session_persistence none → SOURCE_IP":          {model.Pool{}, model.Pool{Persistence: model.Persistence{Type: model.SourceIP}}},
		"session_persistence SOURCE_IP for 60 s → none": {model.Pool{Persistence: model.Persistence{Type: model.SourceIP, Timeout: 60}}, model.Pool{}},
		"session_persistence HTTP_COOKIE → APP_COOKIE sid": {
			model.Pool{Persistence: model.Persistence{Type: "HTTP_COOKIE"}}, model.Pool{Persistence: model.Persistence{Type: model.AppCookie, CookieName: "sid"}},
		},
	} {
		if got := (plan.UpdatePool{Pool: plan.PoolRef{Name: "pool"}, From: test.from, To: test.to}).String(); got != "pool pool: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUpdateMonitor_PrintsEachSettingThatChanges(t *testing.T) {
	t.Parallel()
	from := model.Monitor{Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetriesDown: 1, HTTPMethod: "GET", URLPath: "/a", ExpectedCodes: "200", HTTPVersion: "1.0"}
	for setting, change := range map[string]func(*model.Monitor){
		"delay 1 → 2": func(m *model.Monitor) { m.Delay = 2 }, "timeout 1 → 2": func(m *model.Monitor) { m.Timeout = 2 },
		"max_retries 1 → 2":      func(m *model.Monitor) { m.MaxRetries = 2 },
		"max_retries_down 1 → 2": func(m *model.Monitor) { m.MaxRetriesDown = 2 },
		"http_method GET → HEAD": func(m *model.Monitor) { m.HTTPMethod = "HEAD" }, "url_path /a → /b": func(m *model.Monitor) { m.URLPath = "/b" },
		"expected_codes 200 → 204": func(m *model.Monitor) { m.ExpectedCodes = "204" }, "http_version 1.0 → 1.1": func(m *model.Monitor) { m.HTTPVersion = "1.1" },
		"domain_name none → example.org": func(m *model.Monitor) { m.DomainName = "example.org" },
	} {
		to := from
		change(&to)
		text := plan.UpdateMonitor{From: from, To: to}.String()
		if !strings.HasSuffix(text, ": "+setting) {
			t.Errorf("%q, want %q", text, setting)
		}
	}
}
