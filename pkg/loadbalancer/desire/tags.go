package desire

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Tags of the user's own stand beside those that tell whose a part of a load balancer
// is. They are given to parts when they are made and never compared: to change the
// tags of a load balancer is to build it anew in Octavia's eyes, and somebody may
// have added his own.

// tags gives the user's tags: those of the annotation, else the class's, else the
// section's. The texts of cloud.conf were checked when it was read.
func tags(values annotation.Values, lb config.LoadBalancer) []string {
	if values.Tags != nil {
		return values.Tags
	}
	parsed, _ := config.ParseTags(lb.Tags)
	return parsed
}

// tagsOf gives the tags of everything that is made for the Service; none where
// Octavia has no tags.
func (s Settings) tagsOf(id ownership.Identity) []string {
	ours := id.Tags()
	if len(ours) == 0 {
		return nil
	}
	return slices.Concat(ours, s.Tags)
}
