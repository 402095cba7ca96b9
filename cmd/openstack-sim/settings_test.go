package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// parse returns the settings of a command line.
func parse(t *testing.T, args ...string) settings {
	t.Helper()
	var s settings
	flags := pflag.NewFlagSet("openstack-sim", pflag.ContinueOnError)
	s.addTo(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFlags_AreAcceptedWhenGood(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{},
		{"--listen=[::1]:0", "--release=zed", "--provider=ovn"},
		{"--data-path=false", "--subnet-cidr=10.0.0.0/24", "--external-cidr=203.0.113.0/24"},
		{"--vip-port-delay=2s"},
		{"--create-delay=0s", "--monitor-speed=0.5", "--servers=100"},
		{"--profile=real", "--seed=7", "--speed=1000"},
		{"--latency=/network/**=20ms", "--latency=GET /compute/**=20ms-1s"},
	} {
		s := parse(t, args...)
		if err := s.check(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestFlags_AreNamedWithAllowedValuesWhenBad(t *testing.T) {
	t.Parallel()
	tests := []struct{ arg, want string }{
		{"--listen=0.0.0.0:8080", "loopback address"},
		{"--listen=localhost", "loopback address"},
		{"--release=grizzly", "2024.1"},
		{"--provider=f5", "amphora, ovn"},
		{"--create-delay=-1s", "0 or more"},
		{"--update-delay=-1s", "0 or more"},
		{"--delete-delay=-1s", "0 or more"},
		{"--vip-port-delay=-1s", "0 or more"},
		{"--servers=-1", "0 or more"},
		{"--monitor-speed=0", "more than 0"},
		{"--monitor-speed=NaN", "more than 0"},
		{"--speed=0", "more than 0"},
		{"--profile=warp", "busy, instant, real"},
		{"--latency=/network/**", "ROUTE=MIN"},
		{"--latency=network=1s", "ROUTE=MIN"},
		{"--latency=/network/**=soon", "soon"},
		{"--latency=/network/**=1s-later", "later"},
		{"--subnet-cidr=127.100.0.0", "CIDR"},
		{"--subnet-cidr=10.0.0.0/8", "127.0.0.0/8"},
		{"--external-cidr=126.0.0.0/7", "127.0.0.0/8"},
	}
	for _, test := range tests {
		s := parse(t, test.arg)
		err := s.check()
		if err == nil {
			t.Errorf("%s is accepted", test.arg)
			continue
		}
		flag, _, _ := strings.Cut(test.arg, "=")
		if !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %q names not the flag and %q", test.arg, err, test.want)
		}
	}
}

func TestFlags_AreNamedTogetherWhenSeveralAreBad(t *testing.T) {
	t.Parallel()
	s := parse(t, "--servers=-1", "--provider=f5")
	if err := s.check(); err == nil || strings.Count(err.Error(), "--") < 2 {
		t.Errorf("got %v, want both flags named", err)
	}
}
