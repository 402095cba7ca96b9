package datapath

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// udpSilence is how long a UDP-CONNECT probe waits for the ICMP error that means "down". On
// the loopback network it comes at once.
const udpSilence = 200 * time.Millisecond

// probe asks the target once, as the monitor's type says, and returns why it failed.
func probe(ctx context.Context, task probeTask) error {
	switch task.monitor.Type {
	case MonitorHTTP, MonitorHTTPS:
		return probeHTTP(ctx, task)
	case MonitorTLSHello:
		return probeTLS(ctx, task)
	case MonitorUDPConnect:
		return probeUDP(ctx, task)
	case MonitorPing:
		return nil // a loopback address always answers an echo request
	default:
		return probeTCP(ctx, task)
	}
}

// connect opens a connection to the target from the load balancer's address.
func (t probeTask) connect(ctx context.Context, network string) (net.Conn, error) {
	return dial(ctx, network, t.source, t.target)
}

// probeTCP connects and hangs up with a reset, as haproxy does: it leaves no trace.
func probeTCP(ctx context.Context, task probeTask) error {
	connection, err := task.connect(ctx, "tcp")
	if err != nil {
		return err
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	return connection.Close()
}

func probeTLS(ctx context.Context, task probeTask) error {
	connection, err := task.connect(ctx, "tcp")
	if err != nil {
		return err
	}
	defer connection.Close()
	return tls.Client(connection, unverified()).HandshakeContext(ctx)
}

// unverified is the TLS of a probe: Octavia's monitors do not verify members.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
}

// probeHTTP sends one request and compares the status code; it follows no redirect.
func probeHTTP(ctx context.Context, task probeTask) error {
	accepted, err := parseCodes(task.monitor.ExpectedCodes)
	if err != nil {
		return err
	}
	request, err := task.request(ctx)
	if err != nil {
		return fmt.Errorf("probe %s: %w", task.target, err)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   unverified(),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return task.connect(ctx, network)
		},
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("probe %s: %w", task.target, err)
	}
	defer answer.Body.Close()
	if !accepted.contain(answer.StatusCode) {
		return fmt.Errorf("probe %s: answered %d, expected %s", task.target, answer.StatusCode, task.monitor.ExpectedCodes)
	}
	return nil
}

// request builds the HTTP request of a probe. An empty method, path or domain name means
// what Octavia's defaults mean: GET, / and the target itself.
func (t probeTask) request(ctx context.Context) (*http.Request, error) {
	path := t.monitor.Path
	if path == "" {
		path = "/"
	}
	location, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	location.Scheme, location.Host = "http", t.target.String()
	if t.monitor.Type == MonitorHTTPS {
		location.Scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, t.monitor.Method, location.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Host = t.monitor.DomainName
	return request, nil
}

// probeUDP sends a datagram; only an ICMP "port unreachable" means that the member is down.
func probeUDP(ctx context.Context, task probeTask) error {
	connection, err := task.connect(ctx, "udp")
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("octavia")); err != nil {
		return fmt.Errorf("probe %s: %w", task.target, err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(udpSilence)); err != nil {
		return fmt.Errorf("probe %s: %w", task.target, err)
	}
	_, err = connection.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("probe %s: %w", task.target, err)
	}
	return nil
}
