package events

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// The subjects of warnings.
const (
	// Settings are those without effect in any cloud, and Provider those that the provider ignores.
	Settings = "settings"
	Provider = "provider"
	// Rollouts are those that lose connections.
	Rollouts = "rollouts"

	nodes = "nodes"
	// withoutEndpoints are the ports without endpoints.
	withoutEndpoints = "endpoints"
	left             = "members"
	allNodes         = "all-nodes"
	udpFlows         = "udp-flows"
	monitors         = "monitors"
	unmanaged        = "unmanaged"
	ports            = "ports"
	share            = "share"
	trouble          = "trouble"
)

// Warning is a lasting state of a Service on a subject. A Recorder emits it when it begins or changes.
type Warning struct {
	Subject string
	Reason  reason.Reason
	// Text is "" if the state is over. Key is compared instead of Text, unless it is "".
	Text, Key string
}

// SettingsIgnored names the settings that have no effect. The subject is Settings or
// Provider.
func SettingsIgnored(subject string, ignored []annotation.Notice) Warning {
	return Warning{Subject: subject, Reason: reason.SettingIgnored, Text: Listed(ignored)}
}

// Listed formats settings that have no effect, "" for none.
func Listed(ignored []annotation.Notice) string {
	texts := make([]string, 0, len(ignored))
	for _, notice := range ignored {
		texts = append(texts, notice.Annotation+": "+notice.Message)
	}
	return message.Join(texts, "; ", message.MaxEvent)
}

// NodesSkipped names the nodes that are no members because they have no address of the Service's
// family.
func NodesSkipped(family v1.IPFamily, names []string) Warning {
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("Not added as members because they have no %s address: %s", family, message.JoinLimited(names))
	}
	return Warning{Subject: nodes + "-" + string(family), Reason: reason.NodeSkipped, Text: text}
}

// HopsSkipped names the nodes that cannot be next hops of the VIP of a Service with provider router.
func HopsSkipped(names []string, why string) Warning {
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("Each of these nodes is %s: %s", why, message.JoinLimited(names))
	}
	return Warning{Subject: nodes + "-router", Reason: reason.NodeSkipped, Text: text}
}

// MembersLeft reports that a Service has no members because of labels or its node selector, or only
// members that are about to be deleted.
func MembersLeft(selector string, of *members.Set) Warning {
	var names []string
	for _, b := range of.Backends {
		names = append(names, b.Node.Name)
	}
	why, text := reason.NoMembers, ""
	switch of.Standing {
	case members.Usual:
	case members.Last:
		why, text = reason.LastMembers, "All nodes that could be members are about to be deleted; these serve until then: "+message.JoinLimited(names)
	case members.Excluded:
		text = "The load balancer has no members, and serves no traffic: all nodes have the label " + v1.LabelNodeExcludeBalancers
	case members.Unselected:
		text = fmt.Sprintf("The load balancer has no members, and serves no traffic: no node that is not excluded matches the node selector %q", message.TruncateValue(selector))
	}
	return Warning{Subject: left, Reason: why, Text: text}
}

// MembersFollow reports why members do not follow the endpoints of a Service: some ports have none, the
// endpoints have no nodes, or keeps is set: another controller created the load balancer. Stays is set
// if UDP flows stay with nodes that the endpoints have left.
func MembersFollow(of members.Followed, keeps, stays bool) []Warning {
	empty, nodes, flows := "", "", ""
	if stays {
		flows = "UDP flows that go on stay with a node after its pods have left, until they pause for the timeout of the connection tracking (30 to 120 seconds): " +
			"ask the operator of the cloud for options:ct_flush, or use another provider"
	}
	if len(of.Empty) > 0 {
		empty = "No endpoint of " + message.JoinLimited(of.Empty) + " is on a node that can be a member: the last members stay, and new pools stay empty until one is"
	}
	switch {
	case of.Placeless:
		nodes = "All nodes are members: no endpoint of the Service is on a node that can be a member"
	case keeps:
		nodes = fmt.Sprintf("All nodes stay members: another controller created the load balancer. With externalTrafficPolicy Local, nodes without endpoints drop "+
			"connections; set %s: %s, and only nodes with endpoints are members", annotation.Members, annotation.MembersAuto)
	}
	return []Warning{
		{Subject: withoutEndpoints, Reason: reason.NoEndpoints, Text: empty},
		{Subject: udpFlows, Reason: reason.FlowsStay, Text: flows},
		{Subject: allNodes, Reason: reason.AllNodes, Text: nodes},
	}
}

// RolloutLoses reports why connections fail during rollouts of a Service, "" if they do not. It is emitted
// once: the durations in the text vary.
func RolloutLoses(text string) Warning {
	w := Warning{Subject: Rollouts, Reason: reason.RolloutLoses, Text: text}
	if text != "" {
		w.Key = "yes"
	}
	return w
}

// Unmanaged lists the changes that are not made because the Service is not managed, or the error of
// the attempt to find them.
func Unmanaged(steps []string, err error) Warning {
	text := "The load balancer is as the Service asks"
	switch {
	case err != nil:
		text = "The Service would be refused: " + err.Error()
	case len(steps) > 0:
		text = "Would change: " + SummaryOf(steps)
	}
	return Warning{Subject: unmanaged, Reason: reason.Unmanaged, Text: "Nothing is written, because " + annotation.Managed + ` is "false". ` + text}
}

// ShareWaits reports why the Service still waits for the load balancer of its share, "" if it does not.
func ShareWaits(why string) Warning {
	text := ""
	if why != "" {
		text = "Waiting: " + why + "; see the events of that Service, or remove the annotation " + annotation.Share + " from it"
	}
	return Warning{Subject: share, Reason: reason.ShareWaits, Text: text}
}

// HealthMonitorMissing reports the effect of missing health monitors, "" for none.
func HealthMonitorMissing(text string) Warning {
	return Warning{Subject: monitors, Reason: reason.HealthMonitorMissing, Text: text}
}

// PortsNotFound names the nodes that the security groups do not open: unfound ones have an address
// on no Neutron port; strayed ones have no known server, and only a port outside of the members'
// subnets has their address; the address of taken ones is on the port of another server. It omits
// new Nodes that wait for their initialization, which triggers a reconciliation.
func PortsNotFound(unfound, strayed, taken []string, backends []members.Backend) Warning {
	initialized := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(backends, func(b members.Backend) bool { return b.Node.Name == name && uninitialized(b.Node) })
		})
	}
	var texts []string
	if names := initialized(unfound); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("No Neutron port of this project has the address of %s: open the NodePorts there to the load balancer yourself", message.JoinLimited(names)))
	}
	if names := initialized(strayed); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("The servers of %s are unknown, as their provider IDs name none that has their address, and no port in the members' subnets has it either: "+
			"correct the provider IDs, or name the subnet of the nodes with member-subnet-id", message.JoinLimited(names)))
	}
	if names := initialized(taken); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("The addresses of %s are on ports that are not of their servers, so no security group is put on those: "+
			"delete the Nodes if their servers are gone, or correct their provider IDs", message.JoinLimited(names)))
	}
	return Warning{Subject: ports, Reason: reason.PortNotFound, Text: strings.Join(texts, ". ")}
}

func uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// Trouble reports an obstacle in the cloud. It is emitted if the last one of the Service had another key.
func Trouble(why reason.Reason, key, text string) Warning {
	return Warning{Subject: trouble, Reason: why, Text: text, Key: string(why) + " " + key}
}

// TroubleOver ends the trouble of a Service, so that the next one is emitted.
func TroubleOver() Warning { return Warning{Subject: trouble} }
