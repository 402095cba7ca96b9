package desire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
)

func TestAnnotationComesBeforeClassBeforeSection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		annotation string
		class      func(*config.LoadBalancerClass) *string
		section    func(*config.LoadBalancer) *string
		got        func(desire.Settings) string
	}{
		{
			annotation.SubnetID, func(c *config.LoadBalancerClass) *string { return &c.SubnetID },
			func(c *config.LoadBalancer) *string { return &c.SubnetID }, func(s desire.Settings) string { return s.SubnetID },
		},
		{
			annotation.NetworkID, func(c *config.LoadBalancerClass) *string { return &c.NetworkID },
			func(c *config.LoadBalancer) *string { return &c.NetworkID }, func(s desire.Settings) string { return s.NetworkID },
		},
		{
			annotation.MemberSubnetID, func(c *config.LoadBalancerClass) *string { return &c.MemberSubnetID },
			func(c *config.LoadBalancer) *string { return &c.MemberSubnetID }, func(s desire.Settings) string { return s.MemberSubnetID },
		},
		{
			annotation.FloatingNetID, func(c *config.LoadBalancerClass) *string { return &c.FloatingNetworkID },
			func(c *config.LoadBalancer) *string { return &c.FloatingNetworkID }, func(s desire.Settings) string { return s.Floating.NetworkID },
		},
		{
			annotation.FloatingSubnet, func(c *config.LoadBalancerClass) *string { return &c.FloatingSubnetID },
			func(c *config.LoadBalancer) *string { return &c.FloatingSubnetID }, func(s desire.Settings) string { return s.Floating.SubnetID },
		},
	} {
		for _, given := range []struct {
			annotation, class, section, want string
		}{
			{"", "", "", ""},
			{"", "", "section", "section"},
			{"", "class", "section", "class"},
			{"", "class", "", "class"},
			{"annotation", "class", "section", "annotation"},
			{"annotation", "", "section", "annotation"},
		} {
			svc, cfg, class := service(), &config.Config{}, &config.LoadBalancerClass{}
			*test.class(class), *test.section(&cfg.LoadBalancer) = given.class, given.section
			cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": class}
			svc.Annotations[annotation.Class] = "c"
			if given.annotation != "" {
				svc.Annotations[test.annotation] = given.annotation
			}
			if got := test.got(settings(t, svc, cfg)); got != given.want {
				t.Errorf("%s: with %+v got %q", test.annotation, given, got)
			}
		}
	}
}

func TestAClassIsOnlyForServicesThatNameIt(t *testing.T) {
	t.Parallel()
	cfg := conf()
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {SubnetID: "class"}}
	if s := settings(t, service(), cfg); s.SubnetID != "subnet" {
		t.Errorf("without a class the subnet is %s", s.SubnetID)
	}
	_, _, errs := desire.Read(service(annotated(annotation.Class, "d")), cfg)
	refused(t, errs, annotation.Class, `"d"`, `known are "c"`)
}

func TestSubnetAndNetworkOfTheVIPComeFromOnePlace(t *testing.T) {
	t.Parallel()
	cfg := conf(func(c *config.LoadBalancer) { c.SubnetID, c.NetworkID = "section-subnet", "section-network" })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {NetworkID: "class-network"}}
	for _, test := range []struct {
		what            string
		svc             *v1.Service
		subnet, network string
	}{
		{"section", service(), "section-subnet", "section-network"},
		{"class", service(annotated(annotation.Class, "c")), "", "class-network"},
		{"annotation", service(annotated(annotation.Class, "c"), annotated(annotation.SubnetID, "mine")), "mine", ""},
	} {
		if s := settings(t, test.svc, cfg); s.SubnetID != test.subnet || s.NetworkID != test.network {
			t.Errorf("from the %s: subnet %q in network %q, want %q in %q", test.what, s.SubnetID, s.NetworkID, test.subnet, test.network)
		}
	}
}

func TestMonitorSettings(t *testing.T) {
	t.Parallel()
	section := desire.MonitorSettings{Enabled: false, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
	with := func(change func(*desire.MonitorSettings)) desire.MonitorSettings {
		m := section
		change(&m)
		return m
	}
	for _, test := range []struct {
		annotation, value string
		want              desire.MonitorSettings
	}{
		{"example.com/other", "x", section},
		{annotation.Monitor, "true", with(func(m *desire.MonitorSettings) { m.Enabled = true })},
		{annotation.MonitorDelay, "60", with(func(m *desire.MonitorSettings) { m.Delay = 60 })},
		{annotation.MonitorTimeout, "4", with(func(m *desire.MonitorSettings) { m.Timeout = 4 })},
		{annotation.MonitorRetries, "2", with(func(m *desire.MonitorSettings) { m.MaxRetries = 2 })},
		{annotation.MonitorDown, "10", with(func(m *desire.MonitorSettings) { m.MaxRetriesDown = 10 })},
	} {
		got := settings(t, service(annotated(test.annotation, test.value)), conf()).Monitor
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s=%s: %s", test.annotation, test.value, diff)
		}
	}
	on := conf(func(c *config.LoadBalancer) { c.CreateMonitor = true })
	if !settings(t, service(), on).Monitor.Enabled {
		t.Error("create-monitor=true switches no monitors on")
	}
	if settings(t, service(annotated(annotation.Monitor, "false")), on).Monitor.Enabled {
		t.Error("the annotation does not switch them off")
	}
}

func TestInternal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		section  bool
		value    string
		internal bool
		notices  int
	}{
		{false, "", false, 0},
		{false, "false", false, 0},
		{false, "true", true, 0},
		{true, "", true, 0},
		{true, "true", true, 0},
		{true, "false", true, 1}, // an operator who forbids it is not overruled, but the user is told
	} {
		svc := service()
		if test.value != "" {
			svc.Annotations[annotation.Internal] = test.value
		}
		s, notices, errs := desire.Read(svc, conf(func(c *config.LoadBalancer) { c.InternalLB = test.section }))
		if len(errs) > 0 || s.Internal != test.internal || len(notices) != test.notices {
			t.Errorf("%+v: internal %v, notices %v, errors %v", test, s.Internal, notices, errs)
		}
		if s.FloatingIP() == test.internal {
			t.Errorf("%+v: floating IP %v", test, s.FloatingIP())
		}
	}
}

func TestFamilyIsTheServicesFirst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what       string
		svc        *v1.Service
		want       v1.IPFamily
		floatingIP bool
	}{
		{"IPv4", service(), v1.IPv4Protocol, true},
		{"IPv6", service(families(v1.IPv6Protocol)), v1.IPv6Protocol, false},
		{"both, IPv4 first", service(families(v1.IPv4Protocol, v1.IPv6Protocol)), v1.IPv4Protocol, true},
		{"both, IPv6 first", service(families(v1.IPv6Protocol, v1.IPv4Protocol)), v1.IPv6Protocol, false},
		{"an old Service of IPv4", service(families(), func(svc *v1.Service) { svc.Spec.ClusterIP = "10.96.0.1" }), v1.IPv4Protocol, true},
		{"an old Service of IPv6", service(families(), func(svc *v1.Service) { svc.Spec.ClusterIP = "fd00::1" }), v1.IPv6Protocol, false},
	} {
		s := settings(t, test.svc, conf())
		if s.Family != test.want || s.FloatingIP() != test.floatingIP {
			t.Errorf("%s: family %s, floating IP %v", test.what, s.Family, s.FloatingIP())
		}
	}
}

func TestTheRestComesFromWhereItShould(t *testing.T) {
	t.Parallel()
	cfg := conf(func(c *config.LoadBalancer) { c.FlavorID, c.AvailabilityZone = "large", "zone" })
	svc := service(
		annotated(annotation.LoadBalancerID, "lb-id"), annotated(annotation.KeepFloatingIP, "true"),
		func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" },
	)
	s := settings(t, svc, cfg)
	got := []any{s.Provider, s.FlavorID, s.AvailabilityZone, s.LoadBalancerID, s.LoadBalancerIP, s.KeepFloatingIP, s.Method, s.MethodAsked}
	want := []any{"amphora", "large", "zone", "lb-id", "203.0.113.1", true, "ROUND_ROBIN", false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s = settings(t, service(annotated(annotation.Method, "source_ip")), cfg)
	if s.Method != "SOURCE_IP" || !s.MethodAsked {
		t.Errorf("algorithm %s, asked for %v", s.Method, s.MethodAsked)
	}
}

func TestSourceRanges(t *testing.T) {
	t.Parallel()
	spec := func(ranges ...string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = ranges }
	}
	v6 := families(v1.IPv6Protocol)
	for _, test := range []struct {
		what string
		svc  *v1.Service
		want []string
	}{
		{"none", service(), nil},
		{"the field", service(spec("10.0.0.0/8")), []string{"10.0.0.0/8"}},
		{"the annotation", service(annotated(annotation.SourceRanges, "10.0.0.0/8,172.16.0.0/12")), []string{"10.0.0.0/8", "172.16.0.0/12"}},
		{"the field before the annotation", service(spec("10.0.0.0/8"), annotated(annotation.SourceRanges, "172.16.0.0/12")), []string{"10.0.0.0/8"}},
		{"sorted, once each, without host bits", service(spec("192.168.1.1/16", " 10.0.0.0/8", "192.168.0.0/16")), []string{"10.0.0.0/8", "192.168.0.0/16"}},
		{"everybody is the same as none", service(spec("10.0.0.0/8", "0.0.0.0/0")), nil},
		{"everybody with host bits", service(spec("1.2.3.4/0")), nil},
		{"IPv6", service(v6, spec("FD00:0::1/64")), []string{"fd00::/64"}},
		{"everybody of IPv6", service(v6, spec("::/0")), nil},
		{"everybody of both", service(spec("0.0.0.0/0", "::/0")), nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, settings(t, test.svc, conf()).SourceRanges); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		words []string
	}{
		{"not a CIDR", service(spec("10.0.0.0/8", "10.0.0.1")), []string{"spec.loadBalancerSourceRanges[1]", `"10.0.0.1"`, "must be a CIDR"}},
		{"the other family", service(spec("fd00::/64")), []string{"spec.loadBalancerSourceRanges[0]", `"fd00::/64"`, "IPv4"}},
		{"the other family, beside what is no CIDR", service(spec("fd00::/64", "10.0.0.0/8", "x")), []string{"spec.loadBalancerSourceRanges[2]", `"x"`}},
		{"IPv4 written as IPv6", service(spec("::ffff:10.0.0.0/104")), []string{"spec.loadBalancerSourceRanges[0]", `"::ffff:10.0.0.0/104"`}},
		{"the other family, in the annotation", service(v6, annotated(annotation.SourceRanges, "10.0.0.0/8")), []string{annotation.SourceRanges, `"10.0.0.0/8"`, "IPv6"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			_, _, errs := desire.Read(test.svc, conf())
			refused(t, errs, test.words...)
		})
	}
}

func TestLoadBalancerIP(t *testing.T) {
	t.Parallel()
	asks := func(address string, changes ...func(*v1.Service)) *v1.Service {
		return service(append(changes, func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address })...)
	}
	for _, test := range []struct {
		svc  *v1.Service
		want string
	}{
		{asks(""), ""},
		{asks("203.0.113.1"), "203.0.113.1"},
		{asks("::ffff:203.0.113.1"), "203.0.113.1"},
		{asks("2001:DB8:0:0::1", families(v1.IPv6Protocol)), "2001:db8::1"},
	} {
		if got := settings(t, test.svc, conf()).LoadBalancerIP; got != test.want {
			t.Errorf("%q becomes %q, want %q", test.svc.Spec.LoadBalancerIP, got, test.want)
		}
	}
	for _, test := range []struct {
		svc   *v1.Service
		words []string
	}{
		{asks("web.example.com"), []string{"spec.loadBalancerIP", "web.example.com", "must be an IP address"}},
		{asks("203.0.113.1/32"), []string{"spec.loadBalancerIP", "must be an IP address"}},
		{asks("2001:db8::1"), []string{"spec.loadBalancerIP", "2001:db8::1", "IPv4"}},
		{asks("203.0.113.1", families(v1.IPv6Protocol)), []string{"spec.loadBalancerIP", "203.0.113.1", "IPv6"}},
		{asks("fe80::1%eth0", families(v1.IPv6Protocol)), []string{"spec.loadBalancerIP", "fe80::1%eth0", "must be an IP address"}},
	} {
		_, _, errs := desire.Read(test.svc, conf())
		refused(t, errs, test.words...)
	}
}

func TestNodeSelector(t *testing.T) {
	t.Parallel()
	edge := map[string]string{"node-role.kubernetes.io/edge": "", "pool": "a"}
	for _, test := range []struct {
		section    string
		annotation *string
		want       bool
	}{
		{"", nil, true},
		{"pool=b", nil, false},
		{"pool=a", nil, true},
		{"pool", nil, true},
		{"pool=b", ptr("pool=a"), true},
		{"pool=b", ptr(""), true},
		{"", ptr("node-role.kubernetes.io/edge, pool=a"), true},
		{"", ptr("node-role.kubernetes.io/edge=,pool=b"), false},
		{"", ptr("pool="), true}, // any value: so it is in cloud-provider-openstack
		{"pool=,", nil, true},
		{"", ptr("pool in (a,b),!spot"), true},
		{"", ptr("pool!=a"), false},
		{"", ptr("zone"), false},
	} {
		svc := service()
		if test.annotation != nil {
			svc.Annotations[annotation.NodeSelector] = *test.annotation
		}
		n := node("n", "10.0.0.1")
		n.Labels = edge
		s := settings(t, svc, conf(func(c *config.LoadBalancer) { c.NodeSelector = test.section }))
		backends, _, _ := desire.Backends(s, []*v1.Node{n})
		if got := len(backends) == 1; got != test.want {
			t.Errorf("section %q, annotation %v: selected %v", test.section, test.annotation, got)
		}
	}
	for text, want := range map[string]string{"a/b/c": `"a/b/c" is not the key of a label`, "pool in (a": "is no selector of Kubernetes"} {
		_, _, errs := desire.Read(service(annotated(annotation.NodeSelector, text)), conf())
		refused(t, errs, annotation.NodeSelector, text, want, "allowed: node labels as key=value")
		if text := errs[0].Error(); strings.Contains(text, "regex") || strings.Contains(text, "identifier") {
			t.Errorf("the words of a parser: %s", text)
		}
	}
}

// Whoever writes both families into a manifest means those that reach the load balancer.
func TestSourceRangesOfTheOtherFamilyAreLeftOutAndTold(t *testing.T) {
	t.Parallel()
	for _, svc := range []*v1.Service{
		service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "fd00::/64"} }),
		service(annotated(annotation.SourceRanges, "10.0.0.0/8,fd00::/64")),
	} {
		s, notices, errs := desire.Read(svc, conf())
		if diff := cmp.Diff([]string{"10.0.0.0/8"}, s.SourceRanges); diff != "" || len(errs) > 0 {
			t.Errorf("errors %v, ranges %s", errs, diff)
		}
		if len(notices) != 1 || !strings.Contains(notices[0].Message, "fd00::/64") || !strings.Contains(notices[0].Message, "IPv4") {
			t.Errorf("notices %v", notices)
		}
	}
}

// An empty text takes away what cloud.conf says, where it does so in
// cloud-provider-openstack.
func TestAnEmptyTextOptsOutOfCloudConf(t *testing.T) {
	t.Parallel()
	cfg := conf(func(c *config.LoadBalancer) {
		c.FlavorID, c.AvailabilityZone, c.DefaultTLSContainerRef = "large", "zone", "https://barbican.example.com/v1/secrets/1"
		c.FloatingNetworkID, c.FloatingSubnetID, c.NodeSelector, c.LBMethod = "public", "subnet-of-public", "pool=a", "SOURCE_IP"
	})
	for name, got := range map[string]func(desire.Settings) string{
		annotation.FlavorID:         func(s desire.Settings) string { return s.FlavorID },
		annotation.AvailabilityZone: func(s desire.Settings) string { return s.AvailabilityZone },
		annotation.TLSContainer:     func(s desire.Settings) string { return s.Listeners.TLSContainerRef },
		annotation.FloatingNetID:    func(s desire.Settings) string { return s.Floating.NetworkID + s.Floating.SubnetID },
		annotation.NodeSelector:     func(s desire.Settings) string { return s.NodeSelector.String() },
	} {
		if text := got(settings(t, service(), cfg)); text == "" {
			t.Errorf("%s: nothing in cloud.conf to opt out of", name)
		}
		if text := got(settings(t, service(annotated(name, "")), cfg)); text != "" {
			t.Errorf("%s: still %q", name, text)
		}
	}
	for _, name := range []string{annotation.Method, annotation.SubnetID, annotation.FloatingSubnet} {
		s, was := settings(t, service(annotated(name, "")), cfg), settings(t, service(), cfg)
		if s.Method != was.Method || s.SubnetID != was.SubnetID || s.Floating.SubnetID != was.Floating.SubnetID {
			t.Errorf("%s: an empty one is given", name)
		}
	}
}

func TestReadReportsAllMistakes(t *testing.T) {
	t.Parallel()
	_, notices, errs := desire.Read(service(
		annotated(annotation.Class, "none"), annotated(annotation.MonitorPort, "x"), annotated(annotation.NodeSelector, "!!"),
		annotated(annotation.Prefix+"timeout-client-dta", "1"),
		func(svc *v1.Service) {
			svc.Spec.LoadBalancerIP, svc.Spec.LoadBalancerSourceRanges = "x", []string{"y"}
		},
	), conf())
	if len(errs) != 5 || len(notices) != 1 {
		t.Errorf("errors %v, notices %v", errs, notices)
	}
}

func ptr[T any](v T) *T { return &v }
