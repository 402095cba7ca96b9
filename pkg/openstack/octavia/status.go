package octavia

import (
	"context"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// StatusTree is the state of a load balancer and of all objects in it. Pools are below the
// listeners that use them: a pool without a listener is missing, and a pool of two listeners occurs
// twice.
type StatusTree struct {
	NodeStatus
	Listeners []ListenerStatus `json:"listeners"`
}

// NodeStatus has the fields of every object of the tree.
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

// PoolStatus is a pool of the tree. Monitor has no ID if the pool has no monitor.
type PoolStatus struct {
	NodeStatus
	Monitor MonitorStatus  `json:"health_monitor"`
	Members []MemberStatus `json:"members"`
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

// statusAnswer is an answer with a StatusTree.
type statusAnswer struct {
	Statuses struct {
		LoadBalancer StatusTree `json:"loadbalancer"`
	} `json:"statuses"`
}

// DecodeFrom reads the answer. It consists nearly only of members, of which there can be thousands.
func (a *statusAnswer) DecodeFrom(r *rest.Reader) error {
	return onlyField(r, "statuses", func() error {
		return onlyField(r, "loadbalancer", func() error {
			return a.Statuses.LoadBalancer.decodeFrom(r)
		})
	})
}

// onlyField reads an object and decodes only the field that is needed.
func onlyField(r *rest.Reader, needed string, read func() error) error {
	return r.Object(func(name []byte) error {
		if string(name) == needed {
			return read()
		}
		return r.Skip()
	})
}

func (t *StatusTree) decodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) (err error) {
		if string(name) == "listeners" {
			t.Listeners, err = rest.ReadList(r, (*ListenerStatus).decodeFrom)
			return err
		}
		return t.field(r, name)
	})
}

func (l *ListenerStatus) decodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) (err error) {
		if string(name) == "pools" {
			l.Pools, err = rest.ReadList(r, (*PoolStatus).decodeFrom)
			return err
		}
		return l.field(r, name)
	})
}

func (p *PoolStatus) decodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "health_monitor":
			return p.Monitor.decodeFrom(r)
		case "members":
			p.Members, err = rest.ReadList(r, (*MemberStatus).decodeFrom)
			return err
		}
		return p.field(r, name)
	})
}

func (m *MonitorStatus) decodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) error {
		if string(name) == "type" {
			return r.Text(&m.Type)
		}
		return m.field(r, name)
	})
}

func (m *MemberStatus) decodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) error {
		switch string(name) {
		case "address":
			return r.Text(&m.Address)
		case "protocol_port":
			return r.Int(&m.Port)
		}
		return m.field(r, name)
	})
}

// field reads a field of the object.
func (n *NodeStatus) field(r *rest.Reader, name []byte) error {
	switch string(name) {
	case "id":
		return r.Text(&n.ID)
	case "name":
		return r.Text(&n.Name)
	case "provisioning_status":
		return r.Text(&n.ProvisioningStatus, model.ProvisioningStatuses()...)
	case "operating_status":
		return r.Text(&n.OperatingStatus, model.OperatingStatuses()...)
	}
	return r.Skip()
}

// StatusTree reads the whole state of a load balancer in one request. The cost for Octavia grows
// linearly with the members on every release.
func (c loadBalancerAPI) StatusTree(ctx context.Context, loadBalancerID string) (*StatusTree, error) {
	var answer statusAnswer
	about := func() string { return answer.Statuses.LoadBalancer.ID }
	if err := c.object(ctx, "loadbalancers", loadBalancerID, "/status", &answer, about); err != nil {
		return nil, apierror.Wrap(err, "read status of load balancer "+loadBalancerID)
	}
	return &answer.Statuses.LoadBalancer, nil
}

// lastWord returns the text after the last slash.
func lastWord(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
