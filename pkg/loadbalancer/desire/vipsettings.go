package desire

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// vipSettings reads the QoS policy and the security groups of the VIP.
func vipSettings(values annotation.Values, lb config.LoadBalancer) model.VIPSettings {
	settings := model.VIPSettings{QoSPolicyID: strings.ToLower(first(value(values.VIPQoSPolicyID), lb.VIPQoSPolicyID))}
	for id := range strings.SplitSeq(first(value(values.VIPSecurityGroups), lb.VIPSecurityGroupIDs), ",") {
		if id = strings.ToLower(strings.TrimSpace(id)); id != "" {
			settings.SecurityGroupIDs = append(settings.SecurityGroupIDs, id)
		}
	}
	slices.Sort(settings.SecurityGroupIDs)
	settings.SecurityGroupIDs = slices.Compact(settings.SecurityGroupIDs)
	return settings
}

// validateVIP refuses what the provider does not have on a VIP, wherever it is asked
// for: both are there to hold something off. None can always be had.
func validateVIP(s Settings, drv driver.Driver) field.ErrorList {
	var errs field.ErrorList
	asked := s.VIP.Settled()
	if why := drv.Lacks(driver.VIPQoS); asked.QoSPolicyID != "" && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.VIPQoSPolicyID), asked.QoSPolicyID+" cannot be: "+why))
	}
	if len(asked.SecurityGroupIDs) == 0 {
		return errs
	}
	at, ids := annotation.Path(annotation.VIPSecurityGroups), strings.Join(asked.SecurityGroupIDs, ",")
	if why := drv.Lacks(driver.VIPSecurityGroups); why != "" {
		return append(errs, field.Forbidden(at, ids+" cannot be: "+why))
	}
	if len(s.SourceRanges) > 0 {
		errs = append(errs, field.Forbidden(at, ids+" and source ranges exclude each other: let the groups say who may connect, or ask for "+model.None))
	}
	return errs
}
