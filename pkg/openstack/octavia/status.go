package octavia

import (
	"context"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
)

// StatusTree is the state of a load balancer and of everything in it. Pools show
// up below the listeners that use them: one that no listener uses is missing, one
// that two use is there twice.
type StatusTree struct {
	NodeStatus
	Listeners []ListenerStatus `json:"listeners"`
}

// NodeStatus is what every object of the tree has.
type NodeStatus struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
}

// ListenerStatus is a listener of the tree.
type ListenerStatus struct {
	NodeStatus
	Pools []PoolStatus `json:"pools"`
}

// PoolStatus is a pool of the tree. Monitor has no ID when the pool has none.
type PoolStatus struct {
	NodeStatus
	Monitor MonitorStatus  `json:"health_monitor"`
	Members MemberStatuses `json:"members"`
}

// MonitorStatus is a health monitor of the tree.
type MonitorStatus struct {
	NodeStatus
	Type string `json:"type"`
}

// MemberStatus is a member of the tree.
type MemberStatus struct {
	NodeStatus
	Address string `json:"address"`
	Port    int    `json:"protocol_port"`
}

// MemberStatuses are the members of a pool of the tree, which are most of it.
type MemberStatuses []MemberStatus

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *MemberStatuses) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	*s, err = response.List(dec, func(f *response.Fields, m, before *MemberStatus) error {
		switch string(f.Name()) {
		case "id":
			return f.Text(&m.ID, "")
		case "name":
			return f.Text(&m.Name, "")
		case "address":
			return f.Text(&m.Address, "")
		case "protocol_port":
			return f.Int(&m.Port)
		case "provisioning_status":
			return f.Text(&m.ProvisioningStatus, before.ProvisioningStatus)
		case "operating_status":
			return f.Text(&m.OperatingStatus, before.OperatingStatus)
		}
		return f.Skip()
	})
	return err
}

// StatusTree reads the whole state of a load balancer in one request, whose cost
// grows linearly with its members on every release.
func (c *Client) StatusTree(ctx context.Context, loadBalancerID string) (*StatusTree, error) {
	var answer struct {
		Statuses struct {
			LoadBalancer StatusTree `json:"loadbalancer"`
		} `json:"statuses"`
	}
	if err := c.get(ctx, "loadbalancers/"+url.PathEscape(loadBalancerID)+"/status", &answer); err != nil {
		return nil, apierror.Wrap(err, "read status of load balancer "+loadBalancerID)
	}
	return &answer.Statuses.LoadBalancer, nil
}

// lastWord returns what follows the last slash.
func lastWord(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
