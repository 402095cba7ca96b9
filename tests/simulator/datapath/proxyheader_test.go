package datapath

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/pires/go-proxyproto"
)

// headerMember is a TCP server that answers with the PROXY header that a connection began
// with, and then echoes.
func headerMember(t *testing.T, name string) Member {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer client.Close()
				reader := bufio.NewReader(client)
				header, err := proxyproto.Read(reader)
				if err != nil {
					return
				}
				_, _ = fmt.Fprintf(client, "v%d %s %s\n", header.Version, header.SourceAddr, header.DestinationAddr)
				_, _ = reader.WriteTo(client)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return member(name, addrPort(listener.Addr()))
}

func TestProxyHeader_NamesClientToMembers(t *testing.T) {
	t.Parallel()
	for version, protocol := range []string{1: ProtocolProxy, 2: ProtocolProxyV2} {
		if protocol == "" {
			continue
		}
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", headerMember(t, "a"))
			lb.Pools[0].Protocol = protocol
			floating := ownAddress(t, "floating")
			lb.Fixed = map[netip.Addr]netip.Addr{floating: lb.Addresses[0]}
			lb.Addresses = append(lb.Addresses, floating)
			start(t, newMemory(lb))
			for _, address := range lb.Addresses {
				s := open(t, netip.AddrPortFrom(address, vip(lb).Port()))
				want := fmt.Sprintf("v%d %s %s", version, s.LocalAddr(), vip(lb))
				if got := s.member + " " + s.source; got != want {
					t.Errorf("through %s: the member was told %q, want %q", address, got, want)
				}
				if err := s.echo("after the header"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestProxyHeader_NamesOwnClientOfHTTPConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Member", addrPortText(r.RemoteAddr))
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(&proxyproto.Listener{Listener: listener})
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	lb := balancer(t, ProtocolHTTP, member("a", addrPort(listener.Addr())))
	lb.Pools[0].Protocol = ProtocolProxyV2
	serveWeb(t, lb)
	for _, address := range []string{"127.0.0.7", "127.0.0.8"} {
		client := webClientFrom(t, address)
		for range 2 {
			if got := mustGet(t, client, vip(lb), "/").member(); got != address {
				t.Errorf("the client %s was told as %s", address, got)
			}
		}
	}
}

// addrPortText is the host of a host and port.
func addrPortText(at string) string {
	host, _, _ := strings.Cut(at, ":")
	return host
}

func TestProxyHeader_NamesNobodyInProbes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{ProtocolProxy, ProtocolProxyV2} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			headers := make(chan *proxyproto.Header, 1)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					client, err := listener.Accept()
					if err != nil {
						return
					}
					if header, err := proxyproto.Read(bufio.NewReader(client)); err == nil {
						select {
						case headers <- header:
						default:
						}
					}
					_ = client.Close()
				}
			}()
			t.Cleanup(func() {
				_ = listener.Close()
				<-done
			})
			lb := balancer(t, "TCP", member("a", addrPort(listener.Addr())))
			lb.Pools[0].Protocol = protocol
			lb.Pools[0].Monitor = monitor(MonitorHTTP) // leaves time to read the header, unlike TCP
			start(t, newMemory(lb))
			if header := <-headers; header.SourceAddr != nil {
				t.Errorf("a probe named the client %s", header.SourceAddr)
			}
		})
	}
}

func TestProxyHeader_IsLeftOutInProbesOfAnotherPort(t *testing.T) {
	t.Parallel()
	served, health := backend(t, "a"), webMember(t, "health")
	served.MonitorPort = health.Port
	lb := balancer(t, "TCP", served)
	lb.Pools[0].Protocol = ProtocolProxyV2
	lb.Pools[0].Monitor = monitor(MonitorHTTP)
	source := newMemory(lb)
	start(t, source)
	wantStatus(t, source, "a", StatusOnline)
}
