package apply_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// exhausted is Neutron's refusal of a floating IP in a subnet without a free address.
func exhausted() error {
	return refusal(http.StatusConflict, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network x.", "detail": ""}}`)
}

// Subnets are tried in turn. A requested address determines its own.
func TestRun_CreatesAFloatingIPInTheFirstSubnetWithAnAddress(t *testing.T) {
	t.Parallel()
	const sent = `CreateFloatingIP {"floating_network_id":"ext","port_id":"port"`
	in := func(subnet string) string { return sent + `,"subnet_id":"` + subnet + `"}` }
	for name, test := range map[string]struct {
		want    model.FloatingIP
		answers []any
		sent    []string
		err     string
	}{
		"any subnet":         {model.FloatingIP{}, nil, []string{sent + "}"}, ""},
		"the first":          {model.FloatingIP{SubnetIDs: []string{"a", "b"}}, nil, []string{in("a")}, ""},
		"the second":         {model.FloatingIP{SubnetIDs: []string{"a", "b"}}, []any{exhausted()}, []string{in("a"), in("b")}, ""},
		"none of two":        {model.FloatingIP{SubnetIDs: []string{"a", "b"}}, []any{exhausted(), exhausted()}, []string{in("a"), in("b")}, "none of the subnets a, b has a free address"},
		"not the only one":   {model.FloatingIP{SubnetIDs: []string{"a"}}, []any{exhausted()}, []string{in("a")}, "No more IP addresses"},
		"refused in the one": {model.FloatingIP{SubnetIDs: []string{"a", "b"}}, []any{refusal(http.StatusForbidden, "")}, []string{in("a")}, "403"},
		"its address":        {model.FloatingIP{SubnetIDs: []string{"a"}, Address: "203.0.113.7"}, nil, []string{`CreateFloatingIP {"floating_network_id":"ext","floating_ip_address":"203.0.113.7","port_id":"port"}`}, ""},
	} {
		l, applier := newLedger(t)
		l.answer("CreateFloatingIP", test.answers...)
		test.want.NetworkID = "ext"
		observed, err := l.apply(t, applier, serving("amphora"), plan.CreateFloatingIP{FloatingIP: test.want})
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
		if (observed.LoadBalancer.FloatingIP != nil) != (err == nil) {
			t.Errorf("%s: the state has %+v", name, observed.LoadBalancer.FloatingIP)
		}
		l.assertSent(t, name, test.sent...)
	}
}

// A load balancer with VIPs of both families has its floating IP at the address of IPv4.
func TestRun_PutsTheFloatingIPOnTheVIPOfIPv4(t *testing.T) {
	t.Parallel()
	for name, test := range stepsOfFloatingIPs() {
		if !slices.Contains([]string{"associate", "move", "create"}, name) {
			continue
		}
		l, applier := newLedger(t)
		observed := serving("amphora")
		observed.LoadBalancer.VIP.Address = "fd00::9"
		observed.LoadBalancer.VIP.Additional = []model.AdditionalVIP{{Family: model.IPv4, Address: "10.0.0.9"}}
		if _, err := l.apply(t, applier, observed, test.step); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(l.sent) != 1 || !strings.Contains(l.sent[0], `"fixed_ip_address":"10.0.0.9"`) {
			t.Errorf("%s: sent %q", name, l.sent)
		}
	}
}

// A lost answer and a conflict can mean that the VIP has a floating IP now. Another one must not be created.
func TestRun_TakesTheFloatingIPThatTheVIPHasAfterAnUnclearAnswer(t *testing.T) {
	t.Parallel()
	create, besides := stepsOfFloatingIPs()["create"].step, stepsOfFloatingIPs()["create beside"].step
	has := []floatingips.FloatingIP{{ID: "theirs", PortID: "port", FloatingIP: "203.0.113.50"}}
	unsent := &apierror.NoAnswerError{Method: http.MethodPost}
	for name, test := range map[string]struct {
		step     plan.Step
		answer   error
		floating []floatingips.FloatingIP
		look     error // the answer to the look
		looks    bool
		taken    bool
	}{
		"lost, and created":         {create, refusal(http.StatusGatewayTimeout, ""), has, nil, true, true},
		"lost, and not created":     {create, refusal(http.StatusGatewayTimeout, ""), nil, nil, true, false},
		"no connection":             {create, unsent, has, nil, false, false},
		"VIP has one":               {create, refusal(http.StatusConflict, ""), has, nil, true, true},
		"another conflict":          {create, refusal(http.StatusConflict, ""), nil, nil, true, false},
		"conflict, look fails":      {create, refusal(http.StatusConflict, ""), has, refusal(http.StatusForbidden, ""), true, false},
		"no address is no conflict": {create, exhausted(), has, nil, false, false},
		"forbidden":                 {create, refusal(http.StatusForbidden, ""), has, nil, false, false},
		"beside the VIP":            {besides, refusal(http.StatusConflict, ""), has, nil, false, false},
		"beside the VIP, lost":      {besides, refusal(http.StatusGatewayTimeout, ""), has, nil, false, false},
	} {
		l, applier := newLedger(t)
		l.floating = test.floating
		l.answer("CreateFloatingIP", test.answer)
		if test.look != nil {
			l.answer("FloatingIPs", test.look)
		}
		observed, err := l.apply(t, applier, serving("amphora"), test.step)
		fip := observed.LoadBalancer.FloatingIP
		if test.taken != (err == nil) || test.taken != (fip != nil && fip.ID == "theirs") {
			t.Errorf("%s: error %v, floating IP %+v", name, err, fip)
		}
		if err != nil && !errors.Is(err, test.answer) && apierror.StatusCode(err) != apierror.StatusCode(test.answer) {
			t.Errorf("%s: error %v is not the cause %v", name, err, test.answer)
		}
		if sent := words(l.sent); len(sent) > 0 && sent[0] != "CreateFloatingIP" || slices.Contains(sent[1:], "CreateFloatingIP") {
			t.Errorf("%s: sent %q", name, sent)
		}
		if looks := slices.Contains(words(l.sent), "FloatingIPs"); looks != test.looks {
			t.Errorf("%s: looked %t, want %t", name, looks, test.looks)
		}
	}
}

func TestRun_RecordsWhereAFloatingIPIsAfterEachStep(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]model.FloatingIP{
		"associate": {ID: "free", Address: "203.0.113.1", PortID: "port", Owned: true, Description: "ours"},
		"move":      {ID: "moving", Address: "203.0.113.2", PortID: "port"},
		"create":    {ID: "made", Address: "203.0.113.99", PortID: "port", NetworkID: "ext", Owned: true, Description: "ours"},
	} {
		l, applier := newLedger(t)
		observed, err := l.apply(t, applier, serving("amphora"), stepsOfFloatingIPs()[name].step)
		if diff := cmp.Diff(&want, observed.LoadBalancer.FloatingIP); err != nil || diff != "" {
			t.Errorf("%s: error %v, %s", name, err, diff)
		}
	}
	l, applier := newLedger(t)
	observed, err := l.apply(t, applier, serving("amphora"), stepsOfFloatingIPs()["create beside"].step, plan.AssociateFloatingIP{})
	if fip := observed.LoadBalancer.FloatingIP; err != nil || fip == nil || fip.ID != "made" || fip.PortID != "port" {
		t.Errorf("the one created last: error %v, %+v", err, fip)
	}
	l.assertSent(t, "the one created last", stepsOfFloatingIPs()["create beside"].sent, `UpdateFloatingIP made {"port_id":"port"}`)
}

// Port forwardings are set on the floating IP of the step, or on the one created last.
func TestRun_SetsPortForwardings(t *testing.T) {
	t.Parallel()
	to := []model.Forwarding{{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "10.0.0.11", NodePort: 30080}}
	created := us().ProvenDescription()
	refused := refusal(http.StatusForbidden, "")
	for name, test := range map[string]struct {
		steps   []plan.Step
		answers map[string]any
		sent    []string
		fails   string
	}{
		"existing": {[]plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "fip"}, To: to}}, nil, []string{"CreateForwarding fip 10.0.0.11 " + created}, ""},
		"described": {[]plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "fip"}, To: to, Describe: "ours"}}, nil,
			[]string{`UpdateFloatingIP fip {"description":"ours"}`, "CreateForwarding fip 10.0.0.11 " + created}, ""},
		"created last": {[]plan.Step{stepsOfFloatingIPs()["create beside"].step, plan.SetForwardings{Creates: true, To: to}}, nil,
			[]string{stepsOfFloatingIPs()["create beside"].sent, "CreateForwarding made 10.0.0.11 " + created}, ""},
		"created last, gone":          {[]plan.Step{plan.SetForwardings{Creates: true, To: to}}, nil, nil, "it is not there any more"},
		"description refused":         {[]plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "fip"}, To: to, Describe: "ours"}}, map[string]any{"UpdateFloatingIP": refused}, []string{`UpdateFloatingIP fip {"description":"ours"}`}, "403"},
		"forwarding refused":          {[]plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "fip"}, To: to}}, map[string]any{"CreateForwarding": refused}, []string{"CreateForwarding fip 10.0.0.11 " + created}, "403"},
		"forwarding deleted, refused": {[]plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "fip"}, From: []model.Forwarding{{ID: "f"}}}}, map[string]any{"DeleteForwarding": refused}, []string{"DeleteForwarding fip f"}, "403"},
	} {
		l, applier := newLedger(t)
		for method, answer := range test.answers {
			l.answer(method, answer)
		}
		observed, err := l.apply(t, applier, model.Observed{}, test.steps...)
		l.assertSent(t, name, test.sent...)
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: error %v, want %q", name, err, test.fails)
		}
		lb := observed.LoadBalancer
		if (lb != nil) != (err == nil) {
			t.Errorf("%s: the state has %+v", name, lb)
		}
		if lb != nil && (lb.Provider != driver.PortForwarding || len(lb.Forwardings) != 1 || lb.Forwardings[0].ID != "made" || lb.ID != lb.FloatingIP.ID) {
			t.Errorf("%s: the state has %+v", name, lb)
		}
	}
}
