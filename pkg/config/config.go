// Package config turns cloud.conf, clouds.yaml and the OS_* environment into one validated Config.
// It uses neither OpenStack nor Kubernetes and makes no network calls. A Config that it returns is
// complete and consistent; otherwise the error lists every problem.
//
// The fields of the structs in this file are the only table of settings. Their tags define how a
// setting is read and validated:
//
//	gcfg     key in cloud.conf
//	default  value of a key that is not given
//	oneof    the only values allowed, separated by commas
//	form     name of the rule for the value (see formNamed)
//	min, max bounds of a number
//	env      OS_* variables, the first one that is set applies
//	clouds   place of the value in an entry of clouds.yaml
//	secret   "yes": the value is never printed; "url": what may be secret in a URL is not
//	empty    what an empty value means where it is not "not given"
//	cpo      "no": cloud-provider-openstack (v1.36) has no such key
//	change   "restart": another value has an effect after a restart only
//
// Their comments are the text of docs/configuration.md, which a test writes.
package config

// Config holds all settings of the operator. Sections are named as in cloud.conf. Every way to
// print it omits secrets.
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
	// When Nodes are deleted, and where their servers are; see `docs/nodes.md`. cloud-provider-openstack has no such section.
	Node Node
	// Pod routes in a Neutron router.
	Route Route
	// Kept for compatibility; only request-timeout has an effect.
	Metadata Metadata
	// How many requests may be in flight at a time, by what they do. The number in use starts lower (at 4 for `creates`, at 8 for the others), grows up to these while OpenStack answers well, and is halved when it answers 429, 500, 502, 503 or 504 or not at all, or takes more than three times as long as usual. `Retry-After` in an answer holds back all requests of its kind until then, for at most 5 minutes. Requests beyond the limit wait: deletes and creates go ahead of changes, changes ahead of new members. cloud-provider-openstack has no such section and no such limits.
	Limits Limits

	// Refused lists the errors in cloud.conf that prevent serving load balancers.
	Refused Refused `section:"none"`
}

// Refused holds wrong values of the sections that only load balancers need. Nodes and routes are
// served nevertheless. The settings with wrong values have their defaults.
type Refused struct {
	// LoadBalancers are the errors in [LoadBalancer], which concern all Services.
	LoadBalancers []error
	// Classes are the errors in sections [LoadBalancerClass], by the class's name.
	Classes map[string][]error
}

// Global holds the address of Keystone and the credentials.
type Global struct {
	// URL of Keystone, for example `https://keystone.example.com/v3`. Required.
	AuthURL string `gcfg:"auth-url" form:"url" env:"OS_AUTH_URL" clouds:"auth.auth_url"`
	// Name of the user; needs a user domain.
	Username string `gcfg:"username" env:"OS_USERNAME" clouds:"auth.username"`
	// ID of the user; takes precedence over the name.
	UserID string `gcfg:"user-id" env:"OS_USER_ID" clouds:"auth.user_id"`
	// Password of the user.
	Password string `gcfg:"password" env:"OS_PASSWORD" clouds:"auth.password" secret:"yes"`
	// ID of the project; takes precedence over the name.
	TenantID string `gcfg:"tenant-id" env:"OS_PROJECT_ID,OS_TENANT_ID" clouds:"auth.project_id"`
	// Name of the project; needs a project domain.
	TenantName string `gcfg:"tenant-name" env:"OS_PROJECT_NAME,OS_TENANT_NAME" clouds:"auth.project_name"`
	// ID of the domain of user and project if they have no own domain. OS_DEFAULT_DOMAIN and `auth.default_domain` are alternatives.
	DomainID string `gcfg:"domain-id" env:"OS_DOMAIN_ID" clouds:"auth.domain_id"`
	// Name of the domain of user and project if they have no own domain.
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
	// An existing token. It cannot be renewed: once it expires every call fails.
	Token string `gcfg:"token" env:"OS_TOKEN,OS_AUTH_TOKEN" clouds:"auth.token" secret:"yes"`
	// Region to look up in the catalog; also the region of nodes. When empty, the region of the first compute endpoint at sign-in is kept until the process ends.
	Region string `gcfg:"region" env:"OS_REGION_NAME" clouds:"region_name" change:"restart"`
	// Interface of the catalog to use; empty means public.
	EndpointType string `gcfg:"os-endpoint-type" oneof:"public,internal,admin,publicURL,internalURL,adminURL" env:"OS_INTERFACE,OS_ENDPOINT_TYPE" clouds:"endpoint_type" change:"restart"`
	// File with the CA certificates (PEM) that sign the servers' certificates.
	CAFile string `gcfg:"ca-file" env:"OS_CACERT" clouds:"cacert"`
	// File with a TLS client certificate (PEM); needs `key-file`.
	CertFile string `gcfg:"cert-file" env:"OS_CERT" clouds:"cert"`
	// File with the key (PEM) of the client certificate; needs `cert-file`.
	KeyFile string `gcfg:"key-file" env:"OS_KEY" clouds:"key"`
	// Do not verify the servers' certificates. In clouds.yaml this is `verify: false`.
	TLSInsecure bool `gcfg:"tls-insecure" default:"false" form:"literal-bool" env:"OS_INSECURE"`
	// Take settings that are not given here from clouds.yaml.
	UseClouds bool `gcfg:"use-clouds" default:"false"`
	// Path of clouds.yaml. Empty means OS_CLIENT_CONFIG_FILE, else the first of `./clouds.yaml`, `~/.config/openstack/clouds.yaml`, `/etc/openstack/clouds.yaml`.
	CloudsFile string `gcfg:"clouds-file" env:"OS_CLIENT_CONFIG_FILE"`
	// Entry of clouds.yaml. Empty means OS_CLOUD, else the only entry there is.
	Cloud string `gcfg:"cloud" env:"OS_CLOUD"`
}

// LoadBalancer holds the defaults for every Service of type LoadBalancer.
type LoadBalancer struct {
	// Serve Services of type LoadBalancer at all.
	Enabled bool `gcfg:"enabled" default:"true" change:"restart"`
	// Version of the load-balancer API; there is only one.
	LBVersion string `gcfg:"lb-version" oneof:"v2"`
	// Version of Octavia's API, such as `2.26` (`openstack versions show --service load-balancer`), for a cloud that does not report it. Empty means that Octavia is queried; if it reports none, 2.0 is assumed, and later features are refused.
	OctaviaAPIVersion string `gcfg:"octavia-api-version" form:"api-version" change:"restart" cpo:"no"`
	// Octavia provider. Providers other than amphora, amphorav2, octavia, ovn and f5 are used as given, with a warning. The providers `router` and `port-forwarding` do not use Octavia: see `docs/router.md`. Empty (`lb-provider=`) means Octavia's default.
	LBProvider string `gcfg:"lb-provider" default:"amphora" form:"provider" empty:"the provider that Octavia takes by itself"`
	// Network for the VIPs of Services with provider `router`, by ID: a network of its own whose subnets are attached to the router that is the nodes' default gateway. Empty means that no Service may use that provider. See `docs/router.md`.
	RouterVIPNetworkID string `gcfg:"router-vip-network-id" change:"restart" cpo:"no"`
	// Number of routes of a router, of all its clients, beyond which no Service with provider `router` is created; 0 means no limit. Neutron has a maximum of its own, `max_routes`, and does not show it to projects.
	RouterMaxRoutes uint `gcfg:"router-max-routes" default:"30" cpo:"no"`
	// Number of nodes to which a VIP of provider `router` leads. With several, each change of them ends connections: see `docs/router.md`.
	RouterNextHops uint `gcfg:"router-next-hops" default:"1" min:"1" max:"16" cpo:"no"`
	// Algorithm of every pool. Provider ovn only supports SOURCE_IP_PORT, which is its default.
	LBMethod string `gcfg:"lb-method" default:"ROUND_ROBIN" oneof:"ROUND_ROBIN,LEAST_CONNECTIONS,SOURCE_IP,SOURCE_IP_PORT"`
	// Subnet of the members unless `member-subnet-id` is set, and of the VIP unless the Service or its class names another. Empty means the subnet of most nodes.
	SubnetID string `gcfg:"subnet-id"`
	// Subnet of the members.
	MemberSubnetID string `gcfg:"member-subnet-id"`
	// Of a node with several addresses, the one in `member-subnet-id` becomes the member, if there is one; otherwise the first internal one does. See `docs/services.md`.
	MemberAddressBySubnet bool `gcfg:"member-address-by-subnet" default:"false" cpo:"no"`
	// Network of the VIP. Of several subnets Octavia chooses one with free addresses.
	NetworkID string `gcfg:"network-id"`
	// Network of floating IPs. Empty means an external network that the router of the VIP leads to: the default, else the first.
	FloatingNetworkID string `gcfg:"floating-network-id"`
	// Subnet of floating IPs; takes precedence over the pattern and the tags.
	FloatingSubnetID string `gcfg:"floating-subnet-id"`
	// Names of the subnets for floating IPs.
	FloatingSubnet string `gcfg:"floating-subnet" form:"subnet-pattern"`
	// Tags of the subnets for floating IPs.
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
	// Health monitors of Services with externalTrafficPolicy Cluster probe kube-proxy's `/healthz` on port 10256 of the nodes instead of the NodePort: nodes that are about to be removed get no new connections (KEP-3836). Not with provider ovn: its monitors cannot probe other ports.
	MonitorKubeProxy bool `gcfg:"monitor-kube-proxy" default:"false" cpo:"no"`
	// Ports of the nodes that health monitors of Services may probe, in addition to the Service's own NodePorts, its healthCheckNodePort and kube-proxy's healthz (10256). With `manage-security-groups` they are opened to the load balancers; see `docs/security.md`.
	MonitorPorts string `gcfg:"monitor-ports" form:"ports" cpo:"no"`
	// Manage security groups that let load balancers reach the nodes; see `docs/security-groups.md`.
	ManageSecurityGroups bool `gcfg:"manage-security-groups" default:"false" change:"restart"`
	// With `manage-security-groups`: a group for each Service on the ports of its nodes, or one group for the cluster on the ports of all nodes, with the rules of all Services.
	SecurityGroupMode string `gcfg:"security-group-mode" default:"per-service" oneof:"per-service,shared" change:"restart" cpo:"no"`
	// Make every Service internal, whatever its annotations are.
	InternalLB bool `gcfg:"internal-lb" default:"false"`
	// Make Services internal, unless their annotation `openstack-internal-load-balancer` is "false".
	InternalByDefault bool `gcfg:"internal-by-default" default:"false" cpo:"no"`
	// What becomes a member: all nodes (`nodes`), those with endpoints of the Service (`endpoint-nodes`), or its pods with their own addresses (`pods`). `auto` means `endpoint-nodes` for externalTrafficPolicy Local if the provider cannot check whether a node has endpoints, and always with `router` and `port-forwarding`; else `nodes`. Not set: `auto`, and load balancers of another controller keep `nodes`. See `docs/members.md`.
	Members string `gcfg:"members" oneof:"auto,nodes,endpoint-nodes,pods" cpo:"no"`
	// Port of the members on nodes: the NodePort (`node-port`), or the Service's own port (`service`), for nodes that answer there at their own addresses, such as with `hostNetwork` proxies or externalIPs. With `service`, tenants choose ports of nodes, and security groups open them. Without effect on `members=pods`.
	MemberPort string `gcfg:"member-port" default:"node-port" oneof:"node-port,service" cpo:"no"`
	// Weights of the members that follow endpoints: the same for all (`equal`), or 0 for a member with endpoints that terminate but still serve (`drain`), so that it gets no new connections and leaves when none serves. `endpoints` does that as well, and distributes new connections over nodes in proportion to their ready endpoints. Weights that another client sets are then restored. Services with a provider without weights (ovn, router, port-forwarding) are refused.
	MemberWeights string `gcfg:"member-weights" default:"equal" oneof:"equal,drain,endpoints" cpo:"no"`
	// Networks of pods that load balancers reach without a route of Neutron, such as by BGP: with `members=pods`, pods in them become members without a check. Not with provider ovn.
	PodNetworks string `gcfg:"pod-networks" form:"cidrs" cpo:"no"`
	// Labels that a node must have to become a member.
	NodeSelector string `gcfg:"node-selector" form:"selector"`
	// Delete a load balancer and its parts in one call.
	CascadeDelete bool `gcfg:"cascade-delete" default:"true"`
	// Octavia flavor of new load balancers, by ID or name.
	FlavorID string `gcfg:"flavor-id"`
	// Octavia availability zone of new load balancers.
	AvailabilityZone string `gcfg:"availability-zone"`
	// QoS policy of the VIP's ports, by ID; `none` removes it; without the key it is left unchanged. Services with a provider that does not support it (ovn, f5) are refused.
	VIPQoSPolicyID string `gcfg:"vip-qos-policy-id" form:"id" cpo:"no"`
	// Security groups of the VIP's ports, by ID, instead of the one that Octavia creates; `none` removes it; without the key it is left unchanged. A Service with source ranges, or with a provider other than amphora, is refused unless its annotation is none; needs Octavia 16.0 (2025.1).
	VIPSecurityGroupIDs string `gcfg:"vip-sg-ids" form:"ids" cpo:"no"`
	// Publish a host name instead of the address if PROXY protocol is used.
	EnableIngressHostname bool `gcfg:"enable-ingress-hostname" default:"false"`
	// The host name is the address, a dot and this suffix.
	IngressHostnameSuffix string `gcfg:"ingress-hostname-suffix" default:"nip.io" form:"domain"`
	// Maximum number of Services on one load balancer. Not set: 2, and no limit for Services that share it by name.
	MaxSharedLB *int `gcfg:"max-shared-lb" min:"1"`
	// Which load balancers a Service may share by naming one in its annotation `load-balancer-id`: those of its own namespace, and of namespaces that allow it with the annotation `loadbalancer.openstack.org/allow-sharing-from` (`namespace`); all of the cluster (`cluster`); or also those of other clusters (`project`). A floating IP that a Service of another namespace has left with `keep-floatingip` can be had under the same conditions. A Service that is on a load balancer already stays there.
	SharedLBScope string `gcfg:"shared-lb-scope" default:"namespace" oneof:"namespace,cluster,project" cpo:"no"`
	// Services may share a load balancer that no cluster created, such as that of an API server, if their annotation `load-balancer-id` names it. This is the behavior of cloud-provider-openstack; anyone who may write Services only needs its ID.
	SharedLBUnmanaged bool `gcfg:"shared-lb-unmanaged" default:"true" cpo:"no"`
	// Barbican container with which the listeners of every Service terminate TLS.
	DefaultTLSContainerRef string `gcfg:"default-tls-container-ref" secret:"url"`
	// Where TLS containers are; external ones are not looked up.
	ContainerStore string `gcfg:"container-store" default:"barbican" oneof:"barbican,external"`
	// Make one change at a time, for providers that support neither fully populated creation nor batches of members.
	ProviderRequiresSerialAPICalls bool `gcfg:"provider-requires-serial-api-calls" default:"false" change:"restart"`
	// How changes of other clients to load balancers and floating IPs of Services are handled: repair reverts them, report only reports them, off does not check.
	DriftPolicy string `gcfg:"drift-policy" default:"repair" oneof:"repair,report,off" change:"restart" cpo:"no"`
	// Interval between checks for such changes; each takes one request for a thousand load balancers and one for the floating IPs, and with `manage-security-groups` two more.
	DriftInterval Duration `gcfg:"drift-interval" default:"5m" change:"restart" cpo:"no"`
	// How orphaned objects are handled, which were created for this cluster and belong to none of its Services: report only reports them, delete also removes those that are proven to be orphaned, off disables the search; see `docs/cleanup.md`.
	GarbagePolicy string `gcfg:"garbage-policy" default:"report" oneof:"report,delete,off" change:"restart" cpo:"no"`
	// Interval between searches for orphaned objects. Objects that two consecutive searches find are reported, or removed. Each search takes one request for a thousand listeners and one for the security groups.
	GarbageInterval Duration `gcfg:"garbage-interval" default:"1h" change:"restart" cpo:"no"`
	// Maximum number of nodes that become members of a Service with externalTrafficPolicy Cluster; 0 means all. Each Service gets its own selection, which hardly changes when nodes are added or removed.
	MaxMembers uint `gcfg:"max-members" default:"0" cpo:"no"`
	// Maximum number of concurrent connections per port; -1 means no limit. Not set: the default of the cloud's operator.
	ConnectionLimit *int `gcfg:"connection-limit" min:"-1" cpo:"no"`
	// Time in milliseconds after which an idle client is disconnected. Not set: the default of the cloud's operator.
	TimeoutClientData *int `gcfg:"timeout-client-data" max:"31536000000" cpo:"no"`
	// Time in milliseconds to connect to a member. Not set: the default of the cloud's operator.
	TimeoutMemberConnect *int `gcfg:"timeout-member-connect" max:"31536000000" cpo:"no"`
	// Time in milliseconds after which an idle member is disconnected. Not set: the default of the cloud's operator.
	TimeoutMemberData *int `gcfg:"timeout-member-data" max:"31536000000" cpo:"no"`
	// Time in milliseconds to wait for more of a connection's first bytes. Not set: the default of the cloud's operator.
	TimeoutTCPInspect *int `gcfg:"timeout-tcp-inspect" max:"31536000000" cpo:"no"`
	// Ports with appProtocol http or https get HTTP listeners, or HTTPS ones that pass TLS through. Values of the form `loadbalancer.openstack.org/…` always apply. Off by default, because cloud-provider-openstack ignores appProtocol: its load balancers would be rebuilt.
	AppProtocol bool `gcfg:"app-protocol" default:"false" cpo:"no"`
	// Tags for load balancers, listeners, pools and monitors, in addition to the controller's own. A change applies to new ones only; existing ones are not updated.
	Tags string `gcfg:"tags" form:"tags" cpo:"no"`
	// Annotations that Services may not use, by name with or without the prefix; a Service that has one is refused. Classes may set the same. The default lists those that can refer to objects of others, or remove what the operator has set, and that cloud-provider-openstack does not have; empty allows all. See `docs/security.md`.
	DenyAnnotations string `gcfg:"deny-annotations" default:"floating-ip-id,floating-ip-tag,vip-qos-policy-id,vip-sg-ids" form:"annotations" empty:"all are allowed" cpo:"no"`
	// Maximum number of ports of a Service; 0 means no limit. A load balancer that has more keeps them.
	MaxPorts uint `gcfg:"max-ports" default:"100" cpo:"no"`
	// Maximum number of source ranges of a Service; 0 means no limit. A load balancer that has more keeps them. With provider ovn each one is a rule of the nodes' security groups per port, of which a project has 100 by default: use a lower limit there.
	MaxSourceRanges uint `gcfg:"max-source-ranges" default:"1000" cpo:"no"`
	// Maximum number of Services per namespace that get load balancers; 0 means no limit. Those that have one keep it. A ResourceQuota of `services.loadbalancers` rejects more immediately, and counts all: this counts those that the controller has seen since it started.
	MaxServicesPerNamespace uint `gcfg:"max-services-per-namespace" default:"0" cpo:"no"`
}

// Values of SharedLBScope that allow more than the default.
const (
	SharedLBScopeCluster = "cluster"
	SharedLBScopeProject = "project"
)

// MemberPortService is the value of MemberPort for the Service's own ports.
const MemberPortService = "service"

// SecurityGroupsShared is the value of SecurityGroupMode for one group of the cluster.
const SecurityGroupsShared = "shared"

// SecurityGroups returns the mode of managed security groups, "" if they are not managed.
func (l LoadBalancer) SecurityGroups() string {
	if !l.ManageSecurityGroups {
		return ""
	}
	return l.SecurityGroupMode
}

// LoadBalancerClass is a named set of settings for load balancers. Empty fields take the value of
// [LoadBalancer], which has the same keys.
type LoadBalancerClass struct {
	// Network of floating IPs.
	FloatingNetworkID string `gcfg:"floating-network-id"`
	// Subnet of floating IPs; takes precedence over the pattern and the tags.
	FloatingSubnetID string `gcfg:"floating-subnet-id"`
	// Names of the subnets for floating IPs.
	FloatingSubnet string `gcfg:"floating-subnet" form:"subnet-pattern"`
	// Tags of the subnets for floating IPs.
	FloatingSubnetTags string `gcfg:"floating-subnet-tags" form:"subnet-tags"`
	// Network of the VIP. Of several subnets Octavia chooses one with free addresses.
	NetworkID string `gcfg:"network-id"`
	// Subnet of the VIP. Also of the members, unless `member-subnet-id` or [LoadBalancer] names one.
	SubnetID string `gcfg:"subnet-id"`
	// Subnet of the members.
	MemberSubnetID string `gcfg:"member-subnet-id"`
	// Take the addresses of nodes in that subnet.
	MemberAddressBySubnet *bool `gcfg:"member-address-by-subnet" cpo:"no"`
	// What becomes a member.
	Members string `gcfg:"members" oneof:"auto,nodes,endpoint-nodes,pods" cpo:"no"`
	// Port of the members on nodes.
	MemberPort string `gcfg:"member-port" oneof:"node-port,service" cpo:"no"`
	// Weights of the members.
	MemberWeights string `gcfg:"member-weights" oneof:"equal,drain,endpoints" cpo:"no"`
	// Maximum number of nodes that become members; 0 means that of [LoadBalancer].
	MaxMembers uint `gcfg:"max-members" cpo:"no"`
	// Number of nodes to which a VIP leads.
	RouterNextHops uint `gcfg:"router-next-hops" min:"1" max:"16" cpo:"no"`
	// Octavia provider of new load balancers.
	LBProvider string `gcfg:"lb-provider" form:"provider" cpo:"no"`
	// Algorithm of every pool.
	LBMethod string `gcfg:"lb-method" oneof:"ROUND_ROBIN,LEAST_CONNECTIONS,SOURCE_IP,SOURCE_IP_PORT" cpo:"no"`
	// Octavia flavor of new load balancers, by ID or name.
	FlavorID string `gcfg:"flavor-id" cpo:"no"`
	// Octavia availability zone of new load balancers.
	AvailabilityZone string `gcfg:"availability-zone" cpo:"no"`
	// QoS policy of the VIP's ports, by ID, or `none`.
	VIPQoSPolicyID string `gcfg:"vip-qos-policy-id" form:"id" cpo:"no"`
	// Security groups of the VIP's ports, by ID, or `none`.
	VIPSecurityGroupIDs string `gcfg:"vip-sg-ids" form:"ids" cpo:"no"`
	// Make the Services of the class internal, whatever their annotations are; false lets them choose even if [LoadBalancer] does not.
	InternalLB *bool `gcfg:"internal-lb" cpo:"no"`
	// Make the Services of the class internal, unless their annotation is "false".
	InternalByDefault *bool `gcfg:"internal-by-default" cpo:"no"`
	// Give every pool a health monitor.
	CreateMonitor *bool `gcfg:"create-monitor" cpo:"no"`
	// Time between two probes of a member.
	MonitorDelay Duration `gcfg:"monitor-delay" form:"octavia-seconds" cpo:"no"`
	// Time after which a probe has failed.
	MonitorTimeout Duration `gcfg:"monitor-timeout" form:"octavia-seconds" cpo:"no"`
	// Successful probes until a member is ONLINE.
	MonitorMaxRetries uint `gcfg:"monitor-max-retries" min:"1" max:"10" cpo:"no"`
	// Failed probes until a member is in ERROR.
	MonitorMaxRetriesDown uint `gcfg:"monitor-max-retries-down" min:"1" max:"10" cpo:"no"`
	// Health monitors probe kube-proxy's `/healthz`.
	MonitorKubeProxy *bool `gcfg:"monitor-kube-proxy" cpo:"no"`
	// Maximum number of concurrent connections per port; -1 means no limit.
	ConnectionLimit *int `gcfg:"connection-limit" min:"-1" cpo:"no"`
	// Time in milliseconds after which an idle client is disconnected.
	TimeoutClientData *int `gcfg:"timeout-client-data" max:"31536000000" cpo:"no"`
	// Time in milliseconds to connect to a member.
	TimeoutMemberConnect *int `gcfg:"timeout-member-connect" max:"31536000000" cpo:"no"`
	// Time in milliseconds after which an idle member is disconnected.
	TimeoutMemberData *int `gcfg:"timeout-member-data" max:"31536000000" cpo:"no"`
	// Time in milliseconds to wait for more of a connection's first bytes.
	TimeoutTCPInspect *int `gcfg:"timeout-tcp-inspect" max:"31536000000" cpo:"no"`
	// Let the appProtocol of ports choose the protocol of listeners.
	AppProtocol *bool `gcfg:"app-protocol" cpo:"no"`
	// Tags for load balancers and their parts, instead of those of [LoadBalancer].
	Tags string `gcfg:"tags" form:"tags" cpo:"no"`
}

// Networking selects the addresses of a server that become addresses of its node.
type Networking struct {
	// Leave out IPv6 addresses.
	IPv6SupportDisabled bool `gcfg:"ipv6-support-disabled" default:"false" change:"restart"`
	// Network with external addresses of nodes. May be given several times.
	PublicNetworkName []string `gcfg:"public-network-name" change:"restart"`
	// Network with internal addresses of nodes. May be given several times.
	InternalNetworkName []string `gcfg:"internal-network-name" change:"restart"`
	// Order of a node's addresses: those in the first block come first.
	AddressSortOrder string `gcfg:"address-sort-order" form:"cidrs" change:"restart"`
}

// Node defines when Nodes are deleted or count as shut down, and in which regions their servers
// are.
type Node struct {
	// Time for which Nova must have known no server of a Node that is not Ready before the Node is deleted. It starts anew with the process.
	DeletionGracePeriod Duration `gcfg:"deletion-grace-period" default:"0s" change:"restart" cpo:"no"`
	// No Node is deleted while at least two, and more than this percentage of the Nodes of a region, have no server there: wrong credentials or a wrong region are more likely than the loss of so many servers. 100 disables this protection.
	MaxGonePercent int `gcfg:"max-gone-percent" default:"50" max:"100" change:"restart" cpo:"no"`
	// Statuses of a server for which its Node counts as shut down and gets the taint `node.cloudprovider.kubernetes.io/shutdown`. The default contains the statuses of servers that are switched off; the pods of a suspended or paused server continue when it is resumed.
	ShutdownStatus string `gcfg:"shutdown-status" default:"SHUTOFF,SHELVED,SHELVED_OFFLOADED" form:"server-statuses" change:"restart" cpo:"no"`
	// Additional region with servers of Nodes. May be given several times.
	Region []string `gcfg:"region" change:"restart" cpo:"no"`
}

// Route selects the router that gets routes to the nodes' pods.
type Route struct {
	// Router that gets a route to each pod CIDR of a node (routes.md). Empty means no routes.
	RouterID string `gcfg:"router-id" change:"restart"`
}

// Metadata is accepted for compatibility with existing files.
type Metadata struct {
	// Accepted, without effect.
	SearchOrder string `gcfg:"search-order" default:"configDrive,metadataService" form:"search-order"`
	// Time limit of every OpenStack call; 0 means ten minutes, with a warning.
	RequestTimeout Duration `gcfg:"request-timeout" default:"60s" change:"restart"`
}

// Limits are the maximum numbers of concurrent requests.
type Limits struct {
	// Creates of load balancers; 0 means 8. Octavia builds the load balancers of a project one after the other: more of them only wait for each other until it times out.
	Creates int `gcfg:"creates" default:"0" max:"1000" change:"restart" cpo:"no"`
	// Deletes of load balancers; 0 means 16.
	Deletes int `gcfg:"deletes" default:"0" max:"1000" change:"restart" cpo:"no"`
	// All other writes to Octavia: listeners, pools, members, health monitors; 0 means 32.
	Updates int `gcfg:"updates" default:"0" max:"1000" change:"restart" cpo:"no"`
	// Reads, counted for Octavia, Neutron and Nova each; 0 means 16.
	Reads int `gcfg:"reads" default:"0" max:"1000" change:"restart" cpo:"no"`
	// Writes to Neutron: floating IPs, ports, security groups, routes; 0 means 16.
	NetworkWrites int `gcfg:"network-writes" default:"0" max:"1000" change:"restart" cpo:"no"`
}
