package octavia

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Collections are the answers of Octavia's list calls, by collection; Members by
// the ID of their pool.
type Collections struct {
	LoadBalancers []json.RawMessage            `json:"loadbalancers"`
	Listeners     []json.RawMessage            `json:"listeners"`
	Pools         []json.RawMessage            `json:"pools"`
	Monitors      []json.RawMessage            `json:"healthmonitors"`
	Members       map[string][]json.RawMessage `json:"members"`
}

// Restore adds load balancers with all that is in them as list calls of a real
// Octavia have shown them: IDs, times and statuses stay. TLS, L7 policies and
// amphorae are left out. The ports of the VIPs must be in Neutron already.
func (o *Octavia) Restore(from Collections) error {
	balancers, err := restored(from)
	if err != nil {
		return fmt.Errorf("restore load balancers: %w", err)
	}
	o.locked(func() {
		for _, lb := range balancers {
			o.balancers = append(o.balancers, lb)
			o.register(lb, lb)
			o.register(lb, children(lb)...)
			if o.queued(lb) {
				for _, pool := range lb.Pools {
					pool.inOVN = slices.Clone(pool.Members)
				}
			}
		}
		o.dirty = true
	})
	return nil
}

func restored(from Collections) ([]*LoadBalancer, error) {
	var balancers []*LoadBalancer
	for _, text := range from.LoadBalancers {
		lb, err := restoredLoadBalancer(text)
		if err != nil {
			return nil, err
		}
		if err := lb.restoreChildren(from); err != nil {
			return nil, err
		}
		balancers = append(balancers, lb)
	}
	slices.SortStableFunc(balancers, func(a, b *LoadBalancer) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return balancers, nil
}

func (lb *LoadBalancer) restoreChildren(from Collections) error {
	for _, text := range from.Listeners {
		l, of, err := restoredListener(text)
		if err != nil {
			return err
		}
		if of == lb.ID {
			lb.Listeners = append(lb.Listeners, l)
		}
	}
	for _, text := range from.Pools {
		p, of, err := restoredPool(text)
		if err != nil {
			return err
		}
		if of != lb.ID {
			continue
		}
		if err := p.restoreBelow(from); err != nil {
			return err
		}
		lb.Pools = append(lb.Pools, p)
	}
	return nil
}

func (p *Pool) restoreBelow(from Collections) error {
	for _, text := range from.Members[p.ID] {
		m := &Member{PoolID: p.ID, LoadBalancerID: p.LoadBalancerID}
		err := decode(text, m, fields{
			"address": &m.Address, "protocol_port": &m.ProtocolPort, "weight": &m.Weight, "backup": &m.Backup,
			"subnet_id": &m.SubnetID, "monitor_address": &m.MonitorAddress, "monitor_port": &m.MonitorPort,
		})
		if err != nil {
			return err
		}
		p.Members = append(p.Members, m)
	}
	for _, text := range from.Monitors {
		m := &Monitor{LoadBalancerID: p.LoadBalancerID}
		var of references
		err := decode(text, m, fields{
			"type": &m.Type, "delay": &m.Delay, "timeout": &m.Timeout, "max_retries": &m.MaxRetries, "max_retries_down": &m.MaxRetriesDown,
			"http_method": &m.HTTPMethod, "url_path": &m.URLPath, "expected_codes": &m.ExpectedCodes, "domain_name": &m.DomainName, "pools": &of,
		})
		if err != nil {
			return err
		}
		if m.PoolID = of.first(); m.PoolID == p.ID {
			p.Monitor = m
		}
	}
	return nil
}

func restoredLoadBalancer(text json.RawMessage) (*LoadBalancer, error) {
	lb := &LoadBalancer{described: true}
	err := decode(text, lb, fields{
		"description": &lb.Description, "provider": &lb.Provider, "flavor_id": &lb.FlavorID, "availability_zone": &lb.AvailabilityZone,
		"vip_address": &lb.VIP.Address, "vip_port_id": &lb.VIP.PortID, "vip_subnet_id": &lb.VIP.SubnetID,
		"vip_network_id": &lb.VIP.NetworkID, "vip_qos_policy_id": &lb.VIP.QoSPolicyID,
	})
	lb.VIP.OwnPort = true
	return lb, err
}

func restoredListener(text json.RawMessage) (*Listener, string, error) {
	l := &Listener{}
	var of references
	err := decode(text, l, fields{
		"description": &l.Description, "protocol": &l.Protocol, "default_pool_id": &l.DefaultPoolID, "loadbalancers": &of,
		"protocol_port": &l.ProtocolPort, "connection_limit": &l.ConnectionLimit, "timeout_client_data": &l.TimeoutClientData,
		"timeout_member_connect": &l.TimeoutMemberConnect, "timeout_member_data": &l.TimeoutMemberData,
		"timeout_tcp_inspect": &l.TimeoutTCPInspect, "allowed_cidrs": &l.AllowedCIDRs, "insert_headers": &l.InsertHeaders,
		"default_tls_container_ref": &l.TLS.DefaultContainerRef, "client_authentication": &l.TLS.ClientAuthentication,
	})
	l.LoadBalancerID = of.first()
	return l, l.LoadBalancerID, err
}

func restoredPool(text json.RawMessage) (*Pool, string, error) {
	p := &Pool{}
	var of references
	var persistence *struct {
		Type       string `json:"type"`
		CookieName string `json:"cookie_name"`
		Timeout    *int   `json:"persistence_timeout"`
	}
	err := decode(text, p, fields{
		"description": &p.Description, "protocol": &p.Protocol, "lb_algorithm": &p.Algorithm, "session_persistence": &persistence, "loadbalancers": &of,
	})
	if persistence != nil {
		p.Persistence = &SessionPersistence{Type: persistence.Type, CookieName: persistence.CookieName, Timeout: persistence.Timeout}
	}
	p.LoadBalancerID = of.first()
	return p, p.LoadBalancerID, err
}

// references are objects shown as their IDs alone.
type references []struct {
	ID string `json:"id"`
}

func (r references) first() string {
	if len(r) == 0 {
		return ""
	}
	return r[0].ID
}

// fields are where the attributes of an answer go.
type fields map[string]any

// wireMeta is Meta as the API shows it.
type wireMeta struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	ProjectID    string   `json:"project_id"`
	Provisioning string   `json:"provisioning_status"`
	Operating    string   `json:"operating_status"`
	AdminStateUp bool     `json:"admin_state_up"`
	Tags         []string `json:"tags"`
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
}

// decode reads an object: what all have, and its own attributes. A null leaves the
// zero value.
func decode(text json.RawMessage, thing object, into fields) error {
	var meta wireMeta
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(text, &attributes); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return err
	}
	for name, target := range into {
		if given, is := attributes[name]; is {
			if err := json.Unmarshal(given, target); err != nil {
				return fmt.Errorf("%s of %s: %w", name, meta.ID, err)
			}
		}
	}
	created, err := wireTime(meta.CreatedAt)
	if err != nil {
		return err
	}
	updated, err := wireTime(meta.UpdatedAt)
	*thing.meta() = Meta{
		ID: meta.ID, Name: meta.Name, ProjectID: meta.ProjectID, AdminStateUp: meta.AdminStateUp, Tags: meta.Tags,
		ProvisioningStatus: cmp.Or(meta.Provisioning, Active), OperatingStatus: cmp.Or(meta.Operating, Online),
		CreatedAt: created, UpdatedAt: updated,
	}
	return err
}

// wireTime reads a time as Octavia writes it: UTC, without a zone.
func wireTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse("2006-01-02T15:04:05.999999", strings.TrimSuffix(text, "Z"))
}
