package octavia

import (
	"context"
	"strings"

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

// statusAnswer is an answer with a StatusTree, without members that are known and ACTIVE.
type statusAnswer struct {
	known    KnownMembers
	Statuses struct {
		LoadBalancer StatusTree `json:"loadbalancer"`
	} `json:"statuses"`
}

// DecodeFrom reads the answer: nearly all of it are members, of which there can be thousands.
func (a *statusAnswer) DecodeFrom(r *response.Reader) error {
	return onlyField(r, "statuses", func() error {
		return onlyField(r, "loadbalancer", func() error {
			return a.Statuses.LoadBalancer.decodeFrom(r, a.known)
		})
	})
}

// onlyField reads an object of which one field is needed.
func onlyField(r *response.Reader, needed string, read func() error) error {
	return r.Object(func(name []byte) error {
		if string(name) == needed {
			return read()
		}
		return r.Skip()
	})
}

func (t *StatusTree) decodeFrom(r *response.Reader, known KnownMembers) error {
	return r.Object(func(name []byte) (err error) {
		if string(name) == "listeners" {
			t.Listeners, err = response.ReadList(r, func(l *ListenerStatus, r *response.Reader, before *ListenerStatus) error {
				return l.decodeFrom(r, before, known)
			})
			return err
		}
		return t.field(r, name, &t.NodeStatus)
	})
}

func (l *ListenerStatus) decodeFrom(r *response.Reader, before *ListenerStatus, known KnownMembers) error {
	return r.Object(func(name []byte) (err error) {
		if string(name) == "pools" {
			l.Pools, err = response.ReadList(r, func(p *PoolStatus, r *response.Reader, before *PoolStatus) error {
				return p.decodeFrom(r, before, known)
			})
			return err
		}
		return l.field(r, name, &before.NodeStatus)
	})
}

func (p *PoolStatus) decodeFrom(r *response.Reader, before *PoolStatus, known KnownMembers) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "health_monitor":
			return p.Monitor.decodeFrom(r)
		case "members":
			if known == nil {
				p.Members, err = response.ReadList(r, (*MemberStatus).decodeFrom)
			} else {
				p.Members, err = readOtherMembers(r, known)
			}
			return err
		}
		return p.field(r, name, &before.NodeStatus)
	})
}

func (m *MonitorStatus) decodeFrom(r *response.Reader) error {
	return r.Object(func(name []byte) error {
		if string(name) == "type" {
			return r.Text(&m.Type, "")
		}
		return m.field(r, name, &m.NodeStatus)
	})
}

func (m *MemberStatus) decodeFrom(r *response.Reader, before *MemberStatus) error {
	return r.Object(func(name []byte) error {
		switch string(name) {
		case "address":
			return r.Text(&m.Address, "")
		case "protocol_port":
			return r.Int(&m.Port)
		}
		return m.field(r, name, &before.NodeStatus)
	})
}

// memberTexts are those of a member of the tree, in memory that the next one has again.
type memberTexts struct {
	id, name, provisioning, operating, address []byte
	port                                       int
}

// readOtherMembers reads those members that are not known, or not ACTIVE. The others leave nothing.
func readOtherMembers(r *response.Reader, known KnownMembers) (others []MemberStatus, err error) {
	var m memberTexts
	err = r.List(func() error {
		if err := m.decodeFrom(r); err != nil {
			return err
		}
		if string(m.provisioning) != StatusActive || !known(m.id, m.address, m.port) {
			others = append(others, m.status())
		}
		return nil
	})
	return others, err
}

func (m *memberTexts) decodeFrom(r *response.Reader) error {
	*m = memberTexts{id: m.id[:0], name: m.name[:0], provisioning: m.provisioning[:0], operating: m.operating[:0], address: m.address[:0]}
	return r.Object(func(name []byte) error {
		switch string(name) {
		case "id":
			return r.Bytes(&m.id)
		case "name":
			return r.Bytes(&m.name)
		case "provisioning_status":
			return r.Bytes(&m.provisioning)
		case "operating_status":
			return r.Bytes(&m.operating)
		case "address":
			return r.Bytes(&m.address)
		case "protocol_port":
			return r.Int(&m.port)
		}
		return r.Skip()
	})
}

func (m *memberTexts) status() MemberStatus {
	return MemberStatus{NodeStatus{string(m.id), string(m.name), string(m.provisioning), string(m.operating)}, string(m.address), m.port}
}

// field reads a field of the object. The statuses are most likely those of the one before.
func (n *NodeStatus) field(r *response.Reader, name []byte, before *NodeStatus) error {
	switch string(name) {
	case "id":
		return r.Text(&n.ID, "")
	case "name":
		return r.Text(&n.Name, "")
	case "provisioning_status":
		return r.Text(&n.ProvisioningStatus, before.ProvisioningStatus)
	case "operating_status":
		return r.Text(&n.OperatingStatus, before.OperatingStatus)
	}
	return r.Skip()
}

// KnownMembers reports whether a member, which is ACTIVE, is known. The texts are valid during the
// call.
type KnownMembers func(id, address []byte, port int) bool

// StatusTree reads the whole state of a load balancer in one request, whose cost
// grows linearly with its members on every release.
func (c *Client) StatusTree(ctx context.Context, loadBalancerID string) (*StatusTree, error) {
	return c.StatusTreeWithout(ctx, loadBalancerID, nil)
}

// StatusTreeWithout is StatusTree without members that are known and ACTIVE, which take no memory;
// nil: with all.
func (c *Client) StatusTreeWithout(ctx context.Context, loadBalancerID string, known KnownMembers) (*StatusTree, error) {
	answer := statusAnswer{known: known}
	about := func() string { return answer.Statuses.LoadBalancer.ID }
	if err := c.object(ctx, "loadbalancers", loadBalancerID, "/status", &answer, about); err != nil {
		return nil, apierror.Wrap(err, "read status of load balancer "+loadBalancerID)
	}
	return &answer.Statuses.LoadBalancer, nil
}

// lastWord returns what follows the last slash.
func lastWord(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
