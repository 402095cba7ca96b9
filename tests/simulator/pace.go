package simulator

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Profile has the minimum and the maximum delay of each kind of request of a provider. Each request
// gets a random delay between them.
type Profile struct{ Min, Max octavia.Delays }

// Profiles returns the predefined profiles by name, each by provider; the entry "" applies to all
// other providers.
func Profiles() map[string]map[string]Profile {
	amphora := Profile{
		Min: octavia.Delays{Create: 30 * time.Second, Update: 2 * time.Second, Delete: 5 * time.Second},
		Max: octavia.Delays{Create: 120 * time.Second, Update: 8 * time.Second, Delete: 20 * time.Second},
	}
	ovn := Profile{
		Min: octavia.Delays{
			Create: 100 * time.Millisecond, Update: 100 * time.Millisecond, Delete: 100 * time.Millisecond,
			Children: 100 * time.Millisecond,
		},
		Max: octavia.Delays{Create: 2 * time.Second, Update: 2 * time.Second, Delete: 2 * time.Second, Children: 2 * time.Second},
	}
	slow := Profile{
		Min: octavia.Delays{Create: 3 * time.Minute, Update: 8 * time.Second, Delete: 20 * time.Second},
		Max: octavia.Delays{Create: 10 * time.Minute, Update: time.Minute, Delete: 2 * time.Minute},
	}
	return map[string]map[string]Profile{
		"instant": {},
		"real":    {"": amphora, octavia.ProviderOVN: ovn},
		"busy":    {"": slow, octavia.ProviderOVN: amphora},
	}
}

// pace chooses the random delays of a profile. Its delays belong to Octavia, which reads them under
// its lock; next is called under the same lock before each piece of work.
type pace struct {
	delays   map[string]octavia.Delays
	profiles map[string]Profile
	dice     *rand.Rand
}

func newPace(o Options) *pace {
	p := &pace{
		delays: map[string]octavia.Delays{}, profiles: maps.Clone(Profiles()[o.Profile]),
		dice: rand.New(rand.NewPCG(o.Seed, 1)),
	}
	for provider, delays := range o.Delays {
		p.delays[provider] = delays
		delete(p.profiles, provider)
	}
	p.next()
	return p
}

// next chooses the delays of the next piece of work.
func (p *pace) next() {
	share := p.dice.Float64() // the same for all, so that their order does not matter
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(share*float64(high-low)) }
	for provider, profile := range p.profiles {
		p.delays[provider] = octavia.Delays{
			Create: between(profile.Min.Create, profile.Max.Create), Update: between(profile.Min.Update, profile.Max.Update),
			Delete: between(profile.Min.Delete, profile.Max.Delete), Children: between(profile.Min.Children, profile.Max.Children),
			Members: between(profile.Min.Members, profile.Max.Members),
		}
	}
}
