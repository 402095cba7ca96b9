package neutron

import "net/http"

// trunk ties ports of VLANs, its subports, to the port of a server.
type trunk struct {
	standard
	Name         string    `json:"name"`
	AdminStateUp bool      `json:"admin_state_up"`
	PortID       string    `json:"port_id"`
	Status       string    `json:"status"`
	SubPorts     []subPort `json:"sub_ports"`
}

type subPort struct {
	PortID           string `json:"port_id"`
	SegmentationType string `json:"segmentation_type"`
	SegmentationID   int    `json:"segmentation_id"`
}

// trunkDetails is what the extension trunk-details shows of a trunk on its port.
type trunkDetails struct {
	TrunkID  string          `json:"trunk_id"`
	SubPorts []detailSubPort `json:"sub_ports"`
}

type detailSubPort struct {
	subPort
	MACAddress string `json:"mac_address"`
}

// AddTrunk makes a port the parent of other ports, each on a VLAN of its own from 100
// on, and gives the trunk's ID. Errors are *Error: a port that there is not.
func (n *Neutron) AddTrunk(parentID string, subportIDs ...string) (string, error) {
	n.lock()
	defer n.unlock()
	parent, ok := n.ports.get(parentID)
	if !ok {
		return "", portNotFound(parentID)
	}
	record := &trunk{
		standard: n.newStandard("", parent.ProjectID, "", nil), AdminStateUp: true, PortID: parentID, Status: "ACTIVE", SubPorts: []subPort{},
	}
	details := &trunkDetails{TrunkID: record.ID, SubPorts: []detailSubPort{}}
	for i, id := range subportIDs {
		child, ok := n.ports.get(id)
		if !ok {
			return "", portNotFound(id)
		}
		tied := subPort{PortID: id, SegmentationType: "vlan", SegmentationID: 100 + i}
		record.SubPorts = append(record.SubPorts, tied)
		details.SubPorts = append(details.SubPorts, detailSubPort{tied, child.MACAddress})
		child.DeviceOwner, child.Status = "trunk:subport", "ACTIVE" // the device stays empty
	}
	if n.has("trunk-details") {
		parent.TrunkDetails = details
	}
	n.trunks.put(record.ID, record)
	n.changed = true
	return record.ID, nil
}

func (n *Neutron) listTrunks(c *call) (int, any, error) {
	if !n.has("trunk") {
		return 0, nil, httpError(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	seen := visible(n.trunks.all(), func(record *trunk) bool { return c.sees(record.ProjectID) })
	return list(n, c, "trunks", seen, func(id string) *Error {
		return httpError(http.StatusNotFound, "TrunkNotFound", "Trunk %s could not be found.", id)
	})
}
