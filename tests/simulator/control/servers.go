package control

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// serverView is a server in answers, and with name, address, flavor and zone in requests.
type serverView struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Address string `json:"address,omitempty"`
}

// newServer is the body of POST servers.
type newServer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Flavor  string `json:"flavor"`
	Zone    string `json:"zone"`
}

func (c *control) listServers(*http.Request) (answer, error) {
	addresses := map[string]string{}
	for _, port := range c.parts.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && addresses[port.DeviceID] == "" {
			addresses[port.DeviceID] = port.FixedIPs[0].Address
		}
	}
	servers := []serverView{}
	for _, server := range c.parts.Nova.Servers() {
		servers = append(servers, serverView{
			ID: server.ID, Name: server.Name, Status: server.Status, Address: addresses[server.ID],
		})
	}
	return answer{http.StatusOK, map[string]any{"servers": servers}}, nil
}

// addServer adds a running server. Without an address it gets a free one of the network.
func (c *control) addServer(r *http.Request) (answer, error) {
	var wanted newServer
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	if wanted.Name == "" {
		return answer{}, refuse(http.StatusBadRequest, "a server needs a name")
	}
	server, err := c.parts.Nova.AddServer(nova.ServerSpec{
		Name: wanted.Name, ProjectID: c.parts.ProjectID, NetworkID: c.parts.NetworkID,
		Address: wanted.Address, Flavor: wanted.Flavor, Zone: wanted.Zone,
	})
	if err != nil {
		return answer{}, err
	}
	view := serverView{ID: server.ID, Name: server.Name, Status: server.Status}
	for _, id := range server.PortIDs {
		port, err := c.parts.Neutron.Port(id)
		if err == nil && len(port.FixedIPs) > 0 && view.Address == "" {
			view.Address = port.FixedIPs[0].Address
		}
	}
	return answer{http.StatusCreated, view}, nil
}

func (c *control) deleteServer(r *http.Request) (answer, error) {
	id := r.PathValue("id")
	if !c.parts.Nova.DeleteServer(id) {
		return answer{}, refuse(http.StatusNotFound, "no server %s", id)
	}
	return answer{status: http.StatusNoContent}, nil
}

func (c *control) setServerStatus(r *http.Request) (answer, error) {
	var wanted struct {
		Status string `json:"status"`
	}
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	if wanted.Status == "" {
		return answer{}, refuse(http.StatusBadRequest, "status is missing, such as ACTIVE or SHUTOFF")
	}
	id := r.PathValue("id")
	if !c.parts.Nova.SetStatus(id, wanted.Status) {
		return answer{}, refuse(http.StatusNotFound, "no server %s", id)
	}
	return answer{status: http.StatusNoContent}, nil
}
