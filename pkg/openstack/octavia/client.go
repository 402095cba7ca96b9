// Package octavia is a typed client of the load balancer API, and reads its version.
package octavia

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
)

// Session is the connection of a Client.
type Session interface {
	// LoadBalancer returns a client of the load balancer API, version 2.
	LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error)
	// ProjectID returns the project of all lists, "" for all projects.
	ProjectID() string
}

// Client reads and writes load balancers and the objects in them. A method sends one request unless
// its comment names more. Errors are those of apierror.Wrap.
type Client struct {
	loadBalancerAPI
	listenerAPI
	poolAPI
	memberAPI
	monitorAPI
	projectAPI
}

// New returns a client of a session.
func New(session Session) *Client {
	r := requests{session}
	return &Client{loadBalancerAPI{r}, listenerAPI{r}, poolAPI{r}, memberAPI{r}, monitorAPI{r}, projectAPI{r}}
}
