package provider

import (
	"errors"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// refused gives an error for settings that protect something and are not supported
// yet: without them, what they protect would be open.
func refused(conf *config.Config) error {
	if conf.LoadBalancer.DefaultTLSContainerRef != "" {
		return errors.New("cloud.conf [LoadBalancer] default-tls-container-ref is not supported yet: " +
			"listeners would carry no TLS. Remove it only if no Service relies on it")
	}
	return nil
}

// ineffective tells of settings of cloud.conf that are valid, since the peer has
// them, but change nothing here, each with what follows from that.
func ineffective(conf *config.Config) []string {
	var told []string
	tell := func(given bool, key, follows string) {
		if given {
			told = append(told, fmt.Sprintf("cloud.conf %s has no effect: %s", key, follows))
		}
	}
	lb := conf.LoadBalancer
	tell(lb.EnableIngressHostname, "[LoadBalancer] enable-ingress-hostname", "Services are published by address")
	tell(conf.Route.RouterID != "", "[Route] router-id", "routes to pods are left to the network plugin")
	return told
}
