package goal

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// namesOf returns the IDs of load balancers in one text.
func namesOf(lbs ...model.LoadBalancer) string {
	var ids []string
	for _, lb := range lbs {
		ids = append(ids, lb.ID)
	}
	return strings.Join(ids, " ")
}

// inputsAt returns the inputs of a round of the Service of fixtures.
func inputsAt(addresses ...string) Inputs {
	in := inputsOf(by("", at(addresses...)))
	in.ID = rigIdentity()
	return in
}

func TestRoutedReader_ChoosesThePublishedVIP(t *testing.T) {
	t.Parallel()
	a, b := vipAt("10.77.0.5"), vipAt("10.77.0.6")
	unaddressed := vipAt("10.77.0.7", func(port *neutron.VIPPort) { port.FixedIPs = nil })
	for name, test := range map[string]struct {
		rig            []func(*rig)
		published      string
		chosen, others string // the VIP, the other ones
	}{
		"none":                 {nil, "10.77.0.5", "", ""},
		"one":                  {[]func(*rig){a}, "", "port-10.77.0.5", ""},
		"the second of two":    {[]func(*rig){a, b}, "10.77.0.6", "port-10.77.0.6", "port-10.77.0.5"},
		"none is published":    {[]func(*rig){a, b}, "203.0.113.7", "port-10.77.0.5", "port-10.77.0.6"},
		"one without address":  {[]func(*rig){unaddressed}, "10.77.0.7", "", "port-10.77.0.7"},
		"the one with address": {[]func(*rig){unaddressed, b}, "", "port-10.77.0.6", "port-10.77.0.7"},
	} {
		have, err := newRig(t, test.rig...).routedReader.find(t.Context(), inputsAt(test.published))
		chosen := ""
		if have.LoadBalancer != nil {
			chosen = have.LoadBalancer.ID
		}
		if chosen != test.chosen || namesOf(have.Duplicates...) != test.others || !have.Confirmed || have.As != rigIdentity() || err != nil {
			t.Errorf("%s: %q beside %q of %+v, error %v", name, chosen, namesOf(have.Duplicates...), have.As, err)
		}
	}
}

// A floating IP with port forwardings may be a Service's by its description, the published address or the NodePorts. A
// Service without the provider is asked for them only if the first floating IPs of the process show any.
func TestForwardedIPs_AreOfTheServiceByAnySign(t *testing.T) {
	t.Parallel()
	own := forwardedAt("own", "203.0.113.7", "10.0.0.1")
	undescribed := func(r *rig) {
		own(r)
		r.forwarded[0].Description, r.floatingIPs[0].Description = "", ""
	}
	unforwarded := func(r *rig) { r.floatingIPs[0].RouterID = "" }
	others := func(r *rig) {
		forwardedAt("others", "203.0.113.9", "10.0.0.2")(r)
		last := len(r.forwarded) - 1
		r.forwarded[last].Description, r.floatingIPs[last].Description, r.forwarded[last].Forwardings[0].InternalPort = "another's", "another's", 30443
	}
	begun := knowing(state.Entry{Made: state.Made{Forwards: true, Touched: true}})
	ports := func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31000 }
	for name, test := range map[string]struct {
		svc  *v1.Service
		asks bool
		rig  []func(*rig)
		want string
		sent string // the first words of the requests
	}{
		"described":                        {by("", at("203.0.113.8"), ports), false, []func(*rig){own, others}, "own", "floating-ips forwarded-ips"},
		"published":                        {by("", at("203.0.113.7"), ports), false, []func(*rig){undescribed, others}, "own", "floating-ips forwarded-ips"},
		"to its NodePorts":                 {by(driver.PortForwarding, at("203.0.113.8")), true, []func(*rig){undescribed, others}, "own", "forwarded-ips"},
		"to its NodePorts, not published":  {by(driver.PortForwarding), true, []func(*rig){undescribed}, "own", "forwarded-ips"},
		"to other NodePorts":               {by(driver.PortForwarding, at("203.0.113.8"), ports), true, []func(*rig){undescribed}, "", "forwarded-ips"},
		"no floating IP forwards":          {by("", at("203.0.113.7")), false, []func(*rig){own, unforwarded}, "", "floating-ips"},
		"only others forward":              {by("", at("203.0.113.7")), false, []func(*rig){others}, "", "floating-ips"},
		"never served":                     {by(""), false, []func(*rig){own}, "", ""},
		"never served, begun":              {by(""), false, []func(*rig){own, begun}, "own", "forwarded-ips"},
		"both of it":                       {by(driver.PortForwarding), true, []func(*rig){own, forwardedAt("more", "203.0.113.10", "10.0.0.2")}, "own more", "forwarded-ips"},
		"with the UID in a record of ours": {by("", at("198.51.100.1"), ports), false, []func(*rig){own, func(r *rig) { r.records.text = state.Record{LoadBalancerID: "lb", Service: serviceUID}.String() }}, "own", "load-balancers floating-ips forwarded-ips"},
	} {
		r := newRig(t, test.rig...)
		all, err := r.routedReader.forwardedIPs(t.Context(), rigIdentity(), PublishedOf(test.svc), test.asks)
		var ids, sent []string
		for _, fip := range all {
			ids = append(ids, fip.ID)
		}
		for _, request := range r.sent {
			sent = append(sent, strings.Fields(request)[0])
		}
		slices.Sort(sent)
		want := strings.Fields(test.sent)
		slices.Sort(want)
		if strings.Join(ids, " ") != test.want || !slices.Equal(sent, want) || err != nil {
			t.Errorf("%s: %q with %q, error %v", name, ids, sent, err)
		}
	}
}

// A list of another Service's read may be older than the changes of this one.
func TestForwardedIPs_ReadsTheListAgainAfterAChange(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]state.Entry{"unseen": {}, "changed": touched()} {
		r := newRig(t, forwardedAt("own", "203.0.113.7", "10.0.0.1"), knowing(entry))
		if _, err := r.Cloud.Forwardings.First(t.Context(), maxSnapshotAge); err != nil {
			t.Fatal(err)
		}
		r.sent = nil
		all, err := r.routedReader.forwardedIPs(t.Context(), rigIdentity(), Published{}, true)
		if len(all) != 1 || err != nil || r.has("forwarded-ips") != (name == "changed") {
			t.Errorf("%s: %+v with %q, error %v", name, all, r.sent, err)
		}
	}
}

// Without Octavia, Neutron alone has the floating IPs.
func TestFirstFloatingIPs_AreThoseOfTheSnapshotIfARecordNeedsOne(t *testing.T) {
	t.Parallel()
	recorded := func(r *rig) { r.records.text = state.Record{LoadBalancerID: "lb", Service: serviceUID}.String() }
	for name, test := range map[string]struct {
		rig  []func(*rig)
		took bool
		err  error
	}{
		"no record":                  {nil, false, nil},
		"a record":                   {[]func(*rig){recorded}, true, nil},
		"a record, without Octavia":  {[]func(*rig){recorded, failingAt("load-balancers", auth.ErrNoEndpoint{Service: "load-balancer"})}, true, nil},
		"a record, Octavia has gone": {[]func(*rig){recorded, failingAt("load-balancers", errFailed)}, true, errFailed},
	} {
		r := newRig(t, append(test.rig, floatingAt("fip", "203.0.113.7", ""))...)
		all, err := r.routedReader.firstFloatingIPs(t.Context(), serviceUID)
		if err != test.err || err == nil && len(all.WithWords("service-uid")) != 1 || r.has("load-balancers") != test.took {
			t.Errorf("%s: %+v, error %v, sent %q", name, all, err, r.sent)
		}
	}
}

// Only port forwardings with the Service's proof are its own.
func TestForwarded_IsALoadBalancerForEachFloatingIPOfTheService(t *testing.T) {
	t.Parallel()
	unproven := func(r *rig) {
		forwardedAt("unproven", "203.0.113.8", "10.0.0.1")(r)
		r.forwardings["unproven"][0].Description = "another's"
	}
	undescribed := func(r *rig) {
		forwardedAt("given", "203.0.113.9", "10.0.0.2")(r)
		r.forwarded[len(r.forwarded)-1].Description = ""
	}
	r := newRig(t, unproven, forwardedAt("own", "203.0.113.7", "10.0.0.1"), undescribed)
	all, err := r.routedReader.forwardedOf(t.Context(), by(driver.PortForwarding))
	if err != nil || namesOf(all...) != "own given" {
		t.Fatalf("%q, error %v", namesOf(all...), err)
	}
	own, given := all[0], all[1]
	if own.Provider != driver.PortForwarding || len(own.Forwardings) != 1 || own.Forwardings[0].Address != "10.0.0.1" || own.FloatingIP.Address != "203.0.113.7" || own.FloatingIP.NetworkID != "public" {
		t.Errorf("%+v with %+v", own, own.FloatingIP)
	}
	if !own.FloatingIP.Owned || !own.FloatingIP.Forwards || given.FloatingIP.Owned || !given.FloatingIP.Forwards {
		t.Errorf("created for it: %+v, given by the user: %+v", own.FloatingIP, given.FloatingIP)
	}
}

func TestRoutedReader_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	vips, forwarded := []func(*rig){vipAt("10.77.0.5"), vipAt("10.77.0.6")}, forwardedAt("own", "203.0.113.7", "10.0.0.1")
	assertErrors(t, "find", func(r *rig) error {
		have, err := r.routedReader.find(t.Context(), inputsAt())
		if err != nil && have.LoadBalancer != nil {
			t.Errorf("a VIP without its routes: %+v", have.LoadBalancer)
		}
		return err
	}, vips...)
	assertErrors(t, "VIPs with floating IPs", func(r *rig) error {
		_, err := r.routedReader.vipsWithFloatingIPs(t.Context(), rigIdentity())
		return err
	}, vips...)
	for name, svc := range map[string]*v1.Service{"forwarded": by("", at("203.0.113.7")), "forwarded, asked": by(driver.PortForwarding)} {
		for record, text := range map[string]string{"": "", ", recorded": state.Record{LoadBalancerID: "lb", Service: serviceUID}.String()} {
			assertErrors(t, name+record, func(r *rig) error {
				all, err := r.routedReader.forwardedOf(t.Context(), svc)
				if err != nil && len(all) > 0 {
					t.Errorf("%s: some of the floating IPs: %+v", name, all)
				}
				return err
			}, forwarded, func(r *rig) { r.records.text = text })
		}
	}
}

// The floating IP of port forwardings is no free one beside them.
func TestWithoutFloatingIPsOf_LeavesTheOthers(t *testing.T) {
	t.Parallel()
	observed := &model.Observed{UnattachedFloatingIPs: []model.FloatingIP{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	before := observed.UnattachedFloatingIPs
	withoutFloatingIPsOf(observed, []model.LoadBalancer{forwardedTo("b", "10.0.0.1"), {ID: "vip"}})
	if rest := observed.UnattachedFloatingIPs; len(rest) != 2 || rest[0].ID != "a" || rest[1].ID != "c" || before[1].ID != "b" {
		t.Errorf("left %+v of %+v", rest, before)
	}
}
