package settings

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Unread reports the settings of a refused Service that cannot be read.
type Unread struct {
	// Selector is the node selector, Ranges the source ranges, Weights the weights of members.
	Selector, Ranges, Weights bool
}

// ParseKept returns the settings with which the load balancer of a refused Service is kept in
// operation if its previous settings are unknown. Of the current settings it has only those that
// locate nodes and floating IP, if they are readable.
func (p *Parser) ParseKept(svc *v1.Service) (*Settings, Unread) {
	s, _, errs := p.Parse(svc)
	s.LoadBalancer.AllowReplace, s.LoadBalancer.FlavorID, s.LoadBalancer.AvailabilityZone = false, "", ""
	s.LoadBalancerIP, s.VIP.Address, s.VIP.PortID = "", "", ""
	s.Floating.ID, s.Floating.Tag, s.Floating.Keep = "", "", true
	var unread Unread
	for _, err := range errs {
		unread.Selector = unread.Selector || err.Field == annotation.Path(annotation.NodeSelector).String() || err.Field == selectorPlace
		unread.Weights = unread.Weights || err.Field == annotation.Path(annotation.MemberWeights).String()
		for _, path := range []*field.Path{inSpec("loadBalancerSourceRanges"), annotation.Path(annotation.SourceRanges)} {
			unread.Ranges = unread.Ranges || strings.HasPrefix(err.Field, path.String())
		}
	}
	return s, unread
}
