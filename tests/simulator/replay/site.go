package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// site is the cloud that exchanges were recorded on, as far as they show it:
// its subnets and ports, flavors and zones, and the load balancers that were
// there before.
type site struct {
	steps    []Step // of all exchanges
	callers  map[string]keystone.Caller
	project  string
	provider string
	made     map[string]bool // load balancers that a recorded request made
	facts    []loadBalancerFacts
	present  map[string]bool // recorded IDs of the load balancers made so far
	limited  bool            // a quota has been set
	network  *neutron.Neutron
}

// loadBalancerFacts is a load balancer as a recorded answer shows it.
type loadBalancerFacts struct {
	ID, Name, Description, Provider string
	ProjectID                       string `json:"project_id"`
	Address                         string `json:"vip_address"`
	SubnetID                        string `json:"vip_subnet_id"`
	NetworkID                       string `json:"vip_network_id"`
	PortID                          string `json:"vip_port_id"`
	AdditionalVIPs                  []struct {
		SubnetID string `json:"subnet_id"`
		Address  string `json:"ip_address"`
	} `json:"additional_vips"`
}

// newSite sets up the cloud of the exchanges in one directory.
func newSite(release string, files []string) (*machine, error) {
	m := newMachine()
	s := &site{made: map[string]bool{}, present: map[string]bool{}}
	var discovery Recording
	for _, file := range files {
		recording, err := Read(file)
		if err != nil {
			return nil, err
		}
		discovery.Steps = append(discovery.Steps, recording.Steps...)
		s.steps = append(s.steps, recording.Steps...)
	}
	s.gather()
	m.site = s
	s.network = neutron.New(neutron.Options{Clock: m.clock})
	if err := s.build(s.network); err != nil {
		return nil, err
	}
	providers, descriptions := siteProviders(discovery)
	delays := map[string]octavia.Delays{"": {Create: never, Update: never, Delete: never}, octavia.ProviderOVN: {}}
	err := m.start(octavia.Options{
		Release: release, Clock: m.clock, Network: s.network, NewID: m.next.take, Delays: delays,
		Providers: providers, Descriptions: descriptions,
		Quirks: octavia.Quirks{SecondResolution: true},
	})
	if err != nil {
		return nil, err
	}
	s.offer(m.octavia)
	return m, nil
}

// siteProviders are the enabled ones in their order: the default comes first.
func siteProviders(recording Recording) ([]string, map[string]string) {
	names, descriptions := recordedProviders(recording)
	if len(descriptions) == 0 {
		return nil, nil
	}
	return names[1:], descriptions // without the no-op one
}

// gather collects what the answers show of load balancers.
func (s *site) gather() {
	for _, step := range s.steps {
		var answer struct {
			LoadBalancer  *loadBalancerFacts
			LoadBalancers []loadBalancerFacts
		}
		if json.Unmarshal([]byte(step.Response), &answer) != nil {
			continue
		}
		facts := answer.LoadBalancers
		if answer.LoadBalancer != nil {
			facts = append(facts, *answer.LoadBalancer)
		}
		s.facts = append(s.facts, facts...)
		for _, one := range facts {
			s.project, s.provider = one.ProjectID, one.Provider
			if step.Method == http.MethodPost {
				s.made[one.ID] = true
			}
		}
	}
	member := []string{"load-balancer_member", "member", "reader"}
	s.callers = map[string]keystone.Caller{
		"k8s":   {UserID: "k8s", ProjectID: s.project, Roles: member},
		"other": {UserID: "other", ProjectID: "another-project", Roles: member},
		"admin": {UserID: "admin", ProjectID: "admin-project", Roles: []string{"admin", "member", "reader"}},
	}
}

// build makes the networks, subnets and ports that recorded requests used with
// success.
func (s *site) build(network *neutron.Neutron) error {
	networks, subnets := map[string]bool{}, map[string]bool{}
	for _, lb := range s.facts {
		if lb.NetworkID != "" && !networks[lb.NetworkID] {
			networks[lb.NetworkID] = true
			network.AddNetwork(neutron.NetworkSpec{ID: lb.NetworkID, ProjectID: s.project, Name: "net"})
		}
		vips := map[string]string{lb.SubnetID: lb.Address}
		for _, vip := range lb.AdditionalVIPs {
			vips[vip.SubnetID] = cmp.Or(vip.Address, s.addressIn(vip.SubnetID))
		}
		for id, address := range vips {
			if id == "" || subnets[id] {
				continue
			}
			subnets[id] = true
			cidr, err := around(address)
			if err == nil {
				_, err = network.AddSubnet(neutron.SubnetSpec{ID: id, NetworkID: lb.NetworkID, Name: id, CIDR: cidr})
			}
			if err != nil {
				return fmt.Errorf("make the recorded subnet %s: %w", id, err)
			}
		}
	}
	return nil
}

// addressIn finds an address in a subnet that no VIP shows: that of a member.
func (s *site) addressIn(subnetID string) string {
	for _, step := range s.steps {
		var body struct {
			Members []struct {
				Address  string
				SubnetID string `json:"subnet_id"`
			}
		}
		if json.Unmarshal([]byte(step.Body), &body) != nil {
			continue
		}
		for _, member := range body.Members {
			if member.SubnetID == subnetID {
				return member.Address
			}
		}
	}
	return ""
}

// around guesses the subnet of an address.
func around(address string) (string, error) {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return "", err
	}
	bits := 64
	if parsed.Is4() {
		bits = 16
	}
	return netip.PrefixFrom(parsed, bits).Masked().String(), nil
}

// offer adds the flavors and availability zones that lists show; all are the
// amphora provider's.
func (s *site) offer(o *octavia.Octavia) {
	offered := map[string]bool{}
	for _, step := range s.steps {
		var answer struct {
			Flavors           []octavia.Flavor
			AvailabilityZones []octavia.AvailabilityZone `json:"availability_zones"`
		}
		if step.Method != http.MethodGet || json.Unmarshal([]byte(step.Response), &answer) != nil {
			continue
		}
		for _, flavor := range answer.Flavors {
			if flavor.Provider = octavia.ProviderAmphora; !offered[flavor.ID] {
				o.AddFlavor(flavor)
			}
			offered[flavor.ID] = true
		}
		for _, zone := range answer.AvailabilityZones {
			if zone.Provider = octavia.ProviderAmphora; !offered[zone.Name] {
				o.AddAvailabilityZone(zone)
			}
			offered[zone.Name] = true
		}
	}
}

// refusal is how a token that is worth nothing is answered.
func (s *site) refusal(w http.ResponseWriter, r *http.Request) {
	keystone.New(keystone.Options{}).Authenticate(http.NotFoundHandler()).ServeHTTP(w, r)
}

func (s *site) factsOf(id string) (loadBalancerFacts, bool) {
	for _, facts := range s.facts {
		if facts.ID == id {
			return facts, true
		}
	}
	return loadBalancerFacts{}, false
}

// mentions reports whether a step is about the load balancer.
func mentions(step Step, id string) bool {
	return strings.Contains(step.Path+step.Body+step.Response, id)
}
