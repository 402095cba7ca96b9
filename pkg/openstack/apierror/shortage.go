package apierror

import (
	"regexp"
	"strings"
)

// The messages of Octavia and Neutron about exhausted resources.
const (
	quotaMet        = "Quota has been met for resources: "
	quotaExceeded   = "Quota exceeded for resources: "
	noMoreAddresses = "No more IP addresses available on network"
)

// Shortage is an exhausted resource of a project or of the cloud. The zero value is an unknown
// address pool.
type Shortage struct {
	// Octavia is Octavia's name of the limited resource, such as "Load Balancer"; "" if the quota
	// is not Octavia's.
	Octavia string
	// Neutron are Neutron's names of the limited resources, such as "floatingip".
	Neutron []string
	// Network is the ID of the network without free addresses, "" for none.
	Network string
}

var (
	quoted = regexp.MustCompile(`'([a-z_]+)'`)
	uuid   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// ShortageOf returns the exhausted resource of an error for which IsQuota is true.
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
