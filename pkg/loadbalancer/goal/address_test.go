package goal

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// asking returns settings of IP families, the first one first.
func asking(families ...v1.IPFamily) *settings.Settings {
	s := &settings.Settings{Family: families[0]}
	if len(families) > 1 {
		s.Second = families[1]
	}
	return s
}

// What a controller has published in a host name is read from it after a restart.
func TestAddressIn_ReadsTheAddressOfAHostName(t *testing.T) {
	t.Parallel()
	named := asking(v1.IPv4Protocol)
	named.Status.HostnameSuffix, named.Status.AlwaysNamed = "nip.example.org", true
	for _, address := range []string{"203.0.113.7", "fd00::5", "2001:db8:1:2:3:4:5:6", "::1", "fd00::"} {
		if got, ok := addressIn(named.Ingress(address).Hostname); !ok || got != address {
			t.Errorf("%s in %s: %q, %v", address, named.Ingress(address).Hostname, got, ok)
		}
	}
	for _, name := range []string{"", "www.example.org", "203.0.113.7", "203.0.113.example.org", "203.0.113.256.nip.io", "web.203.0.113.7.nip.io", "localhost"} {
		if got, ok := addressIn(name); ok {
			t.Errorf("%q has the address %s", name, got)
		}
	}
}

func TestAddressesOn_AreThoseOfTheServedFamilies(t *testing.T) {
	t.Parallel()
	const four, six, fip = "10.0.0.5", "fd00::5", "203.0.113.7"
	vips := func(addresses ...string) model.VIP {
		vip := model.VIP{Address: addresses[0]}
		for _, address := range addresses[1:] {
			vip.Additional = append(vip.Additional, model.AdditionalVIP{Family: model.FamilyOf(address), Address: address})
		}
		return vip
	}
	both, reverse := asking(v1.IPv4Protocol, v1.IPv6Protocol), asking(v1.IPv6Protocol, v1.IPv4Protocol)
	internal := asking(v1.IPv4Protocol, v1.IPv6Protocol)
	internal.Internal = true
	for name, test := range map[string]struct {
		vip      model.VIP
		floating bool
		settings *settings.Settings
		want     []string
	}{
		"one VIP":                            {vips(four), false, asking(v1.IPv4Protocol), []string{four}},
		"one VIP with a floating IP":         {vips(four), true, asking(v1.IPv4Protocol), []string{fip}},
		"internal, with a floating IP on it": {vips(four), true, internal, []string{four}},
		"IPv6":                               {vips(six), false, asking(v1.IPv6Protocol), []string{six}},
		"IPv6, with a floating IP on it":     {vips(six), true, asking(v1.IPv6Protocol), []string{six}},
		"both, of which it has one":          {vips(four), true, both, []string{fip}},
		"the other family than it has":       {vips(six), false, asking(v1.IPv4Protocol), []string{six}},
		"both":                               {vips(four, six), false, both, []string{four, six}},
		"both, with a floating IP":           {vips(four, six), true, both, []string{fip, six}},
		"both, IPv6 first":                   {vips(four, six), true, reverse, []string{six, fip}},
		"both, the VIP of IPv6 is the first": {vips(six, four), true, both, []string{fip, six}},
		"both, of which it has the first":    {vips(six), true, reverse, []string{six}},
		"both, internal":                     {vips(four, six), true, internal, []string{four, six}},
		"one of two":                         {vips(four, six), true, asking(v1.IPv4Protocol), []string{fip}},
		"the other of two":                   {vips(four, six), true, asking(v1.IPv6Protocol), []string{six}},
		"two VIPs of one family":             {vips(four, "10.0.0.6"), true, asking(v1.IPv4Protocol), []string{fip, "10.0.0.6"}},
	} {
		lb := &model.LoadBalancer{VIP: test.vip}
		if AddressOf(lb) != test.vip.Address {
			t.Errorf("%s: without a floating IP, users connect to %s", name, AddressOf(lb))
		}
		if test.floating {
			if lb.FloatingIP = (&model.FloatingIP{Address: fip}); AddressOf(lb) != fip {
				t.Errorf("%s: with a floating IP, users connect to %s", name, AddressOf(lb))
			}
		}
		if got := addressesOn(lb, test.settings); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// printed returns a status as in "203.0.113.7 VIP, web.example.org".
func printed(status *v1.LoadBalancerStatus) string {
	var all []string
	for _, ingress := range status.Ingress {
		text := ingress.IP + ingress.Hostname
		if ingress.IPMode != nil {
			text += " " + string(*ingress.IPMode)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestPublish_NamesEachAddressOnce(t *testing.T) {
	t.Parallel()
	addresses := []string{"203.0.113.7", "fd00::5"}
	for want, change := range map[string]func(*settings.Settings){
		"203.0.113.7 VIP, fd00::5 VIP":     func(*settings.Settings) {},
		"203.0.113.7 Proxy, fd00::5 Proxy": func(s *settings.Settings) { s.Status.IPMode = v1.LoadBalancerIPModeProxy },
		"web.example.org":                  func(s *settings.Settings) { s.Status.Hostname = "web.example.org" },
		"203.0.113.7.example.org, fd00--5.example.org": func(s *settings.Settings) {
			s.Status.HostnameSuffix, s.Status.AlwaysNamed = "example.org", true
		},
	} {
		s := asking(v1.IPv4Protocol, v1.IPv6Protocol)
		change(s)
		if got := printed(publish(addresses, s)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// kube-proxy of the nodes accepts packets for addresses in the status with mode VIP only: the VIP is always one.
func TestStatusOf_HasTheVIPToWhichPacketsGo(t *testing.T) {
	t.Parallel()
	const vip, fip = "10.77.0.5", "203.0.113.7"
	for name, test := range map[string]struct {
		provider string
		floating bool
		change   func(*settings.Settings)
		want     string
	}{
		"internal":               {driver.Router, false, nil, vip + " VIP"},
		"internal, another mode": {driver.Router, false, func(s *settings.Settings) { s.Status.IPMode = v1.LoadBalancerIPModeProxy }, vip + " VIP"},
		"a floating IP":          {driver.Router, true, nil, fip + " VIP, " + vip + " VIP"},
		"a host name":            {driver.Router, true, func(s *settings.Settings) { s.Status.Hostname = "web.example.org" }, "web.example.org, " + vip + " VIP"},
		"port forwardings":       {driver.PortForwarding, true, nil, fip + " VIP"},
	} {
		lb, s := &model.LoadBalancer{Provider: test.provider, VIP: model.VIP{Address: vip}}, asking(v1.IPv4Protocol)
		if test.floating {
			lb.FloatingIP = &model.FloatingIP{Address: fip}
		}
		if test.change != nil {
			test.change(s)
		}
		if got := printed(statusOf(lb, s)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
