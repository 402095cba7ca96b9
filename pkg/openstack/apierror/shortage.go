package apierror

import (
	"regexp"
	"strings"
)

// The words of Octavia, and of Neutron, for what is used up.
const (
	quotaMet        = "Quota has been met for resources: "
	quotaExceeded   = "Quota exceeded for resources: "
	noMoreAddresses = "No more IP addresses available on network"
)

// Shortage is what a project, or the cloud, has no more of. The zero value is an address pool
// that nobody names.
type Shortage struct {
	// Octavia is the name that Octavia has for what its quota limits: "Load Balancer"; "" where
	// it is no quota of Octavia's.
	Octavia string
	// Neutron are the names that Neutron has for what its quotas limit: "floatingip".
	Neutron []string
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
		return Shortage{Octavia: strings.TrimRight(of, ". ")}
	}
	if _, of, ok := strings.Cut(text, quotaExceeded); ok {
		var s Shortage
		for _, name := range quoted.FindAllStringSubmatch(of, -1) {
			s.Neutron = append(s.Neutron, name[1])
		}
		return s
	}
	return Shortage{Network: uuid.FindString(text)}
}
