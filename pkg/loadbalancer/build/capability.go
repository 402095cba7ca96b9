package build

import (
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// Capabilities are what a provider of a release of Octavia can do. Octavia tells
// nobody: the tables are from the drivers' sources and from their answers.
type Capabilities struct {
	// Algorithms that pools can have; the first is what is taken in place of one
	// that cannot be.
	Algorithms []string
	Protocols  []v1.Protocol
	// MonitorPort tells that members can be asked at another port than they serve
	// on, so that HTTP monitors can ask kube-proxy.
	MonitorPort bool
	// HTTPForUDP tells that HTTP monitors work for pools of UDP.
	HTTPForUDP bool
	// MonitorsBlockListeners tells that no listener can be made on a load balancer
	// that has a monitor.
	MonitorsBlockListeners bool
	// AllowedCIDRs says why listeners cannot be closed to some clients; empty
	// when they can.
	AllowedCIDRs string
}

// ProviderOVN is the provider with the shortest list of abilities.
const ProviderOVN = "ovn"

// CapabilitiesOf gives what a provider can do. Providers of vendors are taken to
// do what amphora does.
func CapabilitiesOf(provider string, octavia openstack.Version) Capabilities {
	can := Capabilities{
		Algorithms:  []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"},
		Protocols:   []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
		MonitorPort: true,
		HTTPForUDP:  octavia.AtLeast(openstack.VersionHTTPForUDP),
	}
	if !octavia.AtLeast(openstack.VersionAllowedCIDRs) {
		can.AllowedCIDRs = fmt.Sprintf("this Octavia has API version %s, source ranges need %s", octavia, openstack.VersionAllowedCIDRs)
	}
	switch provider {
	case "amphora", "octavia", "amphorav2":
		can.Algorithms = can.Algorithms[:3]
	case ProviderOVN:
		// It answers 501 to each of these (ovn-octavia-provider up to 10.0).
		can.Algorithms = []string{"SOURCE_IP_PORT"}
		can.MonitorPort, can.HTTPForUDP = false, false
		can.AllowedCIDRs = "the provider ovn has no source ranges"
		// Seen with ovn-octavia-provider 3.0 (Zed): the driver dies and the load
		// balancer stays PENDING_UPDATE. Its version shows in that of Octavia only.
		can.MonitorsBlockListeners = !octavia.AtLeast(openstack.VersionSoundOVNMonitors)
	}
	return can
}

// monitorType gives the type of monitor for a pool.
//
//	policy    provider asks other ports   protocol           monitor
//	Local     yes                         TCP                HTTP on healthCheckNodePort
//	Local     yes                         UDP, Octavia 6.0   HTTP on healthCheckNodePort
//	Local     yes                         UDP, older         UDP-CONNECT on the NodePort
//	Local     no (ovn)                    TCP                TCP on the NodePort: kube-proxy drops where no endpoint is
//	Local     no (ovn)                    UDP                UDP-CONNECT on the NodePort
//	Cluster   any                         TCP                TCP on the NodePort, if asked for
//	Cluster   any                         UDP                UDP-CONNECT on the NodePort, if asked for
func monitorType(protocol model.Protocol, local bool, can Capabilities) string {
	switch {
	case local && can.MonitorPort && (protocol == model.TCP || can.HTTPForUDP):
		return model.MonitorHTTP
	case protocol == model.UDP:
		return model.MonitorUDPConnect
	default:
		return model.MonitorTCP
	}
}

func portText[T int32 | int](n T) string { return strconv.Itoa(int(n)) }
