package cloudprovider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// UnusedSettings returns a warning for each setting of cloud.conf that is valid and has no effect.
// cloudRoutes reports whether the route controller requests routes.
func UnusedSettings(conf *config.Config, cloudRoutes bool) []config.Warning {
	var warnings []config.Warning
	warn := func(given bool, key, reason string) {
		if given {
			place := "cloud.conf " + key
			warnings = append(warnings, config.Warning{Text: place + " has no effect: " + reason, Place: place})
		}
	}
	lb := conf.LoadBalancer
	if driver.QuirksOf(lb.LBProvider).IgnoresLimits {
		reason := fmt.Sprintf("the provider %s keeps no timeouts and connection limits of listeners", lb.LBProvider)
		warn(lb.ConnectionLimit != nil, "[LoadBalancer] connection-limit", reason)
		warn(lb.TimeoutClientData != nil, "[LoadBalancer] timeout-client-data", reason)
		warn(lb.TimeoutMemberConnect != nil, "[LoadBalancer] timeout-member-connect", reason)
		warn(lb.TimeoutMemberData != nil, "[LoadBalancer] timeout-member-data", reason)
		warn(lb.TimeoutTCPInspect != nil, "[LoadBalancer] timeout-tcp-inspect", reason)
	}
	warn(conf.Route.RouterID != "" && !cloudRoutes, "[Route] router-id", "--configure-cloud-routes=false, or --controllers without the route controller, leaves routes to pods to the network plugin")
	return warnings
}

// WithKnownAnnotations returns the configuration without the value of deny-annotations if that
// names an unknown annotation. Such a value is refused, as any other wrong value of [LoadBalancer]
// is.
func WithKnownAnnotations(conf *config.Config) *config.Config {
	denied := conf.LoadBalancer.DenyAnnotations
	_, err := annotation.Denied(denied)
	if err == nil {
		return conf
	}
	known := *conf
	known.LoadBalancer.DenyAnnotations = ""
	known.Refused.LoadBalancers = append(slices.Clone(conf.Refused.LoadBalancers), &config.ValueError{
		Place: "cloud.conf [LoadBalancer] deny-annotations", Value: denied, Allowed: "names of annotations of Services", Err: err,
	})
	return &known
}

// logRefused logs the settings that prevent work on load balancers.
func logRefused(ctx context.Context, refused config.Refused) {
	logger := klog.FromContext(ctx)
	for _, err := range refused.LoadBalancers {
		logger.Error(err, "Services of type LoadBalancer are refused until cloud.conf is corrected: their load balancers only follow nodes and pods. Nodes and routes are served")
	}
	for _, name := range slices.Sorted(maps.Keys(refused.Classes)) {
		for _, err := range refused.Classes[name] {
			logger.Error(err, "Services of a load balancer class are refused until cloud.conf is corrected: their load balancers only follow nodes and pods", "class", name)
		}
	}
}
