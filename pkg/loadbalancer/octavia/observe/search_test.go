package observe_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// inSubnet is the place of the cluster's load balancers.
func inSubnet(context.Context) (ownership.Place, error) {
	return ownership.Place{Subnets: []string{"subnet"}}, nil
}

func elsewhere(context.Context) (ownership.Place, error) {
	return ownership.Place{Subnets: []string{"another"}}, nil
}

// idsOf returns the IDs of load balancers in their order.
func idsOf(found []octavia.LoadBalancer) string {
	var ids []string
	for _, lb := range found {
		ids = append(ids, lb.ID)
	}
	return strings.Join(ids, " ")
}

// searches are the cases of a search: the load balancers that it finds, their owners, and its requests.
type searches map[string]struct {
	project *tenant
	hints   observe.Hints
	found   string // IDs
	former  string
	refused string // the beginning of the error
	sent    []string
}

func (all searches) run(t *testing.T) {
	t.Helper()
	for name, test := range all {
		found, err := test.project.observer(model.Version{}).Find(t.Context(), us(), test.hints)
		if test.refused != "" && (!observe.IsNotOurs(err) || !strings.HasPrefix(err.Error(), test.refused)) || test.refused == "" && err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		if got := idsOf(found.LoadBalancers); got != test.found || err == nil && found.As.Former != test.former || found.As.Sharing.Is {
			t.Errorf("%s: found %q, as %+v", name, got, found.As)
		}
		slices.Sort(test.sent)
		if diff := cmp.Diff(test.sent, test.project.requests()); test.sent != nil && diff != "" {
			t.Errorf("%s: requests %s", name, diff)
		}
	}
}

// tagged is the list of load balancers with the tag of the Service.
var tagged = "balancers " + us().ServiceTag()

func TestFind_ReadsReplacedOneUnlessItIsGoneOrAnothers(t *testing.T) {
	t.Parallel()
	moved := with(nextIn("gone"))
	moved.forbidden["gone"] = true
	late := with(nextIn("legacy"))
	late.lag["legacy"] = 1
	replacedByOurs := with(oursIn(), nextIn("ours"))
	searches{
		"cloud-provider-openstack's":        {with(nextIn("legacy")), observe.Hints{}, "next legacy", "", "", nil},
		"that of a former cluster":          {with(nextIn("former")), observe.Hints{}, "next former", "kube_service_before_default_web", "", nil},
		"another's":                         {with(nextIn("theirs")), observe.Hints{}, "next", "", "", nil},
		"one that is gone":                  {with(nextIn("gone")), observe.Hints{}, "next", "", "", []string{tagged, "balancer gone", "balancer gone"}},
		"one that a server does not know":   {late, observe.Hints{}, "next legacy", "", "", nil},
		"one that is in another project":    {moved, observe.Hints{}, "next", "", "", []string{tagged, "balancer gone", "balancers gone"}},
		"its own":                           {replacedByOurs, observe.Hints{}, "next ours", "", "", []string{tagged, "floating IPs port-ours", "floating IPs port-next"}},
		"one that does not replace another": {with(oursIn()), observe.Hints{}, "ours", "", "", []string{tagged}},
	}.run(t)
}

func TestFind_TrustsWhatTheProcessRemembers(t *testing.T) {
	t.Parallel()
	late := all()
	late.lag["legacy"] = 1
	unlisted := with(oursIn())
	unlisted.unlisted["ours"] = true
	moved := all()
	moved.forbidden["moved"] = true
	remembered := func(id string) observe.Hints { return observe.Hints{Remembered: id} }
	searches{
		"cloud-provider-openstack's":      {all(), remembered("legacy"), "legacy", "", "", []string{tagged, "balancer legacy"}},
		"that of a former cluster":        {all(), remembered("former"), "former", "kube_service_before_default_web", "", nil},
		"another's":                       {all(), remembered("theirs"), "", "", "", nil},
		"a person's":                      {all(), remembered("persons"), "", "", "", nil},
		"one that is gone":                {all(), remembered("gone"), "", "", "", []string{tagged, "balancer gone", "balancer gone"}},
		"one that is in another project":  {moved, remembered("moved"), "", "", "", nil},
		"one that a server does not know": {late, remembered("legacy"), "legacy", "", "", nil},
		"its own, which lists miss":       {unlisted, remembered("ours"), "ours", "", "", nil},
		"its own, which the list has":     {with(oursIn()), remembered("ours"), "ours", "", "", []string{tagged}},
		"its own, beside another":         {with(oursIn()), remembered("legacy"), "ours", "", "", nil},
		"the named one":                   {all(), observe.Hints{Remembered: "former", LoadBalancerID: "former"}, "former", "kube_service_before_default_web", "", []string{tagged, "balancer former"}},
	}.run(t)
}

func TestFind_AdoptsByAddressOnlyWithProof(t *testing.T) {
	t.Parallel()
	twin := legacyIn()
	twin.ID, twin.VIPSubnetID = "twin", "another"
	two := with(twin)
	behind := all()
	behind.AllFloatingIPs = append(behind.AllFloatingIPs, floating("fip", "203.0.113.7", "port-legacy", ""))
	spare := all()
	spare.AllFloatingIPs = append(spare.AllFloatingIPs, floating("fip", "10.0.0.2", "", ""))
	six := legacyIn()
	six.ID, six.VIPAddress = "six", "2001:db8::1"
	at := func(place func(context.Context) (ownership.Place, error), addresses ...string) observe.Hints {
		return observe.Hints{Addresses: addresses, Place: place}
	}
	written := at(elsewhere, "10.0.0.2")
	written.Written = "theirs"
	itself := at(elsewhere, "10.0.0.2")
	itself.Written = "legacy"
	named := func(written string, addresses ...string) observe.Hints {
		return observe.Hints{NamedAddresses: addresses, Written: written}
	}
	const private = "the load balancer at the Service's address may be its own or another cluster's: its private address 10.0.0.2 does not prove it"
	const host = "the load balancer at the Service's address may be its own or another cluster's: the Service has published a host name, which proves nothing; if it is, name it"
	searches{
		"its VIP":                                {all(), at(inSubnet, "10.0.0.2"), "legacy", "", "", []string{tagged, "floating IPs 10.0.0.2", "balancers 10.0.0.2"}},
		"that of a former cluster":               {all(), at(inSubnet, "10.0.0.3"), "former", "kube_service_before_default_web", "", nil},
		"the second address":                     {all(), at(inSubnet, "192.0.2.1", "10.0.0.2"), "legacy", "", "", nil},
		"an IPv6 address":                        {with(six), at(inSubnet, "2001:db8::1"), "six", "", "", []string{tagged, "balancers 2001:db8::1"}},
		"a floating IP":                          {behind, at(nil, "203.0.113.7"), "legacy", "", "", []string{tagged, "floating IPs 203.0.113.7", "balancers port-legacy"}},
		"a floating IP on no port":               {spare, at(inSubnet, "10.0.0.2"), "legacy", "", "", nil},
		"another's":                              {all(), at(inSubnet, "10.0.0.4"), "", "", "", nil},
		"a person's":                             {all(), at(inSubnet, "10.0.0.5"), "", "", "", nil},
		"in another place":                       {all(), at(elsewhere, "10.0.0.2"), "", "", private + "; if it is, name it in the annotation", nil},
		"in no known place":                      {all(), at(nil, "10.0.0.2"), "", "", private, nil},
		"of two, one in the place":               {two, at(inSubnet, "10.0.0.2"), "legacy", "", "", nil},
		"of two, none in the place":              {two, at(func(context.Context) (ownership.Place, error) { return ownership.Place{}, nil }, "10.0.0.2"), "", "", private + ", as 2 load balancers of the name have it; if it is", nil},
		"in another place, it was another":       {all(), written, "", "", "", nil},
		"in another place, it was that":          {all(), itself, "", "", private, nil},
		"a host name":                            {all(), named("", "10.0.0.2"), "", "", host, nil},
		"a host name, second address":            {all(), named("", "192.0.2.1", "10.0.0.2"), "", "", host, nil},
		"a host name, it was another":            {all(), named("theirs", "10.0.0.2"), "", "", "", nil},
		"a host name, it was that":               {all(), named("legacy", "10.0.0.2"), "", "", host, nil},
		"a host name of another's load balancer": {all(), named("", "10.0.0.4"), "", "", "", nil},
		"no address":                             {all(), observe.Hints{}, "", "", "", []string{tagged}},
	}.run(t)
	_, err := all().observer(model.Version{}).Find(t.Context(), us(), at(func(context.Context) (ownership.Place, error) { return ownership.Place{}, errBroken }, "10.0.0.2"))
	if !errors.Is(err, errBroken) {
		t.Errorf("an unknown place: error %v", err)
	}
}

func TestFind_ReadsTheNamedOne(t *testing.T) {
	t.Parallel()
	moved := func() *tenant {
		c := with(oursIn())
		c.forbidden["moved"] = true
		return c
	}
	late := all()
	late.lag["legacy"] = 1
	onVIP := all()
	onVIP.AllFloatingIPs = append(onVIP.AllFloatingIPs, floating("other", "203.0.113.6", "port-former", ""), floating("fip", "203.0.113.7", "port-former", ""))
	named := func(id string, addresses ...string) observe.Hints {
		return observe.Hints{LoadBalancerID: id, Addresses: addresses, Place: inSubnet}
	}
	const nameless = "load balancer former is not this Service's: it was created for a Service of the same name in a cluster of another name"
	searches{
		"cloud-provider-openstack's":                   {all(), named("legacy"), "legacy", "", "", []string{tagged, "balancer legacy"}},
		"one that a server does not know":              {late, named("legacy"), "legacy", "", "", nil},
		"one that is gone":                             {with(oursIn()), named("gone"), "ours", "", "", nil},
		"its own":                                      {with(oursIn()), named("ours"), "ours", "", "", []string{tagged}},
		"one in another project":                       {moved(), named("moved"), "", "", "load balancer moved is not this Service's: it is in another project", nil},
		"one in another project, recorded":             {moved(), observe.Hints{LoadBalancerID: "moved", Recorded: "moved"}, "ours", "", "", nil},
		"one that another one replaces":                {with(nextIn("legacy")), named("legacy"), "next legacy", "", "", nil},
		"one that another one does not replace":        {with(oursIn()), named("legacy"), "legacy", "", "", nil},
		"that of a former cluster":                     {all(), named("former"), "", "", nameless, nil},
		"that, at the published address":               {all(), named("former", "10.0.0.3"), "former", "kube_service_before_default_web", "", nil},
		"that, at another address":                     {all(), named("former", "10.0.0.9"), "", "", nameless, nil},
		"that, at the published address elsewhere":     {all(), observe.Hints{LoadBalancerID: "former", Addresses: []string{"10.0.0.3"}, Place: elsewhere}, "", "", nameless, nil},
		"that, at the published floating IP":           {onVIP, named("former", "203.0.113.7"), "former", "kube_service_before_default_web", "", nil},
		"that, at an address of the Service's own one": {with(oursIn()), named("former", "10.0.0.1"), "", "", nameless, nil},
	}.run(t)
}

func TestFind_SharesWhatItNamesOfOthers(t *testing.T) {
	t.Parallel()
	neighbor := us()
	neighbor.Service, neighbor.ServiceUID = "api", "uid-of-api"
	for name, test := range map[string]struct {
		project *tenant
		hints   observe.Hints
		id      string
		want    ownership.Sharing
	}{
		"another cluster's":           {all(), observe.Hints{}, "theirs", ownership.Sharing{Is: true}},
		"a person's":                  {all(), observe.Hints{}, "persons", ownership.Sharing{Is: true}},
		"that of a Service here":      {with(oneOf("api", neighbor.Name(), "10.0.0.8", neighbor.Tags()...)), observe.Hints{}, "api", ownership.Sharing{Is: true, Removable: true}},
		"served at its address":       {all(), observe.Hints{Addresses: []string{"10.0.0.4"}, Place: inSubnet}, "theirs", ownership.Sharing{Is: true, Served: true}},
		"served before":               {all(), observe.Hints{ServedOn: "theirs"}, "theirs", ownership.Sharing{Is: true, Served: true}},
		"served elsewhere before":     {all(), observe.Hints{ServedOn: "persons"}, "theirs", ownership.Sharing{Is: true}},
		"beside one of its own":       {with(nextIn("theirs")), observe.Hints{}, "theirs", ownership.Sharing{Is: true}},
		"with an address, elsewhere":  {all(), observe.Hints{Addresses: []string{"10.0.0.4"}, Place: elsewhere}, "theirs", ownership.Sharing{Is: true}},
		"with an address of its own":  {with(oneOf("ours", us().Name(), "10.0.0.4", us().Tags()...)), observe.Hints{Addresses: []string{"10.0.0.4"}, Place: inSubnet}, "theirs", ownership.Sharing{Is: true}},
		"with the floating IP on VIP": {withFloating("port-theirs"), observe.Hints{Addresses: []string{"203.0.113.7"}}, "theirs", ownership.Sharing{Is: true, Served: true}},
	} {
		test.hints.LoadBalancerID = test.id
		found, err := test.project.observer(model.Version{}).Find(t.Context(), us(), test.hints)
		if err != nil || idsOf(found.LoadBalancers) != test.id {
			t.Errorf("%s: found %q, error %v", name, idsOf(found.LoadBalancers), err)
		}
		found.As.Sharing.Owner = ownership.Owner{}
		if diff := cmp.Diff(test.want, found.As.Sharing); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	untagged := us()
	untagged.Untagged = true
	_, err := all().observer(model.Version{}).Find(t.Context(), untagged, observe.Hints{LoadBalancerID: "persons"})
	if !observe.IsNotOurs(err) || !strings.Contains(err.Error(), "can be shared only where load balancers have tags") {
		t.Errorf("before Octavia 4.0: error %v", err)
	}
}

// withFloating is a project with a floating IP on a port.
func withFloating(portID string) *tenant {
	c := all()
	c.AllFloatingIPs = append(c.AllFloatingIPs, floating("fip", "203.0.113.7", portID, ""))
	return c
}

// Of several load balancers, the first decides which address is published.
func TestFind_ChoosesTheOneThatServes(t *testing.T) {
	t.Parallel()
	at := func(id string, day int, change func(*octavia.LoadBalancer)) octavia.LoadBalancer {
		lb := oneOf(id, us().Name(), "10.0.1."+id[:1], us().Tags()...)
		lb.CreatedAt.Time = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		change(&lb)
		return lb
	}
	as := func(*octavia.LoadBalancer) {}
	own := us().FloatingIPs().Description()
	for name, test := range map[string]struct {
		old, young func(*octavia.LoadBalancer)
		fips       []string // descriptions of floating IPs on the younger
		hints      observe.Hints
		want       string
	}{
		"the older":                         {as, as, nil, observe.Hints{}, "1-old 2-young"},
		"one that is not in ERROR":          {func(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = "ERROR" }, as, nil, observe.Hints{}, "2-young 1-old"},
		"its own floating IP among several": {as, as, []string{"a person's", own, "another person's"}, observe.Hints{}, "2-young 1-old"},
		"another's floating IP":             {as, as, []string{"a person's"}, observe.Hints{}, "1-old 2-young"},
		"the published floating IP":         {as, as, []string{"", ""}, observe.Hints{Addresses: []string{"203.0.113.1"}}, "2-young 1-old"},
		"the published VIP":                 {as, as, nil, observe.Hints{Addresses: []string{"10.0.1.2"}}, "2-young 1-old"},
		"the remembered":                    {as, as, nil, observe.Hints{Remembered: "2-young"}, "2-young 1-old"},
		"the recorded":                      {as, as, nil, observe.Hints{Written: "2-young"}, "2-young 1-old"},
		"the named before the remembered":   {as, as, nil, observe.Hints{LoadBalancerID: "1-old", Remembered: "2-young", Written: "2-young"}, "1-old 2-young"},
		"a second VIP": {as, func(lb *octavia.LoadBalancer) {
			lb.AdditionalVIPs = []octavia.AdditionalVIP{{Address: "2001:db8::2"}}
		}, nil, observe.Hints{Addresses: []string{"2001:db8::2"}}, "2-young 1-old"},
	} {
		c := &tenant{}
		c.AllLoadBalancers = []octavia.LoadBalancer{at("1-old", 1, test.old), at("2-young", 2, test.young)}
		for i, description := range test.fips {
			c.AllFloatingIPs = append(c.AllFloatingIPs, floating("fip-"+string(rune('0'+i)), "203.0.113."+string(rune('0'+i)), "port-2-young", description))
		}
		found, err := c.observer(model.Version{}).Find(t.Context(), us(), test.hints)
		if got := idsOf(found.LoadBalancers); err != nil || got != test.want || found.Replaces {
			t.Errorf("%s: found %q, error %v, replaces %v", name, got, err, found.Replaces)
		}
		lb := &model.LoadBalancer{ID: "2-young", Tags: us().Tags(), VIP: model.VIP{PortID: "port-2-young"}}
		if found.Attach(lb); (lb.FloatingIP != nil) != (len(test.fips) > 0) {
			t.Errorf("%s: the floating IP on the VIP is %+v", name, lb.FloatingIP)
		}
		lb = &model.LoadBalancer{ID: "1-old", VIP: model.VIP{PortID: "port-1-old"}}
		if found.Attach(lb); lb.FloatingIP != nil {
			t.Errorf("%s: the other has %+v", name, lb.FloatingIP)
		}
	}
	found, err := with(nextIn("legacy"), oursIn()).observer(model.Version{}).Find(t.Context(), us(), observe.Hints{Remembered: "next"})
	if err != nil || !found.Replaces || idsOf(found.LoadBalancers) != "next legacy ours" {
		t.Errorf("beside a replacement: %q, error %v, replaces %v", idsOf(found.LoadBalancers), err, found.Replaces)
	}
}

func TestClaimed_LooksForDescriptionsOnlyWithoutTags(t *testing.T) {
	t.Parallel()
	untagged := us()
	untagged.Untagged = true
	before := untagged
	before.ClusterName = "before"
	ours, renamed := oneOf("ours", us().Name(), "10.0.0.1"), oneOf("renamed", us().Name(), "10.0.0.2")
	ours.Description, renamed.Description = untagged.Description(), before.Description()
	for name, test := range map[string]struct {
		id   ownership.Identity
		all  []octavia.LoadBalancer
		want string
		sent int
	}{
		"by its tag":              {us(), []octavia.LoadBalancer{oursIn(), theirsIn()}, "ours", 1},
		"none":                    {us(), []octavia.LoadBalancer{theirsIn()}, "", 1},
		"by its description":      {untagged, []octavia.LoadBalancer{ours, renamed}, "ours", 1},
		"with a former name":      {untagged, []octavia.LoadBalancer{theirsIn(), renamed}, "renamed", 2},
		"no description":          {untagged, []octavia.LoadBalancer{theirsIn()}, "", 2},
		"the tag of a stolen UID": {us(), []octavia.LoadBalancer{oneOf("stolen", us().Name(), "", us().ServiceTag(), "kube_cluster_id_x")}, "", 1},
	} {
		c := &tenant{}
		c.AllLoadBalancers = test.all
		found, err := c.observer(model.Version{}).Claimed(t.Context(), test.id)
		if got := idsOf(found); err != nil || got != test.want || len(c.sent) != test.sent {
			t.Errorf("%s: found %q, error %v, sent %q", name, got, err, c.sent)
		}
	}
}

// A Service that has moved has objects where it was before.
func TestElsewhere_FindsTracesOfAMovedService(t *testing.T) {
	t.Parallel()
	listenerOn := func(c *tenant, ids ...string) *tenant {
		for _, id := range ids {
			c.AllListeners = append(c.AllListeners, octavia.Listener{ID: "l-" + id, Tags: us().Tags(), LoadBalancers: []octavia.ObjectID{{ID: id}}})
		}
		return c
	}
	forbidden := listenerOn(all(), "moved", "theirs")
	forbidden.forbidden["moved"] = true
	for name, test := range map[string]struct {
		project *tenant
		hints   observe.Hints
		except  string
		want    string // IDs, in this order
		shared  bool
	}{
		"nothing":                                    {all(), observe.Hints{}, "", "", false},
		"its own, but the one":                       {with(oursIn(), nextIn("x")), observe.Hints{}, "ours", "next", false},
		"another's, with a listener":                 {listenerOn(all(), "theirs"), observe.Hints{}, "", "theirs", true},
		"another's, with two listeners":              {listenerOn(all(), "theirs", "theirs"), observe.Hints{}, "", "theirs", true},
		"the one with a listener":                    {listenerOn(all(), "theirs"), observe.Hints{}, "theirs", "", false},
		"cloud-provider-openstack's with a listener": {listenerOn(all(), "legacy"), observe.Hints{}, "", "legacy", false},
		"one that is gone, before another":           {listenerOn(all(), "gone", "theirs"), observe.Hints{}, "", "theirs", true},
		"one in another project, before another":     {forbidden, observe.Hints{}, "", "theirs", true},
		"where it was before":                        {all(), observe.Hints{Before: []string{"", "persons"}}, "", "persons", true},
		"cloud-provider-openstack's, before":         {all(), observe.Hints{Before: []string{"legacy"}}, "", "", false},
		"that, remembered":                           {all(), observe.Hints{Before: []string{"former", "legacy"}, Remembered: "legacy"}, "", "legacy", false},
		"at its address":                             {all(), observe.Hints{Addresses: []string{"10.0.0.2"}, Place: inSubnet}, "", "legacy", false},
		"at an address that proves nothing":          {all(), observe.Hints{Addresses: []string{"10.0.0.2"}, Place: elsewhere}, "", "", false},
		"at its own address, another's elsewhere":    {with(oneOf("ours", us().Name(), "10.0.0.4", us().Tags()...)), observe.Hints{Addresses: []string{"10.0.0.4"}, Place: inSubnet}, "ours", "theirs", true},
	} {
		found, err := test.project.observer(model.Version{}).Elsewhere(t.Context(), us(), test.hints, test.except)
		var ids []string
		for _, f := range found {
			if ids = append(ids, idsOf(f.LoadBalancers)); f.As.Sharing.Is != test.shared {
				t.Errorf("%s: as %+v", name, f.As)
			}
		}
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%s: found %q, error %v, want %q", name, got, err, test.want)
		}
	}
	untagged := us()
	untagged.Untagged = true
	c := all()
	if _, err := c.observer(model.Version{}).Elsewhere(t.Context(), untagged, observe.Hints{}, ""); err != nil || len(c.sent) != 2 {
		t.Errorf("without tags: sent %q, error %v", c.sent, err)
	}
}

func TestSearches_FailWithEachRequest(t *testing.T) {
	t.Parallel()
	find := func(hints observe.Hints) func(*tenant) error {
		return func(c *tenant) error {
			_, err := c.observer(model.Version{}).Find(t.Context(), us(), hints)
			return err
		}
	}
	listener := func() *tenant {
		c := all()
		c.AllListeners = []octavia.Listener{{ID: "l", Tags: us().Tags(), LoadBalancers: []octavia.ObjectID{{ID: "theirs"}}}}
		return c
	}
	for name, test := range map[string]struct {
		project func() *tenant
		read    func(*tenant) error
	}{
		"a choice":               {func() *tenant { return with(oursIn(), nextIn("legacy")) }, find(observe.Hints{})},
		"the replaced one":       {func() *tenant { return with(nextIn("gone")) }, find(observe.Hints{})},
		"the remembered one":     {all, find(observe.Hints{Remembered: "legacy"})},
		"the named one":          {all, find(observe.Hints{LoadBalancerID: "legacy"})},
		"the address of a named": {all, find(observe.Hints{LoadBalancerID: "theirs", Addresses: []string{"203.0.113.7"}})},
		"an address":             {all, find(observe.Hints{Addresses: []string{"192.0.2.1", "10.0.0.2"}, Place: inSubnet})},
		"a floating IP":          {func() *tenant { return withFloating("port-legacy") }, find(observe.Hints{Addresses: []string{"203.0.113.7"}})},
		"a host name":            {all, find(observe.Hints{NamedAddresses: []string{"192.0.2.1"}})},
		"traces": {listener, func(c *tenant) error {
			_, err := c.observer(model.Version{}).Elsewhere(t.Context(), us(), observe.Hints{Before: []string{"persons"}, Addresses: []string{"10.0.0.2"}, Place: inSubnet}, "")
			return err
		}},
	} {
		failsWithEach(t, name, test.project, test.read)
	}
}

func TestNotOursError_NamesTheLoadBalancerIfTheServiceDoes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"load balancer lb is not this Service's: why":                                         &observe.NotOursError{ID: "lb", Why: "why"},
		"the load balancer at the Service's address may be its own or another cluster's: why": &observe.NotOursError{Why: "why"},
	} {
		if err.Error() != want || !observe.IsNotOurs(errors.Join(err)) {
			t.Errorf("%v", err)
		}
	}
	if observe.IsNotOurs(errBroken) || observe.IsNotOurs(nil) {
		t.Error("another error is taken for one of ownership")
	}
}
