package control

import "net/http"

// orphanView is an object that belongs to no living Service.
type orphanView struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// listOrphans lists orphans. The query has the living Services and the names to ignore.
func (c *control) listOrphans(r *http.Request) (answer, error) {
	if c.parts.Cloud == nil {
		return answer{}, refuse(http.StatusNotImplemented, "this control API was started without a whole cloud")
	}
	query := r.URL.Query()
	views := []orphanView{}
	for _, orphan := range c.parts.Cloud.Orphans(query["service"], query["ignore"]) {
		views = append(views, orphanView(orphan))
	}
	return answer{http.StatusOK, map[string]any{"count": len(views), "orphans": views}}, nil
}

// listLeakedPorts lists the VIP ports of load balancers that do not exist.
func (c *control) listLeakedPorts(*http.Request) (answer, error) {
	if c.parts.Cloud == nil {
		return answer{}, refuse(http.StatusNotImplemented, "this control API was started without a whole cloud")
	}
	views := []orphanView{}
	for _, port := range c.parts.Cloud.LeakedPorts() {
		views = append(views, orphanView{Kind: "port", ID: port.ID, Name: port.Name, Detail: port.DeviceOwner})
	}
	return answer{http.StatusOK, map[string]any{"count": len(views), "ports": views}}, nil
}
