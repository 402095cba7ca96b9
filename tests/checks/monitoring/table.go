package monitoring

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Use is what an operator has to know of a metric beyond its registration.
type Use struct {
	Metric string
	// Title and Query are for a panel of the dashboard, and Unit is its unit in Grafana.
	Title, Query, Unit string
	Labels             []Label
	// Note is shown below the query; "" for none.
	Note string
}

// Label is a label of a metric. The number of its values is small in a cluster of any size: they
// are Values, or at most Most values that match Pattern and are described by Text.
type Label struct {
	Name          string
	Values        []string
	Pattern, Text string
	Most          int
}

// Group is a section of the page and of the dashboard.
type Group struct {
	Title, Text string
	Uses        []Use
}

func texts[S ~string](all []S) []string {
	values := make([]string, 0, len(all))
	for _, value := range all {
		values = append(values, string(value))
	}
	return values
}

func statuses(known []string) []string { return append(known, "unknown", "other") }

func phase() []Label { return []Label{{Name: "phase", Values: texts(state.Phases())}} }

func resource() []Label {
	return []Label{{Name: "resource", Values: []string{"load_balancer", "floatingip", "port", "security_group", "security_group_rule"}}}
}

func operation() []Label {
	return []Label{{Name: "operation", Values: []string{
		"loadbalancer_ensure", "loadbalancer_update", "loadbalancer_repair", "loadbalancer_delete", "loadbalancer_get",
		"node_exists", "node_shutdown", "node_metadata", "route_list", "route_create", "route_delete",
	}}}
}

func kinds() []string {
	return texts([]garbage.Kind{garbage.LoadBalancer, garbage.Listener, garbage.Pool, garbage.VIP, garbage.FloatingIP, garbage.SecurityGroup})
}

func parts() (values []string) {
	for _, part := range telemetry.Parts() {
		values = append(values, part.String())
	}
	return append(values, "retry")
}

func classes() []Label {
	return []Label{{Name: "class", Values: texts([]rest.Class{
		rest.LoadBalancerCreate, rest.LoadBalancerDelete, rest.LoadBalancerUpdate, rest.LoadBalancerRead, rest.NetworkWrite,
		rest.NetworkRead, rest.ServerRead, rest.KeyManager, rest.Other, rest.Token,
	})}}
}

func requests(more ...Label) []Label {
	return append([]Label{{Name: "request", Pattern: `[a-z0-9_]+`, Most: 90, Text: "kind of object and verb, such as `loadbalancer_create`; `other_VERB` for unknown ones"}}, more...)
}

func code() Label {
	return Label{Name: "code", Pattern: `[1-5][0-9][0-9]|<error>`, Most: 20, Text: "status of the answer, `<error>` without one"}
}

func text(name, says string) Label { return Label{Name: name, Pattern: `.*`, Most: 1, Text: says} }

// Groups returns the table of all metrics that the program registers by itself.
func Groups() []Group {
	return []Group{services(), balancers(), requestsGroup(), calls(), operator()}
}

func services() Group {
	return Group{"Services", "The state of Services of type LoadBalancer.", []Use{
		{
			Metric: "cloudprovider_openstack_services", Title: "Services by phase", Unit: "short",
			Query: `sum by (phase) (cloudprovider_openstack_services)`, Labels: phase(),
			Note: "`settled`: the Service has its desired state. `pending`: it is being changed. `refused`: it keeps its last good state. `deleting`: it is being removed.",
		},
		{
			Metric: "cloudprovider_openstack_oldest_service_timestamp_seconds", Title: "Age of the oldest pending Service", Unit: "s",
			Query:  `time() - min by (phase) (cloudprovider_openstack_oldest_service_timestamp_seconds)`,
			Labels: []Label{{Name: "phase", Values: texts([]state.Phase{state.Pending, state.Refused, state.Deleting})}},
			Note:   "The time for which this process has worked on the oldest: a restart resets it.",
		},
		{
			Metric: "cloudprovider_openstack_refused_services", Title: "Refused Services by reason", Unit: "short",
			Query: `sum by (reason) (cloudprovider_openstack_refused_services)`, Labels: []Label{{Name: "reason", Values: refusal.Reasons()}},
			Note: "[services.md](services.md#services-that-are-refused) has the remedy for each reason.",
		},
		{
			Metric: "cloudprovider_openstack_service_address_seconds", Title: "Time from Service to address (95 % are faster)", Unit: "s",
			Query: `histogram_quantile(0.95, sum by (le) (rate(cloudprovider_openstack_service_address_seconds_bucket[15m])))`,
			Note:  "From the creation of the Service, if that was at most an hour before this process first worked on it.",
		},
		{
			Metric: "cloudprovider_openstack_service_address_part_seconds_total", Title: "Where the time to an address goes, per Service", Unit: "s",
			Query:  `sum by (part) (rate(cloudprovider_openstack_service_address_part_seconds_total[15m])) / ignoring (part) group_left sum (rate(cloudprovider_openstack_service_address_seconds_count[15m]))`,
			Labels: []Label{{Name: "part", Values: parts()}},
			Note: "`controller`: this process works. `queue`: it waits for other work, for a limit of requests or a `Retry-After`. `octavia`: requests to Octavia and its work between them. " +
				"`openstack`: requests to other services. `retry`: the pause after a round that failed. The time of concurrent waits counts once.",
		},
	}}
}

func balancers() Group {
	return Group{"Load balancers", "The objects in the cloud, and changes by other clients.", []Use{
		{
			Metric: "cloudprovider_openstack_loadbalancer_objects", Title: "Load balancers and parts that are not ACTIVE", Unit: "short",
			Query: `sum by (kind, provisioning_status) (cloudprovider_openstack_loadbalancer_objects{provisioning_status!="ACTIVE"})`,
			Labels: []Label{
				{Name: "kind", Values: []string{"load_balancer", "listener", "pool", "health_monitor", "member"}},
				{Name: "provisioning_status", Values: statuses(model.ProvisioningStatuses())},
				{Name: "operating_status", Values: statuses(model.OperatingStatuses())},
			},
			Note: "Load balancers are those of the last snapshot of the project (`drift-interval`; there are none with `drift-policy=off`), parts are those of the controller's last read. " +
				"The status of single members is not kept: the `operating_status` of their load balancer shows that some do not answer.",
		},
		{
			Metric: "cloudprovider_openstack_oldest_pending_loadbalancer_timestamp_seconds", Title: "Age of the oldest PENDING", Unit: "s",
			Query: `time() - min (cloudprovider_openstack_oldest_pending_loadbalancer_timestamp_seconds)`,
			Note:  "The time is `updated_at` of Octavia: a restart of this process does not reset it.",
		},
		{
			Metric: "cloudprovider_openstack_drift_total", Title: "Changes by other clients per hour", Unit: "short",
			Query: `sum by (result) (increase(cloudprovider_openstack_drift_total[1h]))`, Labels: []Label{{Name: "result", Values: []string{"found", "repaired", "reported"}}},
		},
		{
			Metric: "cloudprovider_openstack_garbage", Title: "Objects of no Service", Unit: "short",
			Query: `sum by (kind, proven) (cloudprovider_openstack_garbage)`, Labels: []Label{{Name: "kind", Values: kinds()}, {Name: "proven", Values: []string{"true", "false"}}},
			Note: "See [cleanup.md](cleanup.md#deleted-services-of-a-running-cluster).",
		},
		{
			Metric: "cloudprovider_openstack_garbage_removed_total", Title: "Objects of no Service removed per day", Unit: "short",
			Query: `sum by (kind) (increase(cloudprovider_openstack_garbage_removed_total[1d]))`, Labels: []Label{{Name: "kind", Values: kinds()}},
		},
		{
			Metric: "cloudprovider_openstack_rounds_total", Title: "What rounds of reconciliation know", Unit: "short",
			Query: `sum by (knowledge) (rate(cloudprovider_openstack_rounds_total[5m]))`, Labels: []Label{{Name: "knowledge", Values: []string{"unchanged", "recalled", "read"}}},
			Note: "`unchanged` costs no request. `recalled` uses the last applied state, which one request verifies for all. `read` reads the load balancer.",
		},
		{
			Metric: "cloudprovider_openstack_rounds", Title: "Rounds of reconciliation", Unit: "short",
			Query: `sum by (state) (cloudprovider_openstack_rounds)`, Labels: []Label{{Name: "state", Values: []string{"working", "waiting_for_octavia", "unfetched"}}},
			Note: "All that are `waiting_for_octavia` share the requests of one watcher. The next call of the service controller gets the result of a round that is `unfetched`.",
		},
	}}
}

func requestsGroup() Group {
	return Group{"Requests to OpenStack", "Requests to the cloud, their results, and their limits.", []Use{
		{
			Metric: "openstack_api_requests_total", Title: "Requests per second", Unit: "reqps",
			Query: `sum by (request) (rate(openstack_api_requests_total[5m]))`, Labels: requests(code()),
		},
		{
			Metric: "openstack_api_request_errors_total", Title: "Share of requests without a good answer", Unit: "percentunit",
			Query:  `sum by (request) (rate(openstack_api_request_errors_total[5m])) / sum by (request) (rate(openstack_api_requests_total[5m]))`,
			Labels: requests(code()),
			Note:   "A 404 or 409 can be an expected answer.",
		},
		{
			Metric: "openstack_api_request_duration_seconds", Title: "Latency of requests (95 % are faster)", Unit: "s",
			Query: `histogram_quantile(0.95, sum by (le, request) (rate(openstack_api_request_duration_seconds_bucket[5m])))`, Labels: requests(),
		},
		{
			Metric: "openstack_api_request_retries_total", Title: "Repeated requests per second", Unit: "reqps",
			Query: `sum by (request) (rate(openstack_api_request_retries_total[5m]))`, Labels: requests(),
		},
		{
			Metric: "openstack_api_queue_depth", Title: "Requests that wait for others", Unit: "short",
			Query: `sum by (class) (openstack_api_queue_depth)`, Labels: classes(),
		},
		{
			Metric: "openstack_api_limit", Title: "Requests that may be in flight", Unit: "short",
			Query: `sum by (class) (openstack_api_limit)`, Labels: classes(),
		},
		{
			Metric: "openstack_api_throttled_total", Title: "Limits that were lowered, per hour", Unit: "short",
			Query: `sum by (class, reason) (increase(openstack_api_throttled_total[1h]))`,
			Labels: append(classes(), Label{
				Name: "reason", Pattern: `[1-5][0-9][0-9]|no_answer|latency|retry_after`, Most: 10, Text: "a status code, `no_answer`, `latency` or `retry_after`",
			}),
		},
		{
			Metric: "openstack_api_wait_seconds", Title: "Time in the queue (95 % wait less)", Unit: "s",
			Query: `histogram_quantile(0.95, sum by (le, class) (rate(openstack_api_wait_seconds_bucket[5m])))`, Labels: classes(),
		},
	}}
}

func calls() Group {
	return Group{"Calls of the controllers", "Of the service, node and route controllers, under the names of cloud-provider-openstack: see [the reference](migration-reference.md#metrics).", []Use{
		{
			Metric: "cloudprovider_openstack_reconcile_total", Title: "Calls per second", Unit: "reqps",
			Query: `sum by (operation) (rate(cloudprovider_openstack_reconcile_total[5m]))`, Labels: operation(),
		},
		{
			Metric: "cloudprovider_openstack_reconcile_errors_total", Title: "Share of calls that fail", Unit: "percentunit",
			Query:  `sum by (operation) (rate(cloudprovider_openstack_reconcile_errors_total[15m])) / sum by (operation) (rate(cloudprovider_openstack_reconcile_total[15m]))`,
			Labels: operation(),
		},
		{
			Metric: "cloudprovider_openstack_reconcile_duration_seconds", Title: "Time of a call (95 % are faster)", Unit: "s",
			Query: `histogram_quantile(0.95, sum by (le, operation) (rate(cloudprovider_openstack_reconcile_duration_seconds_bucket[5m])))`, Labels: operation(),
			Note: "A call returns while a slow load balancer is still being built: `service_address_seconds` has the whole time.",
		},
	}}
}

func operator() Group {
	return Group{"For the operator", "Exhausted resources, and the version of the program.", append([]Use{
		{
			Metric: "cloudprovider_openstack_quota_used", Title: "Share of quotas that is used", Unit: "percentunit",
			Query: `max by (resource) (cloudprovider_openstack_quota_used / (cloudprovider_openstack_quota_limit > 0))`, Labels: resource(),
			Note: "Read with one request an hour, alternately from Neutron and Octavia, each for the first time within ten minutes of the start. Of Octavia's quotas only that of load balancers: Octavia does not report the use of the others.",
		},
		{
			Metric: "cloudprovider_openstack_quota_limit", Title: "Left of quotas", Unit: "short",
			Query: `min by (resource) (cloudprovider_openstack_quota_limit - cloudprovider_openstack_quota_used)`, Labels: resource(),
		},
		{
			Metric: "cloudprovider_openstack_credentials_expiry_timestamp_seconds", Title: "Time until credentials end", Unit: "s",
			Query:  `min by (kind) (cloudprovider_openstack_credentials_expiry_timestamp_seconds) - time()`,
			Labels: []Label{{Name: "kind", Values: []string{auth.ExpiringPassword, auth.ExpiringApplicationCredential, auth.ExpiringToken}}},
		},
		{
			Metric: "cloudprovider_openstack_configuration_refused", Title: "Configuration that is refused", Unit: "short",
			Query: `max (cloudprovider_openstack_configuration_refused)`,
		},
		{
			Metric: "cloudprovider_openstack_configuration_changes_total", Title: "Changes of the configuration per day", Unit: "short",
			Query: `sum by (result) (increase(cloudprovider_openstack_configuration_changes_total[1d]))`, Labels: []Label{{Name: "result", Values: []string{"applied", "refused"}}},
		},
		{
			Metric: "cloudprovider_openstack_held_nodes", Title: "Nodes that stay without a server", Unit: "short",
			Query: `max (cloudprovider_openstack_held_nodes)`,
			Note:  "See [nodes.md](nodes.md#too-many-would-go).",
		},
		{
			Metric: "cloudprovider_openstack_oldest_uninitialized_node_timestamp_seconds", Title: "Age of the oldest uninitialized Node", Unit: "s",
			Query: `time() - min (cloudprovider_openstack_oldest_uninitialized_node_timestamp_seconds)`,
			Note:  "Nodes with the taint `node.cloudprovider.kubernetes.io/uninitialized`: no pod is scheduled on them.",
		},
		{
			Metric: "cloudprovider_openstack_octavia_missing", Title: "Octavia is missing", Unit: "short",
			Query: `max (cloudprovider_openstack_octavia_missing)`,
		},
		{
			Metric: "cloudprovider_openstack_endpointslices_forbidden", Title: "Endpoints may not be watched", Unit: "short",
			Query: `max (cloudprovider_openstack_endpointslices_forbidden)`,
			Note:  "See [members.md](members.md#rights).",
		},
		{
			Metric: "cloudprovider_openstack_rollout_losing_services", Title: "Rollouts that lose connections", Unit: "short",
			Query: `max (cloudprovider_openstack_rollout_losing_services)`,
			Note:  "See [members.md](members.md#rollouts).",
		},
	}, releases()...)}
}

// releases are those of the program and its libraries.
func releases() []Use {
	return []Use{
		{
			Metric: "cloudprovider_openstack_build_info", Title: "Replicas by version", Unit: "short",
			Query: `count by (version, commit) (cloudprovider_openstack_build_info)`,
			Labels: []Label{
				text("version", "of this program"), text("commit", "that it was built from"),
				text("goversion", "the Go toolchain"), text("kubernetes_libraries", "`v0.37.2` are those of Kubernetes 1.37.2"),
			},
		},
		{
			Metric: "kubernetes_build_info", Title: "Replicas by Kubernetes release", Unit: "short",
			Query: `count by (major, minor) (kubernetes_build_info{git_version!=""})`,
			Labels: []Label{
				text("major", "of the Kubernetes libraries"), text("minor", "of the Kubernetes libraries"), text("git_version", "of this program"), text("git_commit", "of this program"),
				text("git_tree_state", "always empty"), text("build_date", "always empty"), text("go_version", ""), text("compiler", ""), text("platform", ""),
			},
			Note: "Other components of Kubernetes have it too: select ours by `job`.",
		},
	}
}
