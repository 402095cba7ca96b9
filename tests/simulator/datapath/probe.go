package datapath

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/pires/go-proxyproto"
)

// udpSilence is how long a UDP-CONNECT probe waits for the ICMP error that means "down". On
// the loopback network it comes at once.
const udpSilence = 200 * time.Millisecond

// probe sends one probe of the monitor's type, and returns the error if it fails.
func probe(ctx context.Context, task probeTask) error {
	switch task.monitor.Type {
	case MonitorHTTP, MonitorHTTPS:
		return task.request(ctx)
	case MonitorUDPConnect:
		return task.datagram(ctx)
	case MonitorPing:
		return nil // a loopback address always answers an echo request
	case MonitorTLSHello:
		return task.hello(ctx)
	default:
		return task.handshake(ctx)
	}
}

// unverified is the TLS of a probe: Octavia's monitors do not verify members.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true}
}

// connect opens a connection to the target from the load balancer's address, with a PROXY
// header and TLS where they belong.
func (t probeTask) connect(ctx context.Context) (duplex, *net.TCPConn, error) {
	connection, err := dial(ctx, networkTCP, t.source, t.target)
	if err != nil {
		return nil, nil, err
	}
	tcp := connection.(*net.TCPConn)
	encrypted := t.encrypted || t.monitor.Type == MonitorHTTPS
	first := egress{proxy: t.proxy, encrypted: encrypted, tls: unverified()}
	ready, err := first.begin(ctx, tcp, &proxyproto.Header{Command: proxyproto.LOCAL})
	return ready, tcp, err
}

// handshake connects and hangs up with a reset, as haproxy does: it leaves no trace.
func (t probeTask) handshake(ctx context.Context) error {
	_, tcp, err := t.connect(ctx)
	if err != nil {
		return err
	}
	_ = tcp.SetLinger(0)
	return tcp.Close()
}

// The first byte of a record of TLS that answers a hello.
const (
	tlsAlert     = 0x15
	tlsHandshake = 0x16
)

// hello sends a ClientHello. Like haproxy (ssl-hello-chk), it looks only at the first byte of the answer, so that a member
// that returns what it gets is healthy.
func (t probeTask) hello(ctx context.Context) error {
	_, tcp, err := t.connect(ctx)
	if err != nil {
		return err
	}
	answer := &firstByte{Conn: tcp}
	err = tls.Client(answer, unverified()).HandshakeContext(ctx)
	_ = tcp.SetLinger(0)
	_ = tcp.Close()
	if answer.first == tlsAlert || answer.first == tlsHandshake {
		return nil
	}
	return fmt.Errorf("probe %s: the answer is not one of TLS: %w", t.target, err)
}

// firstByte keeps the first byte that is read; 0 before.
type firstByte struct {
	net.Conn
	first byte
}

// Read implements net.Conn.
func (c *firstByte) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.first == 0 {
		c.first = p[0]
	}
	return n, err
}

// request sends one HTTP request and compares the status code; it follows no redirect.
func (t probeTask) request(ctx context.Context) error {
	accepted, err := parseCodes(t.monitor.ExpectedCodes)
	if err != nil {
		return err
	}
	connection, _, err := t.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := io.WriteString(connection, t.requestText()); err != nil {
		return fmt.Errorf("probe %s: %w", t.target, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: t.method()})
	if err != nil {
		return fmt.Errorf("probe %s: %w", t.target, err)
	}
	defer answer.Body.Close()
	if !accepted.contain(answer.StatusCode) {
		return fmt.Errorf("probe %s: answered %d, expected %s", t.target, answer.StatusCode, t.monitor.ExpectedCodes)
	}
	return nil
}

func (t probeTask) method() string { return cmp.Or(t.monitor.Method, http.MethodGet) }

// requestText is the HTTP request of a probe. Package http would only speak 1.1 and always
// name a host; haproxy names none unless the monitor has a domain name.
func (t probeTask) requestText() string {
	version, host := "1.0", ""
	if t.monitor.DomainName != "" {
		version, host = "1.1", "Host: "+t.monitor.DomainName+"\r\n"
	}
	version = cmp.Or(t.monitor.HTTPVersion, version)
	return fmt.Sprintf("%s %s HTTP/%s\r\n%sConnection: close\r\n\r\n",
		t.method(), cmp.Or(t.monitor.Path, "/"), version, host)
}

// datagram sends a datagram; only an ICMP "port unreachable" means that the member is down.
func (t probeTask) datagram(ctx context.Context) error {
	connection, err := dial(ctx, networkUDP, t.source, t.target)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("octavia")); err != nil {
		return fmt.Errorf("probe %s: %w", t.target, err)
	}
	silent := time.AfterFunc(udpSilence, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	defer silent.Stop()
	_, err = connection.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("probe %s: %w", t.target, err)
	}
	return nil
}
