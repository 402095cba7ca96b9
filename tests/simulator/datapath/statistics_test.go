package datapath

import (
	"fmt"
	"testing"
)

// counts repeats reading a listener's statistics until they are as wanted.
func counts(t *testing.T, plane *Plane, want Statistics) {
	t.Helper()
	becomes(t, "statistics", fmt.Sprint(want), func() string { return fmt.Sprint(plane.Statistics("listener")) })
}

func TestStatistics_CountConnectionsAndBytesOfTCP(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	plane := start(t, newMemory(lb))
	s := open(t, vip(lb))
	if err := s.echo("12345"); err != nil {
		t.Fatal(err)
	}
	greeting := int64(len("a " + s.source + "\n"))
	counts(t, plane, Statistics{ActiveConnections: 1, TotalConnections: 1, BytesIn: 6, BytesOut: greeting + 6})
	_ = s.Close()
	counts(t, plane, Statistics{TotalConnections: 1, BytesIn: 6, BytesOut: greeting + 6})
}

func TestStatistics_CountClientsAndBytesOfUDP(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolUDP, udpBackend(t, "a"))
	plane := start(t, newMemory(lb))
	for n := range int64(3) {
		before := plane.Statistics("listener")
		newUDPClient(t, vip(lb)).answered(t)
		after := plane.Statistics("listener")
		if after.ActiveConnections != n+1 || after.TotalConnections != n+1 {
			t.Errorf("after %d clients: %+v", n+1, after)
		}
		if after.BytesIn < before.BytesIn+5 || after.BytesOut < before.BytesOut+int64(len("a 127.0.0.1:1 hello")) {
			t.Errorf("bytes did not grow with a datagram: from %+v to %+v", before, after)
		}
	}
}

func TestStatistics_CountBytesOfHTTPAndEndWithListener(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	source := newMemory(lb)
	plane := start(t, source)
	waitOpen(t, vip(lb))
	request := "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := dialWire(t, vip(lb)).ask(request); err != nil {
		t.Fatal(err)
	}
	got := plane.Statistics("listener")
	if got.BytesIn != int64(len(request)) || got.BytesOut == 0 {
		t.Errorf("got %+v, want %d bytes in", got, len(request))
	}
	source.remove(lb.ID)
	eventually(t, "no statistics", func() error {
		if left := plane.Statistics("listener"); left != (Statistics{}) {
			return fmt.Errorf("still %+v", left)
		}
		return nil
	})
}
