package reason

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// Entry describes a reason.
type Entry struct {
	Reason Reason
	// On is the object of the event or condition.
	On Object
	// Type is the type of its events, "" if there are none.
	Type string
	// States are the conditions that can have the reason.
	States []State
	// When describes the occasion and the contents of the text. Stands does so for a condition, ""
	// if it is the same. Do is the recommended response.
	When, Stands, Do string
}

// Object is the kind of object that an event is about.
type Object string

// The kinds of objects. Events for the cluster's operator are on a ConfigMap in kube-system.
const (
	Service   Object = "Service"
	Node      Object = "Node"
	ConfigMap Object = "ConfigMap `kube-system/openstack-cloud`"
)

// State is a condition with its status.
type State struct {
	Condition Condition
	Is        bool
}

// Table returns all reasons. It is shared and must not be changed.
func Table() []Entry { return table() }

// table is made once, because each event reads it.
var table = sync.OnceValue(func() []Entry {
	return slices.Concat(changes(), notices(), troubles(), conditions(), refusals(), operators())
})

const nothing = "nothing"

// changes are events on Services that report changes.
func changes() []Entry {
	return []Entry{
		{
			Reason: Changing, On: Service, Type: v1.EventTypeNormal,
			When: "something is being changed in the cloud: the steps, one after the other", Do: nothing,
		},
		{
			Reason: Ready, On: Service, Type: v1.EventTypeNormal, States: []State{{Provisioned, true}},
			When: "a Service gets its first address", Stands: "the load balancer is as requested: its ID and address", Do: nothing,
		},
		{
			Reason: AddressChanged, On: Service, Type: v1.EventTypeNormal,
			When: "another address replaces the published one", Do: "update DNS records and firewalls that contain the old address",
		},
		{
			Reason: SubnetChosen, On: Service, Type: v1.EventTypeNormal,
			When: "the nodes are in several subnets and none is configured: the subnet of the new VIP", Do: "nothing; for another subnet, set `subnet-id` in cloud.conf or as an annotation, and create the Service again: a VIP cannot move",
		},
		{
			Reason: ExternalNetworkChosen, On: Service, Type: v1.EventTypeNormal,
			When: "there are several external networks: the network of the new floating IP", Do: "nothing; for another network, set `floating-network-id` in cloud.conf or as an annotation",
		},
		{
			Reason: NoEndpoints, On: Service, Type: v1.EventTypeNormal,
			When: "members [follow endpoints](members.md), and no node that can be a member has one for these ports: the last members stay, new pools are empty",
			Do:   "nothing if the pods are meant to be down; else inspect the EndpointSlices of the Service",
		},
		{
			Reason: FlowsStay, On: Service, Type: v1.EventTypeNormal,
			When: "members of a Service with UDP ports [follow endpoints](members.md#what-becomes-a-member) on a provider that leaves flows which never pause with a removed member",
			Do:   "nothing if clients use a new port after a failure; else ask the operator of the cloud for `options:ct_flush`, or use another provider",
		},
		{
			Reason: Unmanaged, On: Service, Type: v1.EventTypeNormal,
			When: "the annotation `managed` is `\"false\"`: the message lists the changes that are not made",
			Do:   "nothing; to let the controller make them, remove the annotation",
		},
		{
			Reason: RolloutLoses, On: Service, Type: v1.EventTypeNormal,
			When: "under `externalTrafficPolicy: Local`, or with pods as members, pods stop before the load balancer has removed the member: see [rollouts](members.md#rollouts)",
			Do:   "give the pods a `preStop` hook that sleeps longer than the removal takes, and the controller the right to read pods if the message asks for it; or use `externalTrafficPolicy: Cluster` with `trafficDistribution: PreferSameNode`",
		},
		{
			Reason: AllNodes, On: Service, Type: v1.EventTypeNormal,
			When: "all nodes are members although the members could [follow endpoints](members.md): another controller created the load balancer, or no endpoint has a node that can be a member",
			Do:   "nothing, or set the annotation `members` as the message explains",
		},
		{
			Reason: HealthMonitorMissing, On: Service, Type: v1.EventTypeNormal,
			When: "a load balancer of another controller has no [health monitors](services.md#health-monitors) under `externalTrafficPolicy: Local`",
			Do:   "set the annotation `enable-health-monitor` to `\"true\"`, as the message explains",
		},
	}
}

// notices are events on Services that need attention.
func notices() []Entry {
	return []Entry{
		{
			Reason: SettingIgnored, On: Service, Type: v1.EventTypeWarning, States: []State{{IsRefused, false}},
			When: "annotations without effect: the cause, and the nearest existing name; one event for all of them, repeated only when they change",
			Do:   "correct or remove them; the load balancer works",
		},
		{
			Reason: SettingImmutable, On: Service, Type: v1.EventTypeWarning,
			When: "a setting cannot be changed on an existing load balancer",
			Do:   "revert the setting, or permit [a new load balancer](addresses.md#what-only-a-new-load-balancer-can-do)",
		},
		{
			Reason: NotDeleted, On: Service, Type: v1.EventTypeWarning,
			When: "a load balancer that may belong to the Service is not deleted with it because there is no proof, or a second one of the Service, which is not needed, is kept",
			Do:   "inspect it (`openstack loadbalancer show ID`), and delete it if it is not needed (`openstack loadbalancer delete --cascade ID`)",
		},
		{
			Reason: Drifted, On: Service, Type: v1.EventTypeWarning, States: []State{{IsDrifted, true}},
			When:   "another client has changed the load balancer: the changes, and the steps that revert them, or would",
			Stands: "changes of another client are kept because of `drift-policy=report`, or could not be reverted yet",
			Do:     "identify the client (Octavia's log has the user), and change the Service instead: see [changes by other clients](services.md#changes-by-other-clients)",
		},
		{
			Reason: ForcedInternal, On: Service, Type: v1.EventTypeWarning,
			When: "the VIP is published because the cloud, or the [shared load balancer](sharing.md), has no floating IP", Do: "set an external network with `floating-network-id`, or make the Service internal with `openstack-internal-load-balancer` if it has no external clients",
		},
		{
			Reason: ForeignFloatingIP, On: Service, Type: v1.EventTypeWarning,
			When: "another client has attached a floating IP to a load balancer that should have none", Do: "find its user; if it is not needed, run `openstack floating ip unset --port ADDRESS`",
		},
		{
			Reason: ShareWaits, On: Service, Type: v1.EventTypeWarning,
			When: "the load balancer that Services [share by name](sharing.md#sharing-by-name) is created for another one, named in the message, which has had none for two minutes",
			Do:   "look at the events of that Service; without its annotation `share` the load balancer is created for the next one",
		},
		{
			Reason: NodeSkipped, On: Service, Type: v1.EventTypeWarning,
			When: "nodes without an address of the Service's IP family are not members", Do: "nothing while other nodes serve; else give them such an address, or change the family of the Service",
		},
		{
			Reason: NoMembers, On: Service, Type: v1.EventTypeWarning,
			When: "all nodes are excluded from load balancers by their label, or no node matches the node selector: the pools are empty and the Service is not served", Do: "if that is not intended, remove the label from a node, or correct the annotation `node-selector` or the key of cloud.conf",
		},
		{
			Reason: LastMembers, On: Service, Type: v1.EventTypeWarning,
			When: "all possible members are being deleted, or are about to be: they remain members because there are no others", Do: "nothing if new nodes are about to join; else add nodes",
		},
		{
			Reason: PortNotFound, On: Service, Type: v1.EventTypeWarning,
			When: "no Neutron port of this project has the address of a node, or the server of a node is unknown and no port in the members' subnets has its address, or a port of another server has it: its port gets no security group",
			Do:   "delete the Node if its server is gone, correct its provider ID, or set its subnet with `member-subnet-id`; if the load balancer still cannot reach the node, allow traffic from its subnet to the NodePorts yourself",
		},
	}
}

// troubles are events on Services about problems that prevent the requested state.
func troubles() []Entry {
	return []Entry{
		{
			Reason: InError, On: Service, Type: v1.EventTypeWarning, States: []State{{Provisioned, false}, {Degraded, true}},
			When: "the load balancer or a part of it is in ERROR: which, since when, and the remedy",
			Do: "traffic may still pass: test the address. The controller does everything that it may do. If more is needed, the message asks for a failover by the cloud's operator, and has the ID for it, or for your permission for another load balancer (`allow-replace`): " +
				"see [what only the cloud can end](services.md#what-only-the-cloud-can-end)",
		},
		{
			Reason: Pending, On: Service, Type: v1.EventTypeWarning, States: []State{{Provisioned, false}},
			When: "the load balancer is in a PENDING status: since when",
			Do:   "existing traffic continues, changes wait. Only the cloud's operator can resolve this: give them the ID. See [what only the cloud can end](services.md#what-only-the-cloud-can-end)",
		},
		{
			Reason: QuotaExceeded, On: Service, Type: v1.EventTypeWarning, States: []State{{IsRefused, true}},
			When: "a quota, an address pool or a limit of cloud.conf is exhausted: its numbers, and the refused request", Do: "ask the cloud's operator to raise it (the cluster's operator for a limit of cloud.conf), or free some of it; the controller retries every five minutes",
		},
		{
			Reason: UpdateFailed, On: Service, Type: v1.EventTypeWarning,
			When: "a load balancer could not follow a change of nodes or pods, or of cloud.conf, or be repaired: the error",
			Do:   "the controller retries within five minutes. If the error persists: it has the step and the ID of the request, with which the cloud's operator can find the cause; new nodes get no traffic meanwhile",
		},
		{
			Reason: Updated, On: Service, Type: v1.EventTypeNormal,
			When: "a load balancer is up to date again after `UpdateLoadBalancerFailed`", Do: "nothing",
		},
		{
			Reason: OctaviaNotFound, On: Service, Type: v1.EventTypeWarning,
			When: "the cloud has no load balancer service (Octavia): the Service waits for it", Do: "check that `openstack catalog show load-balancer` has the `region` and the `os-endpoint-type` of cloud.conf. For a cluster without load balancers, set `[LoadBalancer] enabled=false`; `lb-provider=router` and `port-forwarding` need no Octavia",
		},
	}
}

// conditions are reasons that only conditions have.
func conditions() []Entry {
	return []Entry{
		{
			Reason: NotReady, On: Service, States: []State{{Provisioned, false}},
			When: "the first load balancer of the Service could not be created yet",
			Do:   "the controller retries. If the error persists, the event `SyncLoadBalancerFailed` of the Service has it, with the step and the ID of the request, with which the cloud's operator can find the cause",
		},
		{
			Reason: Gone, On: Service, States: []State{{Provisioned, false}},
			When: "another client has deleted the load balancer, and `drift-policy=report` does not create it again", Do: "change any setting of the Service to create it again. Identify the client that deletes load balancers (Octavia's log has the user)",
		},
		{
			Reason: Refused, On: Service, States: []State{{Provisioned, false}},
			When: "the request of the Service is refused", Do: "see the reason and the message of the condition `Refused`; an existing load balancer stays in operation",
		},
		{
			Reason: Sound, On: Service, States: []State{{Degraded, false}},
			When: "no part of the load balancer is broken, and each pool has a working member according to its monitor", Do: nothing,
		},
		{
			Reason: NoHealthyMember, On: Service, States: []State{{Degraded, true}},
			When: "the operating status of the load balancer is ERROR: the pools without any member that answers its monitor. Single members that do not answer are normal: with `externalTrafficPolicy: Local` most never answer",
			Do: "clients are not served. Are there ready pods (`kubectl get endpointslices --selector kubernetes.io/service-name=NAME`)? If so, can the load balancer reach the NodePorts: " +
				"[security groups](security-groups.md) of the nodes, firewalls, kube-proxy. `kubectl openstack-lb status NAME` shows each member ([commands.md](commands.md#status))",
		},
		{
			Reason: Accepted, On: Service, States: []State{{IsRefused, false}},
			When: "no part of the request is refused", Do: nothing,
		},
		{
			Reason: Undrifted, On: Service, States: []State{{IsDrifted, false}},
			When: "the load balancer had no changes of other clients at the last check", Do: nothing,
		},
	}
}

// refusals are reasons for which Services are refused.
func refusals() []Entry {
	refused := func(reason Reason, when, do string) Entry {
		return Entry{Reason: reason, On: Service, States: []State{{IsRefused, true}}, When: when + ", and the parts that are kept in operation; then settings without effect", Do: do}
	}
	return []Entry{
		refused(Invalid, "a value is not allowed: the field, the value, the allowed values", "correct the annotation or field that the message names: [annotations.md](annotations.md) has the allowed values"),
		refused(Unsupported, "the provider, or this release of OpenStack, does not support the request", "change the request, or choose another provider: [drivers.md](drivers.md) lists the features of each"),
		refused(Unavailable, "an object that the Service names does not exist: a class of cloud.conf, a certificate, flavor, network or address", "correct the name, or create the object; the controller retries"),
		refused(NotOwned, "the load balancer or floating IP belongs to another owner, which does not share it", "choose another one, or ask the owner to share it: see [sharing.md](sharing.md)"),
		refused(Conflict, "an existing object conflicts with the request, such as another listener on the port", "choose another port or load balancer, or remove the object that the message names"),
		refused(RefusedByCloud, "OpenStack refuses the change for another reason: its message, and the ID of the request", "change the request as the message of OpenStack suggests, or give the cloud's operator the ID of the request"),
	}
}

// operators are events for the cluster's operator.
func operators() []Entry {
	return []Entry{
		{
			Reason: CloudChanged, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "cloud.conf points to another project or region than before: both; once an hour", Do: "Services, Nodes and routes wait. Revert the change of cloud.conf, unless the cluster has moved: see [when the cluster moves](day-two.md#move-to-another-project-or-region)",
		},
		{
			Reason: ConfigurationChanged, On: ConfigMap, Type: v1.EventTypeNormal,
			When: "a change of cloud.conf, or of a file that it names, is in force: the settings, not their values; or a refused change was reverted", Do: nothing,
		},
		{
			Reason: ConfigurationRefused, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "a change of cloud.conf, or of a file that it names, is not applied: why", Do: "correct it soon: the previous settings remain in force only until a restart. After that, Services are refused while `[LoadBalancer]` or their class has an error, and the pod does not start while another section has one",
		},
		{
			Reason: CredentialsExpire, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "the application credential, password or token of cloud.conf expires within 14 days: when; once a day", Do: "create another one, and put it into the Secret with cloud.conf before it expires: no restart is needed",
		},
		{
			Reason: GarbageFound, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "objects in OpenStack are proven to be orphaned objects of this cluster: which", Do: "not urgent: they only use quota. Delete them, or set `garbage-policy=delete`: see [cleanup.md](cleanup.md#deleted-services-of-a-running-cluster)",
		},
		{
			Reason: GarbageSuspected, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "objects in OpenStack may be orphaned, without proof, and are kept: which", Do: "not urgent: inspect each in OpenStack, and delete those that are not needed: see [cleanup.md](cleanup.md#deleted-services-of-a-running-cluster)",
		},
		{
			Reason: GarbageRemoved, On: ConfigMap, Type: v1.EventTypeNormal,
			When: "orphaned objects were removed because of `garbage-policy=delete`: which", Do: nothing,
		},
		{
			Reason: GarbageNotRemoved, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "orphaned objects could not be removed: which, and why", Do: "not urgent: the controller retries every `garbage-interval`. If the error persists, the text has the answer of OpenStack",
		},
		{
			Reason: NodeDeletionHeld, On: Node, Type: v1.EventTypeWarning,
			When: "a Node without a server is kept because too many would be deleted: why, and the remedy", Do: "check whether the servers are really gone (`openstack server list`). If not, find out why the API of Nova does not show them; if so, permit the deletion as the text explains: see [nodes.md](nodes.md#too-many-would-go)",
		},
		{
			Reason: RightsMissing, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "the controller starts without rights that some protections need: which; at each start", Do: "do this soon, because objects that are created meanwhile lack the ID of the cluster permanently: apply `manifests/additional-rights/rbac.yaml` and restart the pods, see [the rights](recipes/README.md#rights)",
		},
	}
}
