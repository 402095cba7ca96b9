package main

import (
	"strings"
	"testing"

	appconfig "k8s.io/cloud-provider/app/config"
)

// cloud.conf is often shared with components that need its router: it must not prevent the start of
// a controller without routes.
func TestCheckRoutes_NeedsPodNetworksOnlyWhereRoutesAreServed(t *testing.T) {
	t.Parallel()
	const route, nodes = "node-route-controller", "cloud-node-controller"
	for name, test := range map[string]struct {
		controllers      []string
		router, cidr     string
		configure, wrong bool
	}{
		"routes":                        {[]string{"*"}, "r", "", true, true},
		"routes, and where pods are":    {[]string{"*"}, "r", "10.0.0.0/8", true, false},
		"no router":                     {[]string{"*"}, "", "", true, false},
		"no routes":                     {[]string{"*"}, "r", "", false, false},
		"route controller off":          {[]string{"*", "-" + route}, "r", "", true, false},
		"other controllers on only":     {[]string{nodes}, "r", "", true, false},
		"route controller on by name":   {[]string{nodes, route}, "r", "", true, true},
		"on, but there are no networks": {[]string{route}, "r", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conf appconfig.Config
			conf.ComponentConfig.Generic.Controllers = test.controllers
			conf.ComponentConfig.KubeCloudShared.ConfigureCloudRoutes = test.configure
			err := checkRoutes(test.router, cloudRoutes(conf.Complete()), test.cidr)
			if (err != nil) != test.wrong || err != nil && !strings.Contains(err.Error(), "--cluster-cidr") {
				t.Errorf("got %v, want an error: %v", err, test.wrong)
			}
		})
	}
}
