// Package config turns cloud.conf, clouds.yaml and the OS_* environment into
// one validated Config. It knows neither OpenStack's APIs nor Kubernetes and
// makes no network call: what it returns is complete and consistent, or every
// problem is named at once.
//
// The fields of the structs in this file are the one table of all settings.
// Their tags say how a setting is read and checked:
//
//	gcfg     key in cloud.conf
//	default  text that stands when the key is not given
//	oneof    the only values allowed, separated by commas
//	form     name of the rule for the value (see formNamed)
//	min, max bounds of a number
//	env      OS_* variables, the first one set counts
//	clouds   place of the value in an entry of clouds.yaml
//	secret   "yes": the value is never printed
//	empty    what an empty value means where it is not "not given"
//
// Their comments are the text of docs/configuration.md, which a test writes.
package config

// Config is everything an operator can set. Sections keep the names they have
// in cloud.conf. Printing it in any way leaves out secrets.
type Config struct {
	// How to sign in to OpenStack.
	Global Global
	// Defaults for load balancers of Services.
	LoadBalancer LoadBalancer
	// Named sets of settings, one section each. A Service picks one with the
	// annotation `loadbalancer.openstack.org/class`.
	LoadBalancerClass map[string]*LoadBalancerClass
	// Which addresses of a server become addresses of its node.
	Networking Networking
	// Pod routes in a Neutron router.
	Route Route
	// Kept for compatibility; only request-timeout has an effect.
	Metadata Metadata
	// How many requests may be in flight at a time, by what they do. The number in use starts lower (at 4 for `creates`, at 8 for the others), grows up to these while OpenStack answers well, and is halved when it answers 429, 500, 502, 503 or 504 or not at all, or takes more than three times as long as usual. `Retry-After` in an answer holds back all requests of its kind until then, for at most 5 minutes. Requests beyond the limit wait: deletes and creates go ahead of changes, changes ahead of new members. cloud-provider-openstack has no such section and no such limits.
	Limits Limits

	// Refused says what of cloud.conf keeps load balancers from being served.
	Refused Refused `section:"none"`
}

// Refused are wrong values of the sections that only load balancers need. Nodes and
// routes are served nevertheless. The settings themselves have their defaults.
type Refused struct {
	// LoadBalancers is what is wrong with [LoadBalancer], which concerns all Services; nil:
	// nothing is.
	LoadBalancers []error
	// Classes is what is wrong with a section [LoadBalancerClass], by its name.
	Classes map[string][]error
}

// Global says where Keystone is and how to sign in.
type Global struct {
	// URL of Keystone, for example `https://keystone.example.com/v3`. Required.
	AuthURL string `gcfg:"auth-url" form:"url" env:"OS_AUTH_URL" clouds:"auth.auth_url"`
	// Name of the user; needs a user domain.
	Username string `gcfg:"username" env:"OS_USERNAME" clouds:"auth.username"`
	// ID of the user; wins over the name.
	UserID string `gcfg:"user-id" env:"OS_USER_ID" clouds:"auth.user_id"`
	// Password of the user.
	Password string `gcfg:"password" env:"OS_PASSWORD" clouds:"auth.password" secret:"yes"`
	// ID of the project; wins over the name.
	TenantID string `gcfg:"tenant-id" env:"OS_PROJECT_ID,OS_TENANT_ID" clouds:"auth.project_id"`
	// Name of the project; needs a project domain.
	TenantName string `gcfg:"tenant-name" env:"OS_PROJECT_NAME,OS_TENANT_NAME" clouds:"auth.project_name"`
	// ID of the domain of user and project where they have none of their own. OS_DEFAULT_DOMAIN and `auth.default_domain` stand in for it.
	DomainID string `gcfg:"domain-id" env:"OS_DOMAIN_ID" clouds:"auth.domain_id"`
	// Name of the domain of user and project where they have none of their own.
	DomainName string `gcfg:"domain-name" env:"OS_DOMAIN_NAME" clouds:"auth.domain_name"`
	// ID of the project's domain.
	TenantDomainID string `gcfg:"tenant-domain-id" env:"OS_PROJECT_DOMAIN_ID,OS_TENANT_DOMAIN_ID" clouds:"auth.project_domain_id"`
	// Name of the project's domain.
	TenantDomainName string `gcfg:"tenant-domain-name" env:"OS_PROJECT_DOMAIN_NAME,OS_TENANT_DOMAIN_NAME" clouds:"auth.project_domain_name"`
	// ID of the user's domain.
	UserDomainID string `gcfg:"user-domain-id" env:"OS_USER_DOMAIN_ID" clouds:"auth.user_domain_id"`
	// Name of the user's domain.
	UserDomainName string `gcfg:"user-domain-name" env:"OS_USER_DOMAIN_NAME" clouds:"auth.user_domain_name"`
	// ID of the Keystone trust that gives access to the project.
	TrustID string `gcfg:"trust-id" env:"OS_TRUST_ID" clouds:"auth.trust_id"`
	// ID of the user the trust was given to, if not `user-id` or `username`.
	TrusteeID string `gcfg:"trustee-id"`
	// Password of the user the trust was given to, if not `password`.
	TrusteePassword string `gcfg:"trustee-password" secret:"yes"`
	// ID of an application credential.
	ApplicationCredentialID string `gcfg:"application-credential-id" env:"OS_APPLICATION_CREDENTIAL_ID" clouds:"auth.application_credential_id"`
	// Name of an application credential; needs the user it belongs to.
	ApplicationCredentialName string `gcfg:"application-credential-name" env:"OS_APPLICATION_CREDENTIAL_NAME" clouds:"auth.application_credential_name"`
	// Secret of the application credential.
	ApplicationCredentialSecret string `gcfg:"application-credential-secret" env:"OS_APPLICATION_CREDENTIAL_SECRET" clouds:"auth.application_credential_secret" secret:"yes"`
	// A token made elsewhere. It cannot be renewed: once it expires every call fails.
	Token string `gcfg:"token" env:"OS_TOKEN,OS_AUTH_TOKEN" clouds:"auth.token" secret:"yes"`
	// Region to look up in the catalog; also the region of nodes. When empty, the region of the first compute endpoint at sign-in is kept until the process ends.
	Region string `gcfg:"region" env:"OS_REGION_NAME" clouds:"region_name"`
	// Interface of the catalog to use; empty means public.
	EndpointType string `gcfg:"os-endpoint-type" oneof:"public,internal,admin,publicURL,internalURL,adminURL" env:"OS_INTERFACE,OS_ENDPOINT_TYPE" clouds:"endpoint_type"`
	// File with the CA certificates (PEM) that sign the servers' certificates.
	CAFile string `gcfg:"ca-file" env:"OS_CACERT" clouds:"cacert"`
	// File with a TLS client certificate (PEM); needs `key-file`.
	CertFile string `gcfg:"cert-file" env:"OS_CERT" clouds:"cert"`
	// File with the key (PEM) of the client certificate; needs `cert-file`.
	KeyFile string `gcfg:"key-file" env:"OS_KEY" clouds:"key"`
	// Do not verify the servers' certificates. In clouds.yaml this is `verify: false`.
	TLSInsecure bool `gcfg:"tls-insecure" default:"false" form:"literal-bool" env:"OS_INSECURE"`
	// Take what is not given here from clouds.yaml.
	UseClouds bool `gcfg:"use-clouds" default:"false"`
	// Path of clouds.yaml. Empty means OS_CLIENT_CONFIG_FILE, else the first of `./clouds.yaml`, `~/.config/openstack/clouds.yaml`, `/etc/openstack/clouds.yaml`.
	CloudsFile string `gcfg:"clouds-file" env:"OS_CLIENT_CONFIG_FILE"`
	// Entry of clouds.yaml. Empty means OS_CLOUD, else the only entry there is.
	Cloud string `gcfg:"cloud" env:"OS_CLOUD"`
}

// LoadBalancer holds the defaults for every Service of type LoadBalancer.
type LoadBalancer struct {
	// Serve Services of type LoadBalancer at all.
	Enabled bool `gcfg:"enabled" default:"true"`
	// Version of the load-balancer API; there is only one.
	LBVersion string `gcfg:"lb-version" oneof:"v2"`
	// Version of Octavia's API, such as `2.26` (`openstack versions show --service load-balancer`), for a cloud that does not tell it. Empty means that Octavia is asked; one that never tells counts as 2.0, and what came later is refused.
	OctaviaAPIVersion string `gcfg:"octavia-api-version" form:"api-version"`
	// Octavia provider. Others than amphora, amphorav2, octavia, ovn and f5 are used as they are, with a warning. Empty (`lb-provider=`) means the one that Octavia takes by itself.
	LBProvider string `gcfg:"lb-provider" default:"amphora" form:"provider" empty:"the provider that Octavia takes by itself"`
	// Algorithm of every pool. Provider ovn knows only SOURCE_IP_PORT, which is its default.
	LBMethod string `gcfg:"lb-method" default:"ROUND_ROBIN" oneof:"ROUND_ROBIN,LEAST_CONNECTIONS,SOURCE_IP,SOURCE_IP_PORT"`
	// Subnet of the members unless `member-subnet-id` is given, and of the VIP where neither the Service nor its class names another. Empty means the subnet of most nodes.
	SubnetID string `gcfg:"subnet-id"`
	// Subnet in which members are reached.
	MemberSubnetID string `gcfg:"member-subnet-id"`
	// Network of the VIP.
	NetworkID string `gcfg:"network-id"`
	// Network of floating IPs. Empty means the first external network.
	FloatingNetworkID string `gcfg:"floating-network-id"`
	// Subnet of floating IPs; wins over the pattern and the tags.
	FloatingSubnetID string `gcfg:"floating-subnet-id"`
	// Names of the subnets to take floating IPs from.
	FloatingSubnet string `gcfg:"floating-subnet" form:"subnet-pattern"`
	// Tags of the subnets to take floating IPs from.
	FloatingSubnetTags string `gcfg:"floating-subnet-tags" form:"subnet-tags"`
	// Give every pool a health monitor.
	CreateMonitor bool `gcfg:"create-monitor" default:"false"`
	// Time between two probes of a member.
	MonitorDelay Duration `gcfg:"monitor-delay" default:"5s" form:"octavia-seconds"`
	// Time after which a probe has failed.
	MonitorTimeout Duration `gcfg:"monitor-timeout" default:"3s" form:"octavia-seconds"`
	// Successful probes until a member is ONLINE.
	MonitorMaxRetries uint `gcfg:"monitor-max-retries" default:"1" min:"1" max:"10"`
	// Failed probes until a member is in ERROR.
	MonitorMaxRetriesDown uint `gcfg:"monitor-max-retries-down" default:"3" min:"1" max:"10"`
	// Health monitors of Services with externalTrafficPolicy Cluster ask kube-proxy's `/healthz` on port 10256 of the nodes instead of the NodePort: nodes that are about to go get no new connections (KEP-3836). Not for provider ovn, whose monitors ask no other ports.
	MonitorKubeProxy bool `gcfg:"monitor-kube-proxy" default:"false"`
	// Ports of the nodes that health monitors of Services may ask, beside the Service's own NodePorts, its healthCheckNodePort and kube-proxy's healthz (10256). With `manage-security-groups` they are opened to the load balancers; see `docs/security.md`.
	MonitorPorts string `gcfg:"monitor-ports" form:"ports"`
	// Let load balancers reach the nodes by security groups; see `docs/security-groups.md`.
	ManageSecurityGroups bool `gcfg:"manage-security-groups" default:"false"`
	// With `manage-security-groups`: a group for each Service on the ports of its nodes, or one group for the cluster on the ports of all nodes, with the rules of all Services.
	SecurityGroupMode string `gcfg:"security-group-mode" default:"per-service" oneof:"per-service,shared"`
	// Make every Service internal, whatever its annotations say.
	InternalLB bool `gcfg:"internal-lb" default:"false"`
	// Labels that a node must have to become a member.
	NodeSelector string `gcfg:"node-selector" form:"selector"`
	// Delete a load balancer and all below it in one call.
	CascadeDelete bool `gcfg:"cascade-delete" default:"true"`
	// Octavia flavor of new load balancers, by ID or name.
	FlavorID string `gcfg:"flavor-id"`
	// Octavia availability zone of new load balancers.
	AvailabilityZone string `gcfg:"availability-zone"`
	// QoS policy of the VIP's ports, by ID; `none` takes away what is there, without it that stays. A Service whose provider has none (ovn, f5) is refused.
	VIPQoSPolicyID string `gcfg:"vip-qos-policy-id" form:"id"`
	// Security groups of the VIP's ports, in place of the one that Octavia makes, by ID; `none` takes away what is there, without it that stays. A Service with source ranges, or of another provider than amphora, is refused unless its annotation says none; needs Octavia 16.0 (2025.1).
	VIPSecurityGroupIDs string `gcfg:"vip-sg-ids" form:"ids"`
	// Publish a host name instead of the address where PROXY protocol is in use.
	EnableIngressHostname bool `gcfg:"enable-ingress-hostname" default:"false"`
	// The host name is the address, a dot and this suffix.
	IngressHostnameSuffix string `gcfg:"ingress-hostname-suffix" default:"nip.io" form:"domain"`
	// How many Services may share one load balancer.
	MaxSharedLB int `gcfg:"max-shared-lb" default:"2" min:"1"`
	// Whose load balancers a Service may share by naming one in its annotation `load-balancer-id`: those made for its own namespace, and for namespaces that allow it with the annotation `loadbalancer.openstack.org/allow-sharing-from` (`namespace`); all of the cluster (`cluster`); or also those of other clusters (`project`). A floating IP that a Service of another namespace has left with `keep-floatingip` can be had under the same conditions. A Service that is on a load balancer already stays there.
	SharedLBScope string `gcfg:"shared-lb-scope" default:"namespace" oneof:"namespace,cluster,project"`
	// Services may share a load balancer that no cluster has made, such as that of an API server, if their annotation `load-balancer-id` names it. As it is with cloud-provider-openstack; whoever may write Services needs only its ID.
	SharedLBUnmanaged bool `gcfg:"shared-lb-unmanaged" default:"true"`
	// Barbican container that makes the listeners of every Service end TLS.
	DefaultTLSContainerRef string `gcfg:"default-tls-container-ref"`
	// Where TLS containers are; external ones are not looked up.
	ContainerStore string `gcfg:"container-store" default:"barbican" oneof:"barbican,external"`
	// Make one change at a time, for providers that can do neither a fully populated create nor a batch of members.
	ProviderRequiresSerialAPICalls bool `gcfg:"provider-requires-serial-api-calls" default:"false"`
	// What is done about changes that somebody else makes to load balancers and floating IPs of Services: repair brings them back, report only tells, off does not look.
	DriftPolicy string `gcfg:"drift-policy" default:"repair" oneof:"repair,report,off"`
	// Time between two looks for such changes; each is one request for a thousand load balancers and one for the floating IPs, and with `manage-security-groups` two more.
	DriftInterval Duration `gcfg:"drift-interval" default:"5m"`
	// Most nodes that become members of a Service with externalTrafficPolicy Cluster; 0 means all of them. Every Service gets nodes of its own choice, which hardly changes when nodes come and go.
	MaxMembers uint `gcfg:"max-members" default:"0"`
	// Connections that a port takes at a time; -1 means no limit. Not given: what the cloud's operator chose.
	ConnectionLimit *int `gcfg:"connection-limit" min:"-1"`
	// Time in milliseconds after which a client that says nothing is cut off. Not given: what the cloud's operator chose.
	TimeoutClientData *int `gcfg:"timeout-client-data" max:"31536000000"`
	// Time in milliseconds to connect to a member. Not given: what the cloud's operator chose.
	TimeoutMemberConnect *int `gcfg:"timeout-member-connect" max:"31536000000"`
	// Time in milliseconds after which a member that says nothing is cut off. Not given: what the cloud's operator chose.
	TimeoutMemberData *int `gcfg:"timeout-member-data" max:"31536000000"`
	// Time in milliseconds to wait for more of a connection's first bytes. Not given: what the cloud's operator chose.
	TimeoutTCPInspect *int `gcfg:"timeout-tcp-inspect" max:"31536000000"`
	// Ports whose appProtocol is http or https get HTTP listeners, or HTTPS ones that hand TLS through. Those of the form `loadbalancer.openstack.org/…` always count. Off, as cloud-provider-openstack takes no notice of appProtocol: its load balancers would be rebuilt.
	AppProtocol bool `gcfg:"app-protocol" default:"false"`
	// Tags for load balancers, listeners, pools and monitors, beside the controller's own. A change counts for those made from then on: nothing is written for it.
	Tags string `gcfg:"tags" form:"tags"`
	// Annotations that Services may not use, by their names with or without what is before the `/`; a Service that has one is refused. Classes may set the same. The default has those that name what may be another's, or take off what the operator has put on, and which cloud-provider-openstack does not know; empty allows all. See `docs/security.md`.
	DenyAnnotations string `gcfg:"deny-annotations" default:"floating-ip-id,floating-ip-tag,vip-qos-policy-id,vip-sg-ids" form:"annotations" empty:"all are allowed"`
	// Most ports of a Service; 0 means any number. A load balancer that has more keeps them.
	MaxPorts uint `gcfg:"max-ports" default:"100"`
	// Most source ranges of a Service; 0 means any number. A load balancer that has more keeps them. With provider ovn each is a rule of the nodes' security groups for each port, of which a project has 100 by default: choose less there.
	MaxSourceRanges uint `gcfg:"max-source-ranges" default:"1000"`
	// Most Services of a namespace that get load balancers; 0 means any number. Those that have one keep it. A ResourceQuota of `services.loadbalancers` refuses more of them at once, and knows all: this counts those that the controller has seen since it started.
	MaxServicesPerNamespace uint `gcfg:"max-services-per-namespace" default:"0"`
}

// The values of SharedLBScope that allow more than the default.
const (
	SharedLBScopeCluster = "cluster"
	SharedLBScopeProject = "project"
)

// SecurityGroups gives how security groups are managed, "" when they are not.
func (l LoadBalancer) SecurityGroups() string {
	if !l.ManageSecurityGroups {
		return ""
	}
	return l.SecurityGroupMode
}

// LoadBalancerClass is a named set of settings for load balancers. An empty
// field means the value of [LoadBalancer]. Each key is one of [LoadBalancer] too.
type LoadBalancerClass struct {
	// Network of floating IPs.
	FloatingNetworkID string `gcfg:"floating-network-id"`
	// Subnet of floating IPs; wins over the pattern and the tags.
	FloatingSubnetID string `gcfg:"floating-subnet-id"`
	// Names of the subnets to take floating IPs from.
	FloatingSubnet string `gcfg:"floating-subnet" form:"subnet-pattern"`
	// Tags of the subnets to take floating IPs from.
	FloatingSubnetTags string `gcfg:"floating-subnet-tags" form:"subnet-tags"`
	// Network of the VIP.
	NetworkID string `gcfg:"network-id"`
	// Subnet of the VIP. Also of the members, unless `member-subnet-id` or [LoadBalancer] names one.
	SubnetID string `gcfg:"subnet-id"`
	// Subnet in which members are reached.
	MemberSubnetID string `gcfg:"member-subnet-id"`
	// Most nodes that become members; 0 means what [LoadBalancer] says.
	MaxMembers uint `gcfg:"max-members"`
	// Octavia provider of new load balancers.
	LBProvider string `gcfg:"lb-provider" form:"provider"`
	// Algorithm of every pool.
	LBMethod string `gcfg:"lb-method" oneof:"ROUND_ROBIN,LEAST_CONNECTIONS,SOURCE_IP,SOURCE_IP_PORT"`
	// Octavia flavor of new load balancers, by ID or name.
	FlavorID string `gcfg:"flavor-id"`
	// Octavia availability zone of new load balancers.
	AvailabilityZone string `gcfg:"availability-zone"`
	// QoS policy of the VIP's ports, by ID, or `none`.
	VIPQoSPolicyID string `gcfg:"vip-qos-policy-id" form:"id"`
	// Security groups of the VIP's ports, by ID, or `none`.
	VIPSecurityGroupIDs string `gcfg:"vip-sg-ids" form:"ids"`
	// Make the Services of the class internal, whatever their annotations say; false lets them choose even where [LoadBalancer] does not.
	InternalLB *bool `gcfg:"internal-lb"`
	// Give every pool a health monitor.
	CreateMonitor *bool `gcfg:"create-monitor"`
	// Time between two probes of a member.
	MonitorDelay Duration `gcfg:"monitor-delay" form:"octavia-seconds"`
	// Time after which a probe has failed.
	MonitorTimeout Duration `gcfg:"monitor-timeout" form:"octavia-seconds"`
	// Successful probes until a member is ONLINE.
	MonitorMaxRetries uint `gcfg:"monitor-max-retries" min:"1" max:"10"`
	// Failed probes until a member is in ERROR.
	MonitorMaxRetriesDown uint `gcfg:"monitor-max-retries-down" min:"1" max:"10"`
	// Health monitors ask kube-proxy's `/healthz`.
	MonitorKubeProxy *bool `gcfg:"monitor-kube-proxy"`
	// Connections that a port takes at a time; -1 means no limit.
	ConnectionLimit *int `gcfg:"connection-limit" min:"-1"`
	// Time in milliseconds after which a client that says nothing is cut off.
	TimeoutClientData *int `gcfg:"timeout-client-data" max:"31536000000"`
	// Time in milliseconds to connect to a member.
	TimeoutMemberConnect *int `gcfg:"timeout-member-connect" max:"31536000000"`
	// Time in milliseconds after which a member that says nothing is cut off.
	TimeoutMemberData *int `gcfg:"timeout-member-data" max:"31536000000"`
	// Time in milliseconds to wait for more of a connection's first bytes.
	TimeoutTCPInspect *int `gcfg:"timeout-tcp-inspect" max:"31536000000"`
	// Let the appProtocol of ports choose the protocol of listeners.
	AppProtocol *bool `gcfg:"app-protocol"`
	// Tags for load balancers and their parts, in place of those of [LoadBalancer].
	Tags string `gcfg:"tags" form:"tags"`
}

// Networking says which addresses of a server become addresses of its node.
type Networking struct {
	// Leave out IPv6 addresses.
	IPv6SupportDisabled bool `gcfg:"ipv6-support-disabled" default:"false"`
	// Network whose addresses are external addresses of the node. May be given several times.
	PublicNetworkName []string `gcfg:"public-network-name"`
	// Network whose addresses are internal addresses of the node. May be given several times.
	InternalNetworkName []string `gcfg:"internal-network-name"`
	// Order of a node's addresses: those in the first block come first.
	AddressSortOrder string `gcfg:"address-sort-order" form:"cidrs"`
}

// Route says where routes to the nodes' pods go.
type Route struct {
	// Router that gets a route to each pod CIDR of a node (routes.md). Empty means no routes.
	RouterID string `gcfg:"router-id"`
}

// Metadata is kept for the sake of files that have it.
type Metadata struct {
	// Accepted, without effect.
	SearchOrder string `gcfg:"search-order" default:"configDrive,metadataService" form:"search-order"`
	// Time limit of every OpenStack call; 0 means ten minutes, with a warning.
	RequestTimeout Duration `gcfg:"request-timeout" default:"60s"`
}

// Limits are the greatest numbers of requests in flight at a time.
type Limits struct {
	// Creates of load balancers; 0 means 8. Octavia makes those of a project one after the other, so that more only wait for each other until it gives up.
	Creates int `gcfg:"creates" default:"0" max:"1000"`
	// Deletes of load balancers; 0 means 16.
	Deletes int `gcfg:"deletes" default:"0" max:"1000"`
	// All other writes to Octavia: listeners, pools, members, health monitors; 0 means 32.
	Updates int `gcfg:"updates" default:"0" max:"1000"`
	// Reads, counted for Octavia, Neutron and Nova each; 0 means 16.
	Reads int `gcfg:"reads" default:"0" max:"1000"`
	// Writes to Neutron: floating IPs, ports, security groups, routes; 0 means 16.
	NetworkWrites int `gcfg:"network-writes" default:"0" max:"1000"`
}
