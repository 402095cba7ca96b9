package simulator

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Restore adds the state of a real cloud, recorded from its list calls: a JSON object with the
// collections loadbalancers, listeners, pools, healthmonitors, members (by pool ID), networks,
// subnets, ports, floatingips, security_groups and servers. IDs, addresses, names and times are
// kept; the project of the load balancers becomes that of Account.
func (c *Cloud) Restore(recorded []byte) error {
	var owner struct {
		LoadBalancers []struct {
			ProjectID string `json:"project_id"`
		} `json:"loadbalancers"`
	}
	if err := json.Unmarshal(recorded, &owner); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	text := string(recorded)
	if len(owner.LoadBalancers) > 0 {
		text = strings.ReplaceAll(text, owner.LoadBalancers[0].ProjectID, c.Account.ProjectID)
	}
	var (
		network  neutron.Collections
		balancer octavia.Collections
		compute  struct {
			Servers []struct {
				ID       string            `json:"id"`
				Name     string            `json:"name"`
				Zone     string            `json:"OS-EXT-AZ:availability_zone"`
				Metadata map[string]string `json:"metadata"`
			} `json:"servers"`
		}
	)
	for _, into := range []any{&network, &balancer, &compute} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	if err := c.Neutron.Restore(network); err != nil {
		return err
	}
	for _, s := range compute.Servers {
		// Its ports exist already.
		spec := nova.ServerSpec{ID: s.ID, Name: s.Name, ProjectID: c.Account.ProjectID, Zone: s.Zone, Metadata: s.Metadata}
		if _, err := c.Nova.AddServer(spec); err != nil {
			return fmt.Errorf("restore server %s: %w", s.Name, err)
		}
	}
	return c.Octavia.Restore(balancer)
}
