package settings

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// Unread is what of a refused Service cannot be read.
type Unread struct {
	// Selector is which nodes it chooses, Ranges who may connect.
	Selector, Ranges bool
}

// ParseKept returns the settings with which the load balancer of a refused Service is kept
// alive where nobody knows what the Service asked for before: of what it says now, nothing
// but where its nodes and its floating IP are, as far as that can be read.
func (p *Parser) ParseKept(svc *v1.Service) (*Settings, Unread) {
	s, _, errs := p.Parse(svc)
	s.LoadBalancer.AllowReplace, s.LoadBalancer.FlavorID, s.LoadBalancer.AvailabilityZone = false, "", ""
	s.LoadBalancerIP, s.VIP.Address, s.VIP.PortID = "", "", ""
	s.Floating.ID, s.Floating.Tag, s.Floating.Keep = "", "", true
	var unread Unread
	for _, err := range errs {
		unread.Selector = unread.Selector || err.Field == annotation.Path(annotation.NodeSelector).String() || err.Field == selectorPlace
		for _, path := range []*field.Path{inSpec("loadBalancerSourceRanges"), annotation.Path(annotation.SourceRanges)} {
			unread.Ranges = unread.Ranges || strings.HasPrefix(err.Field, path.String())
		}
	}
	return s, unread
}
