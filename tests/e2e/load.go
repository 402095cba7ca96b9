package e2e

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// load is new connections to an address, of TCP and UDP, until it is stopped.
type load struct {
	s        *scene
	what     string
	tcp, udp []*cluster.Hammer
}

// bears reports whether the cloud carries traffic of a protocol, and survives it while members leave.
func (s *scene) bears(protocol corev1.Protocol) bool {
	return s.carries(protocol) && !s.Cloud.FragileTracking()
}

// bearsAny reports whether the cloud bears TCP or UDP.
func (s *scene) bearsAny() bool { return s.bears(corev1.ProtocolTCP) || s.bears(corev1.ProtocolUDP) }

// load starts so many clients for each protocol that the cloud bears.
func (s *scene) load(what string, client cluster.Client, address string, clients int) *load {
	s.Helper()
	l := &load{s: s, what: what}
	tcp, udp := withPorts(client), withPorts(client)
	for range clients {
		if s.bears(corev1.ProtocolTCP) {
			l.tcp = append(l.tcp, tcp.Hammer(s.Context(), address))
		}
		if s.bears(corev1.ProtocolUDP) {
			l.udp = append(l.udp, udp.HammerUDP(s.Context(), address))
		}
	}
	return l
}

// withPorts returns a client that uses no source port twice, if it has a network namespace to itself.
func withPorts(client cluster.Client) cluster.Client {
	if client.From != "" {
		client.Ports = &cluster.Ports{}
	}
	return client
}

// stop ends the load after at least so many connections of each protocol, and returns those that failed.
func (l *load) stop(least int) (failed []cluster.Failure) {
	l.s.Helper()
	if !l.s.bearsAny() {
		l.s.report("%s: nothing was sent, since the cloud does not bear traffic", l.what)
		return nil
	}
	for _, hammers := range [][]*cluster.Hammer{l.tcp, l.udp} {
		l.s.eventually("connections", func(context.Context) error {
			if n := requests(hammers); len(hammers) > 0 && n < least {
				return fmt.Errorf("%d, want %d", n, least)
			}
			return nil
		})
	}
	tcp, udp := failures(l.tcp), failures(l.udp)
	l.s.report("%s: %d of %d connections of TCP and %d of %d flows of UDP failed", l.what, len(tcp), requests(l.tcp), len(udp), requests(l.udp))
	failed = slices.Concat(tcp, udp)
	slices.SortFunc(failed, func(a, b cluster.Failure) int { return a.Began.Compare(b.Began) })
	return failed
}

// failures stops clients.
func failures(hammers []*cluster.Hammer) (failed []cluster.Failure) {
	for _, hammer := range hammers {
		hammer.Stop()
		failed = append(failed, hammer.Failures...)
	}
	return failed
}

func requests(hammers []*cluster.Hammer) (sum int) {
	for _, hammer := range hammers {
		sum += hammer.Requests()
	}
	return sum
}

// report prints a line that e2e.sh shows.
func (s *scene) report(format string, args ...any) {
	fmt.Printf("e2e %s: %s: %s\n", s.Provider, path.Base(s.Name()), fmt.Sprintf(format, args...))
}

// period is a time in which connections may fail.
type period struct{ from, to time.Time }

// outside returns the failures that began in none of some periods.
func outside(periods []period, failures []cluster.Failure) []cluster.Failure {
	return slices.DeleteFunc(slices.Clone(failures), func(f cluster.Failure) bool {
		return slices.ContainsFunc(periods, func(p period) bool { return !f.Began.Before(p.from) && !f.Began.After(p.to) })
	})
}

// length returns the mean length of periods.
func length(periods []period) (mean time.Duration) {
	for _, p := range periods {
		mean += p.to.Sub(p.from)
	}
	return (mean / time.Duration(max(1, len(periods)))).Round(100 * time.Millisecond)
}
