package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

// requestTimeout bounds one request of a client.
const requestTimeout = 5 * time.Second

// Client asks from a place, by host and port.
type Client struct {
	From netns.Namespace
	// Ports are the source ports of its connections; nil lets the kernel choose them.
	Ports *Ports
	// TLS makes it send HTTP over TLS; nil sends it plain.
	TLS *tls.Config
}

// Ports gives each connection a source port that none had before, until there are no more. The kernel soon
// chooses a port again, which connection tracking takes for the same connection.
type Ports struct{ taken atomic.Uint32 }

const (
	// firstPort is the first one without privileges.
	firstPort = 1024
	// portAttempts is the number of ports that are tried, if others are in use.
	portAttempts = 20
)

func (p *Ports) next() int { return firstPort + int(p.taken.Add(1))%(1<<16-firstPort) }

func (c Client) dial(ctx context.Context, network, address string) (connection net.Conn, err error) {
	if c.Ports == nil {
		return c.From.DialContext(ctx, network, address)
	}
	for range portAttempts {
		port := c.Ports.next()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{Port: port}}
		if network == "udp" {
			dialer.LocalAddr = &net.UDPAddr{Port: port}
		}
		if connection, err = c.From.Dial(ctx, &dialer, network, address); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return connection, err
}

var (
	// ErrEstablished marks the failure of a connection after its handshake.
	ErrEstablished = errors.New("the connection was established")
	// ErrUnanswered marks a datagram that was sent and not answered.
	ErrUnanswered = errors.New("the datagram was not answered")
)

// HTTP sends a request over a connection of its own, and gives the name of the
// node that answered, and what it said. Another status than 200 is an error.
func (c Client) HTTP(ctx context.Context, address string) (name, body string, err error) {
	var established atomic.Bool
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := c.dial(ctx, network, address)
		established.Store(err == nil)
		return connection, err
	}
	defer func() {
		if err != nil && established.Load() {
			err = fmt.Errorf("%w: %w", ErrEstablished, err)
		}
	}()
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true, TLSClientConfig: c.TLS}
	client := http.Client{Timeout: requestTimeout, Transport: transport}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/", nil)
	if err != nil {
		return "", "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%s answered %s", address, response.Status)
	}
	return response.Header.Get(node.HeaderNode), string(text), nil
}

// UDP sends a datagram and gives the name of the node that answered.
func (c Client) UDP(ctx context.Context, address string) (string, error) {
	connection, err := c.dial(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, "x"); err != nil {
		return "", err
	}
	answer := make([]byte, 1500)
	n, err := connection.Read(answer)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	words := strings.Fields(string(answer[:n]))
	if len(words) < 2 || words[0] != "node" {
		return "", fmt.Errorf("%s answered %q", address, answer[:n])
	}
	return words[1], nil
}

// Answers counts the answers of each node to so many requests. Any request that
// fails is an error.
func (c Client) Answers(ctx context.Context, address string, requests int) (map[string]int, error) {
	answers := map[string]int{}
	for i := range requests {
		name, _, err := c.HTTP(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, requests, err)
		}
		answers[name]++
	}
	return answers, nil
}

const (
	// hammerPause makes fifty requests in a second at most.
	hammerPause = 20 * time.Millisecond
	// laterPause follows after many requests, so that the ports of two clients suffice for an hour. OVN tracks a connection
	// that it has cut, and takes a new one from the same port for it.
	laterPause, manyRequests = 200 * time.Millisecond, 10_000
)

// Hammer asks over new connections until it is stopped, and counts.
type Hammer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	asked  atomic.Int64

	// Failures may be read when it is stopped.
	Failures []Failure
}

// Failure is a request that was not answered.
type Failure struct {
	// Began is when it was sent.
	Began time.Time
	Err   error
}

// Error implements error.
func (f Failure) Error() string { return f.Began.Format(time.StampMilli) + ": " + f.Err.Error() }

// Hammer starts HTTP requests.
func (c Client) Hammer(ctx context.Context, address string) *Hammer {
	return hammer(ctx, func(ctx context.Context) error {
		_, _, err := c.HTTP(ctx, address)
		return err
	})
}

// HammerUDP starts datagrams, each from a port of its own.
func (c Client) HammerUDP(ctx context.Context, address string) *Hammer {
	return hammer(ctx, func(ctx context.Context) error {
		_, err := c.UDP(ctx, address)
		return err
	})
}

func hammer(ctx context.Context, ask func(context.Context) error) *Hammer {
	ctx, cancel := context.WithCancel(ctx)
	h := &Hammer{cancel: cancel}
	h.done.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			err := ask(context.WithoutCancel(ctx))
			pause := hammerPause
			if h.asked.Add(1) > manyRequests {
				pause = laterPause
			}
			if err != nil {
				h.Failures = append(h.Failures, Failure{began, err})
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	return h
}

// Requests returns the number of requests so far.
func (h *Hammer) Requests() int { return int(h.asked.Load()) }

// Stop ends it.
func (h *Hammer) Stop() {
	h.cancel()
	h.done.Wait()
}
