package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// ignores is the effect of a setting that it does not have.
const ignores = "cloud-provider-openstack does not have it, and ignores it"

// ofConfiguration returns the settings of cloud.conf that it does not have or handles differently.
func ofConfiguration(inspection *config.Inspection) []Finding {
	found := []Finding{}
	outside := false
	for _, s := range inspection.Settings {
		if s.Given && !strings.HasPrefix(s.Source, "line ") && s.Source != "" {
			outside = true
		}
		if !s.Given || !s.New {
			continue
		}
		f := Finding{Subject: s.Section + " " + s.Key, Text: ignores}
		switch {
		case s.Key == "security-group-mode" && s.Value == config.SecurityGroupsShared:
			f = Finding{f.Subject, true, "it creates a group for each Service, and leaves the shared one on the ports", "set per-service, restart, and wait until the group lb-sg-cluster-… is gone"}
		case s.Key == "vip-sg-ids" && s.Value != "":
			f = Finding{f.Subject, true, "Octavia rejects allowed_cidrs together with these groups: every sync fails", "remove it"}
		case s.Key == "lb-provider":
			f = Finding{f.Subject, true, "it assumes the provider of [LoadBalancer] for every load balancer", "no Service can keep another provider: give those of the class new load balancers"}
		case s.Key == "max-members" && s.Value != "0", s.Key == "members":
			f.Text = "it uses all nodes"
		case s.Key == "internal-by-default" && s.Value == "true":
			f = Finding{f.Subject, true, "it gives these Services floating IPs", "set " + annotation.Internal + `: "true" on each Service that must stay internal`}
		case s.Key == "member-address-by-subnet" && s.Value == "true":
			f = Finding{f.Subject, true, "it uses the first internal address of each node", "make sure that the load balancers reach these addresses"}
		case s.Key == "app-protocol" && s.Value == "true":
			f = Finding{f.Subject, true, secondListener, "remove it, or go back with new Services"}
		}
		found = append(found, f)
	}
	conf := inspection.Config.LoadBalancer
	if driver.Canonical(conf.LBProvider) == "ovn" && !inspection.Setting("LoadBalancer", "lb-method").Given {
		found = append(found, Finding{"[LoadBalancer] lb-method", true, "it tries ROUND_ROBIN with the provider ovn: new load balancers fail", "set lb-method=SOURCE_IP_PORT"})
	}
	if driver.WithoutOctavia(conf.LBProvider) {
		found = append(found, Finding{"[LoadBalancer] lb-provider", true, "Octavia has no provider " + conf.LBProvider + ": every sync fails, and the load balancers no longer follow the nodes", "create the Services again with a provider of Octavia"})
	}
	if outside {
		found = append(found, Finding{"OS_* variables and clouds.yaml", true,
			"it reads no OS_* variables, and does not read verify, interface, trust_id, auth_type and regions in clouds.yaml", "move these settings to cloud.conf (check --settings shows the source of each)"})
	}
	return found
}

// secondListener is the effect of a listener with another protocol than its own choice.
const secondListener = "it requests a second listener on the port, which Octavia rejects (409): every sync fails, and members no longer follow the nodes"

// service is a Service with its desired and existing load balancer.
type service struct {
	conf    *config.Config
	svc     *v1.Service
	asked   *settings.Settings
	have    *status.LoadBalancer // nil for none
	cluster string
}

// findings returns the properties of the Service that it does not have or handles differently,
// risks first.
func (s service) findings() []Finding {
	found := slices.Concat(s.ofAnnotations(), s.ofFields(), s.ofLoadBalancer())
	slices.SortStableFunc(found, func(a, b Finding) int {
		switch {
		case a.Risk == b.Risk:
			return 0
		case a.Risk:
			return -1
		}
		return 1
	})
	return found
}

// ofAnnotations is about annotations that it does not have, and a selector that it reads
// differently.
func (s service) ofAnnotations() []Finding {
	found := []Finding{}
	for _, a := range annotation.Table() {
		value, given := s.svc.Annotations[a.Name]
		if !given || !a.New || a.Change == annotation.Written {
			continue
		}
		f := Finding{Subject: a.Name, Text: ignores, Do: "remove it if the Service does not need it"}
		switch a.Name {
		case annotation.Provider:
			f.Risk, f.Text, f.Do = true, "it assumes lb-provider of [LoadBalancer]; if that differs, syncs can fail", "a Service cannot keep another provider: give it a new load balancer"
		case annotation.VIPSecurityGroups:
			f.Risk, f.Text, f.Do = true, "Octavia rejects allowed_cidrs together with these groups: every sync fails", "remove it"
		case annotation.Protocols, annotation.ForwardedProto, annotation.ForwardedPort, annotation.AppProtocol:
			f.Risk, f.Text, f.Do = value != "false", secondListener, "remove it, or go back with a new Service"
		case annotation.Managed:
			f.Risk, f.Text, f.Do = value == "false", "it changes the load balancer at once, and deletes it with the Service", ""
		case annotation.MemberAddress:
			f.Risk, f.Text, f.Do = value == "true", "it uses the first internal address of each node", "make sure that the load balancer reaches these addresses"
		case annotation.Share:
			f.Risk, f.Text, f.Do = true, "it creates another load balancer, with another address, for each Service but the one for which the shared one was created", "set "+annotation.LoadBalancerID+" to the ID of the shared one on each Service"
		case annotation.MetricsPort:
			f.Text = "it deletes the listener of the metrics"
		case annotation.MaxMembers, annotation.Members:
			f.Text, f.Do = "it uses all nodes", ""
		case annotation.MemberWeights:
			f.Text, f.Do = "it gives new members the weight 1, and leaves members with the weight 0 drained", "set it to "+annotation.WeightsEqual+" first, and wait until no member has the weight 0"
		case annotation.MonitorType, annotation.MonitorPath, annotation.MonitorPort, annotation.MonitorKubeProxy, annotation.MonitorMethod, annotation.MonitorCodes, annotation.MonitorVersion, annotation.MonitorDomain:
			f.Risk, f.Text, f.Do = true, "it replaces the health monitors with TCP or UDP-CONNECT ones on the NodePorts", "make sure that the NodePorts answer"
		}
		found = append(found, f)
	}
	for _, name := range slices.Sorted(maps.Keys(s.svc.Annotations)) {
		if base, port := annotation.Base(name); port != "" && slices.Contains(annotation.PerPort(), base) {
			found = append(found, Finding{name, true, "it treats all ports alike, and replaces the pool or the monitor of this port", "remove it, or use another Service for this port"})
		}
	}
	selector := cmp.Or(s.svc.Annotations[annotation.NodeSelector], s.conf.LoadBalancer.NodeSelector)
	if strings.ContainsAny(selector, "!()") {
		found = append(found, Finding{annotation.NodeSelector, true, fmt.Sprintf("%q matches no node there: pools become empty", selector), "write it as key=value,key"})
	}
	return found
}

// ofFields is about the Service's spec, and about annotations that are harmful with its ports.
func (s service) ofFields() []Finding {
	found := s.ofMixedPorts()
	monitored := s.svc.Annotations[annotation.Monitor] == "true" || s.svc.Annotations[annotation.Monitor] != "false" && s.conf.LoadBalancer.CreateMonitor
	if s.svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && !monitored {
		found = append(found, Finding{"spec.externalTrafficPolicy", true, "it deletes the health monitors: nodes without endpoints receive connections and drop them", `set create-monitor=true, or ` + annotation.Monitor + `: "true"`})
	}
	for _, port := range s.svc.Spec.Ports {
		if port.AppProtocol != nil && strings.HasPrefix(*port.AppProtocol, annotation.Prefix) {
			found = append(found, Finding{"spec.ports[" + fmt.Sprint(port.Port) + "].appProtocol", true, secondListener, "remove it, or go back with a new Service"})
		}
	}
	if len(s.asked.Access.SourceRanges) > 0 && driver.Canonical(s.asked.LoadBalancer.Provider) == "ovn" && !s.conf.LoadBalancer.ManageSecurityGroups {
		found = append(found, Finding{"spec.loadBalancerSourceRanges", true, "with the provider ovn and without manage-security-groups it admits all clients", "set manage-security-groups=true, or remove the ranges"})
	}
	reuses := s.asked.Floating.ID != "" || s.asked.Floating.Tag != "" || s.svc.Spec.LoadBalancerIP != "" && !s.asked.Internal
	if reuses && !s.asked.Floating.Keep {
		found = append(found, Finding{"the floating IP", true, "it deletes the floating IP with the Service if it was created for an earlier Service and kept", annotation.KeepFloatingIP + `: "true"`})
	}
	return found
}

// ofMixedPorts is about annotations that are harmful with UDP and SCTP ports.
func (s service) ofMixedPorts() []Finding {
	found := []Finding{}
	datagrams := slices.ContainsFunc(s.svc.Spec.Ports, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolUDP || p.Protocol == v1.ProtocolSCTP })
	streams := slices.ContainsFunc(s.svc.Spec.Ports, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP || p.Protocol == "" })
	on := func(name string) bool { value := s.svc.Annotations[name]; return value != "" && value != "false" }
	if datagrams {
		for _, name := range []string{annotation.ForwardedFor, annotation.TLSContainer} {
			if on(name) {
				found = append(found, Finding{name, true, "it deletes the UDP and SCTP listeners, and creates HTTP or TLS ones instead", "use two Services"})
			}
		}
		if on(annotation.ProxyProtocol) && streams {
			found = append(found, Finding{annotation.ProxyProtocol, true, "it deletes the pools of UDP and SCTP ports, and cannot create its own (409)", "use two Services"})
		}
	}
	return found
}

func (s service) ofLoadBalancer() []Finding {
	found := []Finding{}
	if len(tagPrefix+s.cluster+"_"+s.svc.Namespace+"_"+s.svc.Name) > 255 && s.have != nil && !s.have.Adopted {
		found = append(found, Finding{"the name of the load balancer", true, "it assumes that the listeners are another Service's: every sync fails, and the load balancer stays when the Service is deleted", "use a Service with a shorter name"})
	}
	if s.have == nil || s.have.Owner == "" && len(s.have.SharedWith) == 0 {
		return found
	}
	if len(s.have.FloatingIPs) == 0 && s.have.Owner != "" {
		found = append(found, Finding{"load balancer " + s.have.ID, true, "it accepts no second Service on a load balancer that is internal or has no floating IP: every sync of this one fails, but members follow the nodes", "give it a load balancer of its own"})
	}
	return found
}
