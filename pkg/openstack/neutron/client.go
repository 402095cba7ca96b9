// Package neutron is a typed client of the network API.
package neutron

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
)

// Session provides the connection of a Client.
type Session interface {
	// Network returns a client of the network API, version 2.
	Network(ctx context.Context) (*gophercloud.ServiceClient, error)
	// ProjectID returns the project to which lists are limited, "" for no limit.
	ProjectID() string
}

// Client reads and writes floating IPs, security groups, the routes of routers and the ports of VIPs,
// and reads networks, subnets and other ports. A method sends one request unless its comment has another number.
// Errors are those of apierror.Wrap.
type Client struct {
	networkAPI
	portAPI
	floatingIPAPI
	forwardingAPI
	routerAPI
	vipPortAPI
	securityGroupAPI
	trunkAPI
	projectAPI
}

// New returns a client for a session.
func New(session Session) *Client {
	r := requests{session}
	return &Client{
		networkAPI{r}, portAPI{r}, floatingIPAPI{r}, forwardingAPI{r}, routerAPI{r}, vipPortAPI{r},
		securityGroupAPI{r}, trunkAPI{r}, projectAPI{r},
	}
}
