package check

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

func (c *cloud) nodes(ctx context.Context) []Finding {
	var found []Finding
	add := func(verdict Verdict, section, key, text string) {
		found = append(found, Finding{
			Topic: Nodes, Verdict: verdict, Subject: "[" + section + "] " + key, Text: text, Source: c.read.Setting(section, key).Source,
		})
	}
	for _, list := range []struct {
		key   string
		names []string
	}{
		{"public-network-name", c.conf.Networking.PublicNetworkName},
		{"internal-network-name", c.conf.Networking.InternalNetworkName},
	} {
		for _, name := range list.names {
			networks, err := c.session.Neutron().NetworksNamed(ctx, name)
			switch {
			case err != nil:
				add(Unchecked, "Networking", list.key, name+": "+err.Error())
			case len(networks) == 0:
				add(Warning, "Networking", list.key, name+" has no effect: this project sees no network of that name")
			default:
				add(Good, "Networking", list.key, nameAndID(name, networks[0].ID))
			}
		}
	}
	if id := c.conf.Route.RouterID; id != "" {
		switch _, err := c.session.Neutron().Router(ctx, id); {
		case apierror.IsNoRouter(err):
			add(Wrong, "Route", "router-id", "there is no router "+id+", or this project cannot see it")
		case err != nil:
			add(Unchecked, "Route", "router-id", err.Error())
		default:
			add(Good, "Route", "router-id", id)
		}
	}
	return found
}
