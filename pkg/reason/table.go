package reason

import (
	"cmp"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// Entry is what is known of a reason.
type Entry struct {
	Reason Reason
	// On is the object that has it.
	On Object
	// Type is that of its events, "" where there are none.
	Type string
	// States are the conditions that can have it.
	States []State
	// When says when that is, and what the text names; Stands when a condition has it, "" where
	// that is the same; Do what to do.
	When, Stands, Do string
}

// Since returns when a condition has the reason.
func (e Entry) Since() string { return cmp.Or(e.Stands, e.When) }

// Object is what events are about.
type Object string

// The objects. What is for the cluster's operator is on a ConfigMap in kube-system.
const (
	Service   Object = "Service"
	Node      Object = "Node"
	ConfigMap Object = "ConfigMap `kube-system/openstack-cloud`"
)

// State is a condition that is true, or is not.
type State struct {
	Condition Condition
	Is        bool
}

// Table returns all reasons. It is shared and must not be changed.
func Table() []Entry { return table() }

// table is made once, as each event reads it.
var table = sync.OnceValue(func() []Entry {
	return slices.Concat(changes(), notices(), troubles(), conditions(), refusals(), operators())
})

const nothing = "nothing"

// changes are events on Services that tell what is done.
func changes() []Entry {
	return []Entry{
		{
			Reason: Changing, On: Service, Type: v1.EventTypeNormal,
			When: "something is being changed in the cloud: the steps, one after the other", Do: nothing,
		},
		{
			Reason: Ready, On: Service, Type: v1.EventTypeNormal, States: []State{{Provisioned, true}},
			When: "a Service that has no address is given one", Stands: "the cloud has what the Service asks for: ID of the load balancer, and address", Do: nothing,
		},
		{
			Reason: AddressChanged, On: Service, Type: v1.EventTypeNormal,
			When: "another address is published in place of the one before", Do: "adapt DNS records and firewalls that name the old one",
		},
		{
			Reason: SubnetChosen, On: Service, Type: v1.EventTypeNormal,
			When: "a new VIP is in one of several subnets of the nodes, as none is configured", Do: "nothing; if it should be another one, set `subnet-id` in cloud.conf or as an annotation, and create the Service again: a VIP stays where it is",
		},
		{
			Reason: ExternalNetworkChosen, On: Service, Type: v1.EventTypeNormal,
			When: "a new floating IP comes from one of several external networks", Do: "nothing; if it should be another one, set `floating-network-id` in cloud.conf or as an annotation",
		},
		{
			Reason: HealthMonitorMissing, On: Service, Type: v1.EventTypeNormal,
			When: "a load balancer made by another controller has no [health monitors](services.md#health-monitors) under `externalTrafficPolicy: Local`",
			Do:   "set the annotation `enable-health-monitor` to `\"true\"`, as the text says",
		},
	}
}

// notices are events on Services that somebody should look at.
func notices() []Entry {
	return []Entry{
		{
			Reason: SettingIgnored, On: Service, Type: v1.EventTypeWarning, States: []State{{IsRefused, false}},
			When: "annotations have no effect: each with why, and the nearest name that there is; one event for all of them, and another only when they change",
			Do:   "correct or remove them: nothing is broken",
		},
		{
			Reason: SettingImmutable, On: Service, Type: v1.EventTypeWarning,
			When: "a setting cannot change on the load balancer that exists",
			Do:   "take it back, or permit [a new load balancer](addresses.md#what-only-a-new-load-balancer-can-do)",
		},
		{
			Reason: NotDeleted, On: Service, Type: v1.EventTypeWarning,
			When: "a load balancer that may be the Service's is not deleted with it, as nothing proves that, or a second one of the Service that is not needed stays",
			Do:   "look at it (`openstack loadbalancer show ID`), and delete it if nobody needs it (`openstack loadbalancer delete --cascade ID`)",
		},
		{
			Reason: Drifted, On: Service, Type: v1.EventTypeWarning, States: []State{{IsDrifted, true}},
			When:   "another client has changed the load balancer: what, and the steps that revert it, or would",
			Stands: "what another client has changed stands, as `drift-policy=report` asks for, or as it could not be reverted yet",
			Do:     "find who does it (Octavia's log has the user), and have the Service changed instead: see [changes by other clients](services.md#changes-by-other-clients)",
		},
		{
			Reason: ForcedInternal, On: Service, Type: v1.EventTypeWarning,
			When: "the VIP is published because the cloud, or the [shared load balancer](sharing.md), has no floating IP", Do: "ask for an external network by `floating-network-id`, or, if clients outside need not reach it, make the Service internal by `openstack-internal-load-balancer`",
		},
		{
			Reason: ForeignFloatingIP, On: Service, Type: v1.EventTypeWarning,
			When: "another client has attached a floating IP to a load balancer that should have none", Do: "find who has attached it; if nobody needs it, `openstack floating ip unset --port ADDRESS`",
		},
		{
			Reason: NodeSkipped, On: Service, Type: v1.EventTypeWarning,
			When: "nodes have no address of the Service's IP family, and are no members", Do: "nothing while other nodes serve; else give them one, or the Service another family",
		},
		{
			Reason: NoMembers, On: Service, Type: v1.EventTypeWarning,
			When: "all nodes are excluded from load balancers by their label, or no node matches the node selector: the pools are empty, and nothing serves", Do: "if that is not intended, take the label from a node, or correct the annotation `node-selector`, or the key of cloud.conf",
		},
		{
			Reason: LastMembers, On: Service, Type: v1.EventTypeWarning,
			When: "all nodes that could be members are being deleted, or are about to be: they stay members, as no other is left", Do: "nothing if new nodes are on their way; else add nodes",
		},
		{
			Reason: PortNotFound, On: Service, Type: v1.EventTypeWarning,
			When: "no Neutron port of this project has the address of a node, or the server of a node is unknown and no port in the members' subnets has its address, or a port of another server has it: no security group is put on its port",
			Do:   "if the load balancer cannot reach the node, let it in yourself there, from its subnet to the NodePorts; delete the Node if its server is gone, correct its provider ID, or name its subnet with `member-subnet-id`",
		},
	}
}

// troubles are events on Services about what keeps them from what they ask for.
func troubles() []Entry {
	return []Entry{
		{
			Reason: InError, On: Service, Type: v1.EventTypeWarning, States: []State{{Provisioned, false}, {Degraded, true}},
			When: "the load balancer, or a part of it, is in ERROR: which, since when, and what leads it out of that",
			Do: "traffic may still pass: test the address. What the controller may do, it does by itself. What else the text asks for is a failover by the cloud's operator, by the ID, or your permission for another load balancer (`allow-replace`): " +
				"see [what only the cloud can end](services.md#what-only-the-cloud-can-end)",
		},
		{
			Reason: Pending, On: Service, Type: v1.EventTypeWarning, States: []State{{Provisioned, false}},
			When: "Octavia has not finished what it began with the load balancer: since when",
			Do:   "what served traffic before goes on, changes wait. Nobody but the cloud's operator can end it: name the ID. See [what only the cloud can end](services.md#what-only-the-cloud-can-end)",
		},
		{
			Reason: QuotaExceeded, On: Service, Type: v1.EventTypeWarning, States: []State{{IsRefused, true}},
			When: "a quota, an address pool or a limit of cloud.conf is used up: its numbers, and the request that was refused", Do: "have it raised by the cloud's operator (a limit of cloud.conf by the cluster's), or free some of it; it is tried again every five minutes by itself",
		},
		{
			Reason: UpdateFailed, On: Service, Type: v1.EventTypeWarning,
			When: "a load balancer could not follow a change of nodes, or of cloud.conf, or be repaired: the error",
			Do:   "it is tried again by itself, within five minutes. If it stays: the error names the step and the ID of the request, by which the cloud's operator finds why OpenStack refuses it; nodes that are new get no traffic meanwhile",
		},
		{
			Reason: Updated, On: Service, Type: v1.EventTypeNormal,
			When: "a load balancer is up to date again after `UpdateLoadBalancerFailed`", Do: "nothing",
		},
		{
			Reason: OctaviaNotFound, On: Service, Type: v1.EventTypeWarning,
			When: "the cloud has no load balancer service (Octavia), for which the Service waits", Do: "look whether `openstack catalog show load-balancer` has the `region` and the `os-endpoint-type` of cloud.conf. A cluster without load balancers: `[LoadBalancer] enabled=false`",
		},
	}
}

// conditions are reasons of conditions alone.
func conditions() []Entry {
	return []Entry{
		{
			Reason: NotReady, On: Service, States: []State{{Provisioned, false}},
			When: "the first load balancer of the Service could not be made yet",
			Do:   "it is tried again by itself. If it stays, the event `SyncLoadBalancerFailed` of the Service has the error: the step, and the ID of the request, by which the cloud's operator finds why",
		},
		{
			Reason: Gone, On: Service, States: []State{{Provisioned, false}},
			When: "another client has deleted the load balancer, which `drift-policy=report` leaves so", Do: "have it created again: change anything that the Service asks for. Find who deletes load balancers (Octavia's log has the user)",
		},
		{
			Reason: Refused, On: Service, States: []State{{Provisioned, false}},
			When: "the Service lacks what it asks for, as that is refused", Do: "see the condition `Refused`, whose reason and message say why; a load balancer that was there before goes on",
		},
		{
			Reason: Sound, On: Service, States: []State{{Degraded, false}},
			When: "nothing in the load balancer is broken, and each pool has a member that serves, as far as monitors say", Do: nothing,
		},
		{
			Reason: NoHealthyMember, On: Service, States: []State{{Degraded, true}},
			When: "the operating status of the load balancer is ERROR: the pools without any member that answers its monitor. Single members that do not answer are none: with `externalTrafficPolicy: Local` most never do",
			Do: "clients are not served. Are there pods that are ready (`kubectl get endpointslices --selector kubernetes.io/service-name=NAME`)? If so, can the load balancer reach the NodePorts: " +
				"[security groups](security-groups.md) of the nodes, firewalls, kube-proxy. `kubectl openstack-lb status NAME` shows each member ([status.md](status.md))",
		},
		{
			Reason: Accepted, On: Service, States: []State{{IsRefused, false}},
			When: "nothing that the Service asks for is refused", Do: nothing,
		},
		{
			Reason: Undrifted, On: Service, States: []State{{IsDrifted, false}},
			When: "the load balancer is as it was applied last, as far as the last look shows", Do: nothing,
		},
	}
}

// refusals are why Services are refused.
func refusals() []Entry {
	refused := func(reason Reason, when, do string) Entry {
		return Entry{Reason: reason, On: Service, States: []State{{IsRefused, true}}, When: when + ", and what is kept alive", Do: do}
	}
	return []Entry{
		refused(Invalid, "a value is not allowed: the field, the value, what is allowed", "correct the annotation or field that the message names: [annotations.md](annotations.md) has what is allowed"),
		refused(Unsupported, "the provider, or this release of OpenStack, cannot do what the Service asks for", "ask for something else, or for another provider: [drivers.md](drivers.md) has what each supports"),
		refused(Unavailable, "what the Service names is not there: a class of cloud.conf, a certificate, flavor, network or address", "correct the name, or make what it names; it is tried again by itself"),
		refused(NotOwned, "the load balancer or floating IP belongs to another owner, who does not share it", "choose another one, or have the owner share it: see [sharing.md](sharing.md)"),
		refused(Conflict, "something that exists is in the way, such as another listener on the port", "choose another port or load balancer, or remove what is in the way, which the message names"),
		refused(RefusedByCloud, "OpenStack refuses the change for another reason: its words, and the ID of the request", "the words say what OpenStack does not take: change that, or show the cloud's operator the ID of the request"),
	}
}

// operators are events for the cluster's operator.
func operators() []Entry {
	return []Entry{
		{
			Reason: CloudChanged, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "cloud.conf leads to another project or region than before: both; once an hour", Do: "Services, Nodes and routes wait. Take the change of cloud.conf back, unless the cluster has moved: see [when the cluster moves](getting-started.md#when-the-cluster-moves)",
		},
		{
			Reason: ConfigurationChanged, On: ConfigMap, Type: v1.EventTypeNormal,
			When: "a change of cloud.conf, or of a file that it names, is in force: the settings, not their values; or one that was refused was taken back", Do: nothing,
		},
		{
			Reason: ConfigurationRefused, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "a change of cloud.conf, or of a file that it names, is not taken over: why", Do: "correct it soon: what was in force stays in force until a restart. After that Services are refused while `[LoadBalancer]` is wrong, and the pod does not start while another section is",
		},
		{
			Reason: CredentialsExpire, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "the application credential, password or token of cloud.conf ends within 14 days: when; once a day", Do: "make another one, and put it into the Secret with cloud.conf before that day: no restart is needed",
		},
		{
			Reason: GarbageFound, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "objects in OpenStack are proven to be this cluster's, and of no Service: which", Do: "no hurry: they only take quota. Delete them, or have it done by `garbage-policy=delete`: see [garbage.md](garbage.md)",
		},
		{
			Reason: GarbageSuspected, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "objects in OpenStack may be of no Service, which is not proven, and stay: which", Do: "no hurry: look at each in OpenStack, and delete those that nobody needs: see [garbage.md](garbage.md)",
		},
		{
			Reason: GarbageRemoved, On: ConfigMap, Type: v1.EventTypeNormal,
			When: "objects of no Service were removed, as `garbage-policy=delete` asks for: which", Do: nothing,
		},
		{
			Reason: GarbageNotRemoved, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "objects of no Service could not be removed: which, and why", Do: "no hurry: it is tried again every `garbage-interval`. If it stays, the text has what OpenStack says to it",
		},
		{
			Reason: NodeDeletionHeld, On: Node, Type: v1.EventTypeWarning,
			When: "a Node without a server stays, as too many would go: why, and the way out", Do: "are the servers really gone (`openstack server list`)? If not, look why the API of Nova does not show them; if so, permit it as the text says: see [nodes.md](nodes.md#too-many-would-go)",
		},
		{
			Reason: RightsMissing, On: ConfigMap, Type: v1.EventTypeWarning,
			When: "the controller starts to work without rights that some protection needs: which; at each start", Do: "soon, as what is made meanwhile lacks the ID of the cluster for good: apply `manifests/additional-rights/rbac.yaml` and restart the pods, see [the rights](recipes/README.md#rights)",
		},
	}
}
