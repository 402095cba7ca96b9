package cloudprovider

import (
	"context"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// withKnownAnnotations gives the configuration in which deny-annotations names
// annotations that there are: what it names else is refused as any other wrong value of
// [LoadBalancer] is.
func withKnownAnnotations(conf *config.Config) *config.Config {
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

// tellRefused logs what keeps load balancers from being served.
func tellRefused(ctx context.Context, refused config.Refused) {
	logger := klog.FromContext(ctx)
	for _, err := range refused.LoadBalancers {
		logger.Error(err, "Services of type LoadBalancer are refused until cloud.conf is corrected: their load balancers only follow the nodes. Nodes and routes are served")
	}
	for _, name := range slices.Sorted(maps.Keys(refused.Classes)) {
		for _, err := range refused.Classes[name] {
			logger.Error(err, "Services of a load balancer class are refused until cloud.conf is corrected: their load balancers only follow the nodes", "class", name)
		}
	}
}
