package apierror

import (
	"regexp"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// The words of Octavia, and of Neutron, for what is used up.
const (
	quotaMet        = "Quota has been met for resources: "
	quotaExceeded   = "Quota exceeded for resources: "
	noMoreAddresses = "No more IP addresses available on network"
)

// Shortage is what a project, or the cloud, has no more of.
type Shortage struct {
	// Service is whose quota it is; "" where it is no quota.
	Service string
	// Resources are the names that the service has for what is limited: "Load Balancer" of
	// Octavia, "floatingip" of Neutron.
	Resources []string
	// Network is the ID of the network that has no free address, "" for none.
	Network string
}

var (
	quoted = regexp.MustCompile(`'([a-z_]+)'`)
	uuid   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// ShortageOf returns what is used up, where IsQuota.
func ShortageOf(err error) Shortage {
	r := refusalOf(err)
	text := r.body.message
	if _, of, ok := strings.Cut(text, quotaMet); ok {
		return Shortage{Service: request.Octavia, Resources: []string{strings.TrimRight(of, ". ")}}
	}
	if _, of, ok := strings.Cut(text, quotaExceeded); ok {
		s := Shortage{Service: request.Neutron}
		for _, name := range quoted.FindAllStringSubmatch(of, -1) {
			s.Resources = append(s.Resources, name[1])
		}
		return s
	}
	return Shortage{Network: uuid.FindString(text)}
}
