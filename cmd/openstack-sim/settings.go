package main

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// settings are the program's flags.
type settings struct {
	listen        string
	cloudConf     string
	cloudsYAML    string
	release       string
	provider      string
	createDelay   time.Duration
	updateDelay   time.Duration
	deleteDelay   time.Duration
	vipPortDelay  time.Duration
	wholeSeconds  bool
	profile       string
	seed          uint64
	speed         float64
	latencies     []string
	dataPath      bool
	monitorSpeed  float64
	externalCIDR  string
	subnetCIDR    string
	routerVIPCIDR string
	servers       int
}

func (s *settings) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "loopback address of the API; port 0 selects a free one")
	flags.StringVar(&s.cloudConf, "cloud-conf", "", "write a cloud.conf for the created user to this file")
	flags.StringVar(&s.cloudsYAML, "clouds-yaml", "", "write a clouds.yaml for the created user to this file")
	flags.StringVar(&s.release, "release", "2024.1", "OpenStack release to simulate: "+strings.Join(releases(), ", "))
	flags.StringVar(&s.provider, "provider", octavia.ProviderAmphora, "lb-provider in cloud.conf: amphora or ovn; the API offers both")
	flags.DurationVar(&s.createDelay, "create-delay", 2*time.Second, "how long a load balancer is in PENDING_CREATE")
	flags.DurationVar(&s.updateDelay, "update-delay", 300*time.Millisecond, "how long a change keeps it in PENDING_UPDATE")
	flags.DurationVar(&s.deleteDelay, "delete-delay", 500*time.Millisecond, "how long it is in PENDING_DELETE")
	flags.DurationVar(&s.vipPortDelay, "vip-port-delay", 0, "how long the creation of a VIP port takes; meanwhile the project's quota is locked and all other creations wait")
	flags.BoolVar(&s.wholeSeconds, "whole-seconds", false, "Octavia's timestamps have whole seconds, as MySQL stores them")
	flags.StringVar(&s.profile, "profile", "", "named delays instead of the three fixed ones: "+strings.Join(profiles(), ", "))
	flags.Uint64Var(&s.seed, "seed", 0, "of all random choices: the same seed gives the same delays and latencies")
	flags.Float64Var(&s.speed, "speed", 1, "factor by which time in the cloud runs faster")
	flags.StringArrayVar(&s.latencies, "latency", nil, "[METHOD] ROUTE=MIN[-MAX] delays requests, such as '/network/**=20ms-80ms'; may be repeated")
	flags.BoolVar(&s.dataPath, "data-path", true, "carry traffic of load balancers and probe members")
	flags.Float64Var(&s.monitorSpeed, "monitor-speed", 1, "factor by which health monitors probe more often than configured")
	flags.StringVar(&s.externalCIDR, "external-cidr", "127.200.0.0/16", "subnet of the floating IPs")
	flags.StringVar(&s.subnetCIDR, "subnet-cidr", "127.100.0.0/16", "subnet of servers and VIPs")
	flags.StringVar(&s.routerVIPCIDR, "router-vip-cidr", "", "subnet of a network vips at the router, for VIPs of provider router; none when empty")
	flags.IntVar(&s.servers, "servers", 0, "how many servers to start with")
}

func profiles() []string {
	return slices.Sorted(maps.Keys(simulator.Profiles()))
}

func releases() []string {
	return slices.Sorted(maps.Keys(octavia.Releases()))
}

// check names every flag that has a bad value, with the value and the allowed ones.
func (s *settings) check() error {
	return errors.Join(
		checkListen(s.listen),
		checkOneOf("release", s.release, releases()),
		checkOneOf("provider", s.provider, []string{octavia.ProviderAmphora, octavia.ProviderOVN}),
		checkNotNegative("create-delay", s.createDelay),
		checkNotNegative("update-delay", s.updateDelay),
		checkNotNegative("delete-delay", s.deleteDelay),
		checkNotNegative("vip-port-delay", s.vipPortDelay),
		checkNotNegative("servers", s.servers),
		checkSpeed("monitor-speed", s.monitorSpeed),
		checkSpeed("speed", s.speed),
		checkOneOf("profile", s.profile, append(profiles(), "")),
		s.checkLatencies(),
		s.checkCIDR("external-cidr", s.externalCIDR),
		s.checkCIDR("subnet-cidr", s.subnetCIDR),
	)
}

// checkListen keeps the API on the loopback network, since its control part asks for no token.
func checkListen(text string) error {
	address, err := netip.ParseAddrPort(text)
	if err != nil || !address.Addr().IsLoopback() {
		return fmt.Errorf("--listen %q: want a loopback address and port, such as 127.0.0.1:0", text)
	}
	return nil
}

func checkOneOf(flag, value string, allowed []string) error {
	if !slices.Contains(allowed, value) {
		return fmt.Errorf("--%s %q: want one of %s", flag, value, strings.Join(allowed, ", "))
	}
	return nil
}

func checkNotNegative[N time.Duration | int](flag string, value N) error {
	if value < 0 {
		return fmt.Errorf("--%s %v: want 0 or more", flag, value)
	}
	return nil
}

func checkSpeed(flag string, speed float64) error {
	if !(speed > 0) {
		return fmt.Errorf("--%s %v: want more than 0", flag, speed)
	}
	return nil
}

func (s *settings) checkCIDR(flag, text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("--%s %q: want a CIDR such as 127.100.0.0/16", flag, text)
	}
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	if s.dataPath && (!loopback.Contains(prefix.Addr()) || prefix.Bits() < loopback.Bits()) {
		return fmt.Errorf("--%s %q: want a part of %s, or --data-path=false", flag, text, loopback)
	}
	return nil
}
