package octavia

import (
	"time"

	"github.com/go-json-experiment/json"
)

// Each of the five objects below is the body of a creation and, with more fields, an answer. A zero
// field is omitted in a creation, and Octavia uses its default. So a creation cannot set the admin
// state to down, except for members. IDs, statuses and times are in answers only.
type (
	// LoadBalancer is a load balancer. A creation needs one of VIPPortID, VIPSubnetID and VIPNetworkID.
	LoadBalancer struct {
		ID                 string    `json:"id,omitempty"`
		Name               string    `json:"name,omitempty"`
		Description        string    `json:"description,omitempty"`
		Tags               []string  `json:"tags,omitempty"`
		Provider           string    `json:"provider,omitempty"`
		FlavorID           string    `json:"flavor_id,omitempty"`
		AvailabilityZone   string    `json:"availability_zone,omitempty"`
		AdminStateUp       bool      `json:"admin_state_up,omitempty"`
		ProvisioningStatus string    `json:"provisioning_status,omitempty"`
		OperatingStatus    string    `json:"operating_status,omitempty"`
		CreatedAt          Timestamp `json:"created_at,omitzero"`
		// UpdatedAt has whole seconds. It changes with each change of any object in the load
		// balancer, and is zero until the first one.
		UpdatedAt Timestamp `json:"updated_at,omitzero"`

		VIPNetworkID   string `json:"vip_network_id,omitempty"`
		VIPSubnetID    string `json:"vip_subnet_id,omitempty"`
		VIPPortID      string `json:"vip_port_id,omitempty"`
		VIPAddress     string `json:"vip_address,omitempty"`
		VIPQoSPolicyID string `json:"vip_qos_policy_id,omitempty"`
		// AdditionalVIPs are the VIPs besides the first, each in another subnet of its network. It needs
		// driver.VersionAdditionalVIPs.
		AdditionalVIPs []AdditionalVIP `json:"additional_vips,omitempty"`
		// VIPSecurityGroupIDs are the user's own security groups on the ports of the VIP, in any order;
		// none if Octavia creates one. It needs driver.VersionVIPSecurityGroups.
		VIPSecurityGroupIDs []string `json:"vip_sg_ids,omitempty"`

		// In a creation, Listeners has all listeners, each with its DefaultPool. In an answer, only
		// the IDs are set; in the answer to a creation, all settings are.
		Listeners []Listener `json:"listeners,omitempty"`
		// Pools is in answers only, with IDs; in the answer to a creation with all settings.
		Pools []Pool `json:"pools,omitempty"`
	}

	// Listener is a listener. Protocol and Port of an existing one cannot change.
	Listener struct {
		ID          string   `json:"id,omitempty"`
		Name        string   `json:"name,omitempty"`
		Description string   `json:"description,omitempty"`
		Tags        []string `json:"tags,omitempty"`
		Protocol    string   `json:"protocol,omitempty"`
		Port        int      `json:"protocol_port,omitempty"`
		// AllowedCIDRs are the clients that may connect; none means all.
		AllowedCIDRs []string `json:"allowed_cidrs,omitempty"`
		// InsertHeaders has "true" for each inserted header.
		InsertHeaders      map[string]string `json:"insert_headers,omitempty"`
		TLSContainerRef    string            `json:"default_tls_container_ref,omitempty"`
		AdminStateUp       bool              `json:"admin_state_up,omitempty"`
		ProvisioningStatus string            `json:"provisioning_status,omitempty"`
		OperatingStatus    string            `json:"operating_status,omitempty"`

		// ConnectionLimit is a number of connections, -1 for no limit. Timeouts are in
		// milliseconds; 0 is a valid value. In a creation, nil selects the default of the cloud. In
		// an answer, nil means that the provider lacks the setting.
		ConnectionLimit      *int `json:"connection_limit,omitempty"`
		TimeoutClientData    *int `json:"timeout_client_data,omitempty"`
		TimeoutMemberConnect *int `json:"timeout_member_connect,omitempty"`
		TimeoutMemberData    *int `json:"timeout_member_data,omitempty"`
		TimeoutTCPInspect    *int `json:"timeout_tcp_inspect,omitempty"`

		DefaultPoolID string `json:"default_pool_id,omitempty"`
		// DefaultPool is valid only in the creation of a load balancer: elsewhere Octavia answers 500.
		DefaultPool *NewPool `json:"default_pool,omitempty"`
		// LoadBalancerID is in creations, and LoadBalancers, which has exactly one element, in
		// answers.
		LoadBalancerID string     `json:"loadbalancer_id,omitempty"`
		LoadBalancers  []ObjectID `json:"loadbalancers,omitempty"`
	}

	// Pool is a pool. Protocol of an existing one cannot change.
	Pool struct {
		ID                 string             `json:"id,omitempty"`
		Name               string             `json:"name,omitempty"`
		Tags               []string           `json:"tags,omitempty"`
		Protocol           string             `json:"protocol,omitempty"`
		Algorithm          string             `json:"lb_algorithm,omitempty"`
		Persistence        SessionPersistence `json:"session_persistence,omitzero"`
		AdminStateUp       bool               `json:"admin_state_up,omitempty"`
		ProvisioningStatus string             `json:"provisioning_status,omitempty"`
		OperatingStatus    string             `json:"operating_status,omitempty"`

		// MonitorID is the ID of the health monitor in answers. Monitor is the monitor itself. It
		// is set only in a NewPool and in the answer to the creation of a load balancer; Octavia
		// before 14.0 omits it there.
		MonitorID string         `json:"healthmonitor_id,omitempty"`
		Monitor   *HealthMonitor `json:"healthmonitor,omitempty"`
		// Members are in answers only.
		Members []ObjectID `json:"members,omitempty"`
		// LoadBalancerID is in creations. Answers have LoadBalancers, which has exactly one element,
		// and Listeners, the ones that use the pool.
		LoadBalancerID string     `json:"loadbalancer_id,omitempty"`
		LoadBalancers  []ObjectID `json:"loadbalancers,omitempty"`
		Listeners      []ObjectID `json:"listeners,omitempty"`
	}

	// NewPool is a pool in the creation of a load balancer, with its members. No other request can
	// create a pool together with its members: Octavia answers 500.
	NewPool struct {
		Pool
		Members []Member `json:"members,omitempty"`
	}

	// Member is a member of a pool. Address, Port and SubnetID of an existing one cannot change.
	Member struct {
		ID       string `json:"id,omitempty"`
		Name     string `json:"name,omitempty"`
		Address  string `json:"address,omitempty"`
		Port     int    `json:"protocol_port,omitempty"`
		SubnetID string `json:"subnet_id,omitempty"`
		// Weight is 0 to 256; nil in a request is 1. AdminStateUp nil in a request is true.
		Weight       *int  `json:"weight,omitempty"`
		AdminStateUp *bool `json:"admin_state_up,omitempty"`
		Backup       bool  `json:"backup,omitempty"`
		// MonitorAddress and MonitorPort are the target of a health monitor; zero means the address
		// and port of the member.
		MonitorAddress     string `json:"monitor_address,omitempty"`
		MonitorPort        int    `json:"monitor_port,omitempty"`
		ProvisioningStatus string `json:"provisioning_status,omitempty"`
		OperatingStatus    string `json:"operating_status,omitempty"`
	}

	// HealthMonitor is the health monitor of a pool. Type of an existing one cannot change.
	HealthMonitor struct {
		ID   string   `json:"id,omitempty"`
		Name string   `json:"name,omitempty"`
		Tags []string `json:"tags,omitempty"`
		// PoolID is in creations only, but not in those of a load balancer.
		PoolID string `json:"pool_id,omitempty"`
		Type   string `json:"type,omitempty"`
		// Delay and Timeout are in seconds.
		Delay          int    `json:"delay,omitempty"`
		Timeout        int    `json:"timeout,omitempty"`
		MaxRetries     int    `json:"max_retries,omitempty"`
		MaxRetriesDown int    `json:"max_retries_down,omitempty"`
		HTTPMethod     string `json:"http_method,omitempty"`
		URLPath        string `json:"url_path,omitempty"`
		// ExpectedCodes is "200", "200,202" or "200-204".
		ExpectedCodes string `json:"expected_codes,omitempty"`
		// HTTPVersion is 1.0 or 1.1. DomainName needs 1.1.
		HTTPVersion        float64 `json:"http_version,omitempty"`
		DomainName         string  `json:"domain_name,omitempty"`
		AdminStateUp       bool    `json:"admin_state_up,omitempty"`
		ProvisioningStatus string  `json:"provisioning_status,omitempty"`
		OperatingStatus    string  `json:"operating_status,omitempty"`
	}
)

// AdditionalVIP is a VIP besides the first. Octavia does not report its port.
type AdditionalVIP struct {
	SubnetID string `json:"subnet_id,omitempty"`
	Address  string `json:"ip_address,omitempty"`
}

// SessionPersistence is how a pool assigns the connections of a client to one member. The zero
// value is none.
type SessionPersistence struct {
	Type string `json:"type,omitempty"`
	// CookieName is for the type APP_COOKIE.
	CookieName string `json:"cookie_name,omitempty"`
	// Timeout is in seconds; 0 is the provider's default.
	Timeout int `json:"persistence_timeout,omitempty"`
}

// Changes is the body of an update: the new values of settings, by their names in Octavia's API.
// Nil is sent as null, which resets a setting to its default. A missing setting stays unchanged.
// Empty Changes are sent as well: they make Octavia repair a pool or a listener in ERROR.
type Changes map[string]any

// Timestamp is a time in UTC. Octavia writes it without a zone.
type Timestamp struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler. Null and an empty text are the zero time.
func (t *Timestamp) UnmarshalJSON(value []byte) (err error) {
	var text string
	if err = json.Unmarshal(value, &text); err == nil {
		t.Time, err = parseTime(text)
	}
	return err
}

// parseTime returns a time that is written with or without a zone, zero for an empty text.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text+"Z") // of all layouts, package time reads this one fastest
	if err != nil {
		return time.Parse(time.RFC3339Nano, text)
	}
	return at, nil
}
