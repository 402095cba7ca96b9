package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

const (
	// mostRequests is how often a call may ask, however the cloud answers.
	mostRequests = 1000
	// perRequest is what a request and its answer may allocate beside the bytes of the answer.
	perRequest = 256 << 10
	// longestError bounds the text of an error.
	longestError = 2000
)

// Cloud is the session of a client with services that give every request the same answer. It is not
// safe for concurrent use.
type Cloud struct {
	// Status and Header are those of each answer; 0 is 200.
	Status int
	Header http.Header
	// Bodies are answered in turn, and again from the first on.
	Bodies [][]byte

	t                  testing.TB
	requests, answered int
}

// NewCloud returns a cloud with the parts of a text, which are separated by "\n---\n", as answers.
func NewCloud(t testing.TB, status int, text []byte) *Cloud {
	return &Cloud{Status: status, Bodies: bytes.Split(text, []byte("\n---\n")), t: t}
}

// RoundTrip implements http.RoundTripper.
func (c *Cloud) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.requests++; c.requests > mostRequests {
		c.t.Errorf("%s %s is asked without an end", request.Method, request.URL)
		return nil, errors.New("enough")
	}
	body, status, header := c.Bodies[(c.requests-1)%len(c.Bodies)], c.Status, c.Header
	c.answered += len(body)
	if status == 0 {
		status = http.StatusOK
	}
	if header == nil {
		header = http.Header{"Content-Type": {"application/json"}}
	}
	return &http.Response{
		StatusCode: status, Header: header.Clone(), Request: request,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// Client returns a client of one of its services.
func (c *Cloud) Client() *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: "token", HTTPClient: http.Client{Transport: c}},
		Endpoint:       "http://cloud.example/",
	}
}

// LoadBalancer implements octavia.Session.
func (c *Cloud) LoadBalancer(context.Context) (*gophercloud.ServiceClient, error) {
	return c.Client(), nil
}

// Network implements neutron.Session.
func (c *Cloud) Network(context.Context) (*gophercloud.ServiceClient, error) { return c.Client(), nil }

// Compute implements nova.Session.
func (c *Cloud) Compute(context.Context) (*gophercloud.ServiceClient, error) { return c.Client(), nil }

// KeyManager implements barbican.Session.
func (c *Cloud) KeyManager(context.Context) (*gophercloud.ServiceClient, error) {
	return c.Client(), nil
}

// ProjectID implements the sessions of lists.
func (c *Cloud) ProjectID() string { return "project" }

// Try makes a call of a client on the cloud, and fails where that costs too much memory for the
// answers that it has read, or its error is not fit for a log.
func (c *Cloud) Try(call func(context.Context) error) {
	c.t.Helper()
	c.requests, c.answered = 0, 0
	var err error
	cost := allocated(func() { err = call(c.t.Context()) })
	if most := allowance + perRequest*c.requests + perByte*c.answered; float64(cost) > float64(most) {
		c.t.Errorf("%d answers of %d bytes in all cost %d of memory", c.requests, c.answered, cost)
	}
	if err == nil {
		return
	}
	if OneLine(c.t, err.Error()); len(err.Error()) > longestError {
		c.t.Errorf("an error of %d bytes: %s", len(err.Error()), err)
	}
}
