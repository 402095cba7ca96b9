package neutron

import (
	"context"
	"net/http"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// SubportAddress is the fixed address of a trunk subport.
type SubportAddress struct {
	// Network is the name of the subport's network.
	Network string
	Address string
}

// trunkAPI reads the subports of trunks.
type trunkAPI struct{ requests }

// SubportAddresses returns the fixed addresses of all trunk subports of the project, by the ID of
// the server with the trunk's parent port. Nova does not return them. It sends one request if there
// are no trunks, otherwise two more, and more for every 150 ports. The result is empty if Neutron
// has no trunks or hides them.
func (c trunkAPI) SubportAddresses(ctx context.Context) (map[string][]SubportAddress, error) {
	trunks, err := c.trunks(ctx)
	if err != nil || len(trunks) == 0 {
		return nil, err
	}
	var ids []string
	for _, t := range trunks {
		ids = append(ids, t.PortID)
		for _, sub := range t.SubPorts {
			ids = append(ids, sub.PortID)
		}
	}
	ports, err := c.portsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := c.networkNames(ctx, ports)
	if err != nil {
		return nil, err
	}
	addresses := map[string][]SubportAddress{}
	for _, t := range trunks {
		server := ports[t.PortID].DeviceID
		if server == "" {
			continue // the trunk has no server, or belongs to another project
		}
		for _, sub := range t.SubPorts {
			port := ports[sub.PortID]
			for _, fixed := range port.FixedIPs {
				addresses[server] = append(addresses[server], SubportAddress{Network: names[port.NetworkID], Address: fixed.IPAddress})
			}
		}
	}
	return addresses, nil
}

// trunk connects VLAN ports with the port of a server.
type trunk struct {
	ID       string `json:"id"`
	PortID   string `json:"port_id"`
	SubPorts []struct {
		PortID string `json:"port_id"`
	} `json:"sub_ports"`
}

func (c trunkAPI) trunks(ctx context.Context) ([]trunk, error) {
	found, err := list(ctx, c.requests, "trunks", url.Values{"fields": {"id", "port_id", "sub_ports"}}, func(t trunk) string { return t.ID })
	err = apierror.Wrap(err, "list trunks")
	if apierror.IsUnknownAction(err) || apierror.StatusCode(err) == http.StatusForbidden {
		return nil, nil
	}
	return found, err
}

func (c trunkAPI) portsByID(ctx context.Context, ids []string) (map[string]Port, error) {
	found, err := inChunks(ids, func(chunk []string) ([]Port, error) {
		return portAPI(c).portsWith(ctx, url.Values{"id": chunk}, []string{"id", "network_id", "device_id", "fixed_ips"})
	})
	ports := map[string]Port{}
	for _, port := range found {
		ports[port.ID] = port
	}
	return ports, err
}

// networkNames returns the names of the ports' networks, by ID.
func (c trunkAPI) networkNames(ctx context.Context, ports map[string]Port) (map[string]string, error) {
	names := map[string]string{}
	var ids []string
	for _, port := range ports {
		if _, known := names[port.NetworkID]; !known {
			names[port.NetworkID] = ""
			ids = append(ids, port.NetworkID)
		}
	}
	found, err := inChunks(ids, func(chunk []string) ([]Network, error) {
		return networkAPI(c).networks(ctx, url.Values{"id": chunk, "fields": {"id", "name"}})
	})
	for _, network := range found {
		names[network.ID] = network.Name
	}
	return names, err
}
