package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

// requestTimeout bounds one request of a client.
const requestTimeout = 5 * time.Second

// Client asks from a place, by host and port.
type Client struct{ From netns.Namespace }

// HTTP sends a request over a connection of its own, and gives the name of the
// node that answered, and what it said.
func (c Client) HTTP(ctx context.Context, address string) (name, body string, err error) {
	transport := &http.Transport{DialContext: c.From.DialContext, DisableKeepAlives: true}
	client := http.Client{Timeout: requestTimeout, Transport: transport}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
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
	connection, err := c.From.DialContext(ctx, "udp", address)
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
		return "", err
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

// hammerPause makes fifty requests in a second at most.
const hammerPause = 20 * time.Millisecond

// Hammer asks all the while until it is stopped, and counts.
type Hammer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	Requests int
	Failures []error
}

// Hammer starts to ask.
func (c Client) Hammer(ctx context.Context, address string) *Hammer {
	ctx, cancel := context.WithCancel(ctx)
	h := &Hammer{cancel: cancel}
	h.done.Go(func() {
		for ctx.Err() == nil {
			_, _, err := c.HTTP(context.WithoutCancel(ctx), address)
			h.Requests++
			if err != nil {
				h.Failures = append(h.Failures, fmt.Errorf("%s: %w", time.Now().Format(time.StampMilli), err))
			}
			select {
			case <-ctx.Done():
			case <-time.After(hammerPause):
			}
		}
	})
	return h
}

// Stop ends it; the counts may be read then.
func (h *Hammer) Stop() {
	h.cancel()
	h.done.Wait()
}
