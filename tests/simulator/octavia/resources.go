package octavia

import "strconv"

func versionName(minor int) string { return currentMajorPrefix + strconv.Itoa(minor) }

// resources are all collections below /v2.0/lbaas.
func (o *Octavia) resources() map[string]resource {
	return map[string]resource{
		"loadbalancers": {
			list: o.listBalancers, create: o.createBalancer,
			show: o.showBalancer, put: o.updateBalancer, remove: o.deleteBalancer,
			parts: map[string]resource{
				"status": {list: o.statusTree}, "statuses": {list: o.statusTree}, "stats": {list: o.balancerStatistics},
				"failover": {
					list: o.listBalancers, batch: o.failover, create: o.createBalancer, remove: o.deleteBalancer,
				},
			},
		},
		"listeners": {
			list: o.listListeners, create: o.createListener,
			show: o.showListener, put: o.updateListener, remove: o.deleteListener,
			parts: map[string]resource{"stats": {list: o.listenerStatistics}},
		},
		"pools": {
			list: o.listPools, create: o.createPool,
			show: o.showPool, put: o.updatePool, remove: o.deletePool,
			parts: map[string]resource{"members": {
				list: o.listMembers, create: o.createMember, batch: o.batchMembers,
				show: o.showMember, put: o.updateMember, remove: o.deleteMember, lookup: o.lookUpPool,
			}},
		},
		"healthmonitors": {
			list: o.listMonitors, create: o.createMonitor,
			show: o.showMonitor, put: o.updateMonitor, remove: o.deleteMonitor,
		},
		"l7policies": {
			list: o.listPolicies, create: o.createPolicy,
			show: o.showPolicy, put: o.updatePolicy, remove: o.deletePolicy,
			parts: map[string]resource{"rules": {
				list: o.listRules, create: o.createRule,
				show: o.showRule, put: o.updateRule, remove: o.deleteRule, lookup: o.lookUpPolicy,
			}},
		},
		"quotas": {
			list: o.listQuotas, show: o.showQuota, put: o.updateQuota, remove: o.deleteQuota, putID: "project_id", removeID: "project_id", whole: true,
			parts: map[string]resource{"default": {list: o.defaultQuota}},
		},
		"providers":                o.providers(),
		"flavors":                  o.flavors(),
		"flavorprofiles":           o.flavorProfiles(),
		"availabilityzones":        o.availabilityZones(),
		"availabilityzoneprofiles": o.availabilityZoneProfiles(),
	}
}

// lookUpPool finds the pool of a call on its members before anything else.
func (o *Octavia) lookUpPool(c *call) *apiError {
	var failure *apiError
	o.reading(func() { _, _, failure = o.pool(c.id) })
	if failure != nil {
		return rawError(failure.status, failure.text)
	}
	return nil
}

func (o *Octavia) lookUpPolicy(c *call) *apiError {
	var failure *apiError
	o.reading(func() { _, _, failure = o.policy(c.id) })
	if failure != nil {
		return rawError(failure.status, "L7Policy "+c.id+" not found.")
	}
	return nil
}
