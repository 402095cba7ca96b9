package sweep

import (
	"errors"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// Start is an environment for any changes of Services.
type Start struct {
	// Name has no blanks.
	Name string
	// Provider of load balancers; Zed is set if the cloud is of that release.
	Provider string
	Zed      bool
	// DualStack is set if its network and the nodes have both IP families.
	DualStack bool
	// Routed is set if Services may have provider router, for which there is a network of VIPs, or port-forwarding;
	// Forwarding if it is the latter.
	Routed, Forwarding bool
	// Inherited is set if there are Services of cloud-provider-openstack.
	Inherited bool
	Options   func() testenv.Options
	// Before creates the objects that exist before the controller starts.
	Before func(env *testenv.Env) error
}

// Starts returns one for each kind of cloud, one with a network of VIPs for provider router, one with provider
// port-forwarding, and one with the state that cloud-provider-openstack left.
func Starts() []Start {
	var all []Start
	for _, c := range slices.Concat(clouds(), dualClouds()) {
		keys := maps.Clone(c.keys)
		keys["max-shared-lb"] = "10"
		all = append(all, Start{
			Name: strings.ReplaceAll(c.name, " ", "-"), Provider: c.provider, Zed: strings.Contains(c.name, "Zed"), DualStack: strings.HasPrefix(c.name, "dual-stack"),
			Options: func() testenv.Options { return testenv.Options{Simulator: c.simulator(), Keys: keys} },
			Before: func(env *testenv.Env) error {
				addClass(env)
				return addNodes(env, 2)
			},
		})
	}
	routed := all[1] // amphora with groups
	routed.Name, routed.Routed = "router", true
	routed.Before = func(env *testenv.Env) error {
		addClass(env)
		return errors.Join(addVIPNetwork(env), addNodes(env, 2))
	}
	forwarding := all[1]
	forwarding.Name, forwarding.Routed, forwarding.Forwarding = "port-forwarding", true, true
	all = append(all, routed, forwarding, twoNetworks())
	adopt := adoptions()[0]
	return append(all, Start{
		Name: "inherited", Provider: "amphora", Zed: true, Inherited: true,
		Options: func() testenv.Options { return adopt.Options }, Before: func(env *testenv.Env) error {
			err := inherit(env)
			if err == nil {
				env.Conf.LoadBalancer.MaxSharedLB = new(10)
				addClass(env)
			}
			return err
		},
	})
}

// twoNetworks returns the start with nodes that have addresses in two networks, of which Services select one.
// Services are internal by default.
func twoNetworks() Start {
	c := clouds()[1]
	keys := maps.Clone(c.keys)
	keys["max-shared-lb"], keys["internal-by-default"] = "10", "true"
	return Start{
		Name: "two-networks", Provider: c.provider,
		Options: func() testenv.Options {
			return testenv.Options{Simulator: c.simulator(), Keys: keys, SecondNetwork: true}
		},
		Before: func(env *testenv.Env) error {
			addClass(env)
			env.Conf.LoadBalancer.MemberSubnetID = env.Cloud.Subnet.ID
			return addNodes(env, 2)
		},
	}
}

// NewService returns a Service of scenarios, with TCP ports.
func NewService(name string, ports ...int32) *v1.Service { return service(name, ports...) }

// Kills reports whether the process ends with the request.
func (f Fault) Kills() bool { return f.kills }

// Plant makes a request of an environment fail; false if the fault makes no sense for it.
func (f Fault) Plant(env *testenv.Env, request Request) bool {
	rule, sensible := f.rule(request)
	if !sensible {
		return false
	}
	rule.Method, rule.Route, rule.From, rule.Count = request.Method, request.Route, request.Nth, 1
	if f.kills {
		rule.Then = env.Kill
	}
	env.Cloud.Faults.Plant(rule)
	return true
}
