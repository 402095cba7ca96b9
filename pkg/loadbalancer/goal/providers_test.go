package goal

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// routedAs is the applied state of a Service with a provider.
func routedAs(provider string) *state.Routed {
	return &state.Routed{LoadBalancer: &model.LoadBalancer{Provider: provider}}
}

// touched is an entry of a Service that this process has changed.
func touched() state.Entry { return state.Entry{Made: state.Made{Touched: true}} }

// noPool removes the network of VIPs from cloud.conf, noSubnets its subnets.
func noPool(r *rig)    { r.conf.LoadBalancer.RouterVIPNetworkID = "" }
func noSubnets(r *rig) { r.conf.LoadBalancer.RouterVIPNetworkID = "another-net" }

// theirs gives a port the identity of another Service.
func theirs(port *neutron.VIPPort) {
	id := rigIdentity()
	id.ServiceUID, id.Service = "another", "another"
	port.Name, port.Description, port.Tags = id.Name(), id.ProvenDescription(), id.Tags()
}

func TestServedBy_IsTheProviderOfWhatIsKnownElseOfWhatNeutronHas(t *testing.T) {
	t.Parallel()
	vip := at("10.77.0.5")
	for name, test := range map[string]struct {
		svc    *v1.Service
		rig    []func(*rig)
		want   string
		unread bool // without any request
	}{
		"served in Octavia":                  {by(driver.Router, vip), []func(*rig){vipAt("10.77.0.5"), knowing(state.Entry{Applied: appliedOn("lb", false), Routed: routedAs(driver.Router)})}, "", true},
		"served by router":                   {by(""), []func(*rig){knowing(state.Entry{Routed: routedAs(driver.Router)})}, driver.Router, true},
		"changed by another client":          {by(""), []func(*rig){knowing(state.Entry{Drift: state.Drift{Routed: routedAs(driver.PortForwarding)}})}, driver.PortForwarding, true},
		"port forwardings":                   {by("", at("203.0.113.7")), []func(*rig){forwardedAt("fip", "203.0.113.7", "10.0.0.1")}, driver.PortForwarding, false},
		"port forwardings and a VIP":         {by("", at("10.77.0.5", "203.0.113.7")), []func(*rig){forwardedAt("fip", "203.0.113.7", "10.0.0.1"), vipAt("10.77.0.5")}, driver.PortForwarding, false},
		"a VIP":                              {by("", vip), []func(*rig){vipAt("10.77.0.5")}, driver.Router, false},
		"another's VIP":                      {by("", vip), []func(*rig){vipAt("10.77.0.5", theirs)}, "", false},
		"a VIP after a change":               {by("", vip), []func(*rig){vipAt("10.77.0.5"), knowing(touched())}, driver.Router, false},
		"no VIP after a change":              {by("", vip), []func(*rig){knowing(touched())}, "", false},
		"a VIP in a network of before":       {by(driver.Router, at("10.78.0.5")), []func(*rig){vipAt("10.78.0.5"), noPool}, driver.Router, false},
		"the same, of another provider":      {by("", at("10.78.0.5")), []func(*rig){vipAt("10.78.0.5")}, "", false},
		"the same, forwarded":                {by(driver.PortForwarding, at("10.78.0.5")), []func(*rig){vipAt("10.78.0.5")}, "", false},
		"never served":                       {by(driver.Router), []func(*rig){vipAt("10.77.0.5")}, "", true},
		"never served, and it is older":      {by(driver.Router, old), []func(*rig){vipAt("10.77.0.5")}, "", true},
		"a network of VIPs that is unusable": {by("", vip), []func(*rig){vipAt("10.77.0.5"), noSubnets}, "", false},
	} {
		r := newRig(t, test.rig...)
		got, err := r.Providers.ServedBy(t.Context(), test.svc)
		if got != test.want || err != nil {
			t.Errorf("%s: served by %q, error %v, want %q", name, got, err, test.want)
		}
		if test.unread && len(r.sent) > 0 {
			t.Errorf("%s: sent %q", name, r.sent)
		}
	}
}

// Services of other providers do not depend on the network of VIPs.
func TestServedBy_ReadsVIPsOnlyWhereAnAddressIsInTheirNetwork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		reads bool
	}{
		"an address in the network": {by("", at("10.77.0.5")), nil, true},
		"another address":           {by("", at("10.0.0.100")), nil, false},
		"the provider router":       {by(driver.Router, at("10.0.0.100")), nil, true},
		"no network":                {by("", at("10.77.0.5")), []func(*rig){noPool}, false},
	} {
		r := newRig(t, test.rig...)
		if _, err := r.Providers.ServedBy(t.Context(), test.svc); err != nil || r.has("vips") != test.reads {
			t.Errorf("%s: sent %q, error %v", name, r.sent, err)
		}
	}
}

func TestProviders_ReturnTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	served := func(svc *v1.Service) func(*rig) error {
		return func(r *rig) error {
			provider, err := r.Providers.ServedBy(t.Context(), svc)
			if err != nil && provider == driver.Router {
				t.Errorf("after an error, it is served by %q", provider)
			}
			return err
		}
	}
	asks := func(ask func(r *rig) (bool, error)) func(*rig) error {
		return func(r *rig) error {
			is, err := ask(r)
			if err != nil && is {
				t.Errorf("after the error %v, it is true", err)
			}
			return err
		}
	}
	vip, recorded := vipAt("10.77.0.5"), func(r *rig) { r.records.text = state.Record{LoadBalancerID: "lb", Service: serviceUID}.String() }
	other, router := by("", at("10.77.0.5")), by(driver.Router, at("10.77.0.5"))
	assertErrors(t, "served by", served(other), vip)
	assertErrors(t, "served by, with a record", served(other), vip, recorded)
	assertErrors(t, "served by router", served(router), vip)
	assertErrors(t, "served by, after a change", served(other), vip, knowing(touched()))
	assertErrors(t, "in the pool", asks(func(r *rig) (bool, error) { return r.Providers.InPool(t.Context(), other) }))
	assertErrors(t, "only routed", asks(func(r *rig) (bool, error) { return r.Providers.OnlyRouted(t.Context(), router) }))
	assertErrors(t, "only routed, an older one", asks(func(r *rig) (bool, error) {
		return r.Providers.OnlyRouted(t.Context(), by(driver.Router, at("10.77.0.5"), old))
	}))
	assertErrors(t, "only routed, elsewhere", asks(func(r *rig) (bool, error) {
		return r.Providers.OnlyRouted(t.Context(), by(driver.PortForwarding, at("203.0.113.7")))
	}))
	assertErrors(t, "may be routed", asks(func(r *rig) (bool, error) { return r.Providers.MayBeRouted(t.Context(), other, nil) }), noPool)
	assertErrors(t, "begun", asks(func(r *rig) (bool, error) { return r.Providers.begunOnRouter(t.Context(), by("", old)) }), vip)
	for name, changes := range map[string][]func(*rig){
		"leaves router": {vip}, "leaves port-forwarding": {forwardedAt("fip", "203.0.113.7", "10.0.0.1")}, "leaves router, begun": {vip, knowing(state.Entry{Made: state.Made{VIP: true}})},
	} {
		asked := &settings.Settings{}
		asked.LoadBalancer.AllowReplace = true
		assertErrors(t, name, func(r *rig) error {
			_, err := r.Providers.leaves(t.Context(), by("", at("10.77.0.5", "203.0.113.7"), old), asked)
			return err
		}, changes...)
	}
}

// No Service can have a VIP where the operator has configured no network, or one that cannot be used.
func TestInPool_NeedsAnAddressInTheNetworkOfVIPs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		addresses []string
		rig       []func(*rig)
		in, sends bool
	}{
		"an address there":           {[]string{"203.0.113.7", "10.77.0.5"}, nil, true, true},
		"another address":            {[]string{"203.0.113.7"}, nil, false, true},
		"no network":                 {[]string{"10.77.0.5"}, []func(*rig){noPool}, false, false},
		"no address":                 {nil, nil, false, false},
		"a network without a subnet": {[]string{"10.77.0.5"}, []func(*rig){noSubnets}, false, true},
	} {
		r := newRig(t, test.rig...)
		in, err := r.Providers.InPool(t.Context(), by("", at(test.addresses...)))
		if in != test.in || err != nil || len(r.sent) > 0 != test.sends {
			t.Errorf("%s: in the pool: %v, error %v, sent %q", name, in, err, r.sent)
		}
	}
}

// A deletion of a Service that is only routed does not read Octavia, and leaves nothing there.
func TestOnlyRouted_NeedsAServedAddressAndNothingBegunInOctavia(t *testing.T) {
	t.Parallel()
	vip, forwarded := at("10.77.0.5"), forwardedAt("fip", "203.0.113.7", "10.0.0.1")
	entered := state.Entry{Made: state.Made{LoadBalancerID: "lb"}}
	foreign := func(lb *octavia.LoadBalancer) {
		id := rigIdentity()
		id.ClusterID = "another"
		lb.Tags = id.Tags()
	}
	for name, test := range map[string]struct {
		svc  *v1.Service
		rig  []func(*rig)
		only bool
	}{
		"another provider":                {by("", vip), nil, false},
		"in the pool":                     {by(driver.Router, vip), nil, true},
		"in the pool, begun in Octavia":   {by(driver.Router, vip), []func(*rig){knowing(entered)}, false},
		"with forwardings":                {by(driver.PortForwarding, at("203.0.113.7")), []func(*rig){forwarded}, true},
		"with another's forwardings":      {by(driver.PortForwarding, at("203.0.113.8")), []func(*rig){forwarded, func(r *rig) { r.forwardings["fip"][0].Description = "another's" }}, false},
		"another address":                 {by(driver.Router, at("203.0.113.8")), nil, false},
		"none, and new":                   {by(driver.Router), nil, true},
		"none, and older":                 {by(driver.Router, old), nil, false},
		"none, begun in Octavia":          {by(driver.Router), []func(*rig){knowing(entered)}, false},
		"older, nothing in Octavia":       {by(driver.Router, vip, old), nil, true},
		"older, left in Octavia":          {by(driver.Router, vip, old), []func(*rig){balancer("lb")}, false},
		"new, of its name in Octavia":     {by(driver.Router, vip), []func(*rig){balancer("lb")}, true},
		"older, another cluster's":        {by(driver.Router, vip, old), []func(*rig){balancer("lb", foreign)}, true},
		"older, another's and its own":    {by(driver.Router, vip, old), []func(*rig){balancer("theirs", foreign), balancer("lb")}, false},
		"older, without Octavia":          {by(driver.Router, vip, old), []func(*rig){failingAt("load-balancers", auth.ErrNoEndpoint{Service: "load-balancer"})}, true},
		"older, without right to Octavia": {by(driver.Router, vip, old), []func(*rig){failingAt("load-balancers", byOctavia(http.StatusForbidden, "Policy does not allow this request to be performed."))}, true},
	} {
		only, err := newRig(t, test.rig...).Providers.OnlyRouted(t.Context(), test.svc)
		if only != test.only || err != nil {
			t.Errorf("%s: only routed: %v, error %v", name, only, err)
		}
	}
}

// The first snapshot of the process shows load balancers that an earlier process has left: it is read once.
func TestOnlyRouted_UsesTheLastSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t, balancer("lb"))
	if _, err := r.Cloud.Project.Snapshot(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	r.fails["load-balancers"] = errFailed
	if only, err := r.Providers.OnlyRouted(t.Context(), by(driver.Router, at("10.77.0.5"), old)); only || err != nil {
		t.Errorf("only routed: %v, error %v", only, err)
	}
}

// A VIP or port forwardings that serve stay until the user permits a new address.
func TestLeaves_NeedsPermissionToLeaveWhatServes(t *testing.T) {
	t.Parallel()
	vip, forwarded := vipAt("10.77.0.5"), forwardedAt("fip", "203.0.113.7", "10.0.0.1")
	begun := knowing(state.Entry{Made: state.Made{VIP: true}})
	for name, test := range map[string]struct {
		svc     *v1.Service
		rig     []func(*rig)
		permits bool
		leaves  []string
		refused bool
	}{
		"nothing":                           {by("", at("10.0.0.100")), nil, false, nil, false},
		"a VIP":                             {by("", at("10.77.0.5")), []func(*rig){vip}, false, nil, true},
		"a VIP, permitted":                  {by("", at("10.77.0.5")), []func(*rig){vip}, true, []string{"port-10.77.0.5"}, false},
		"forwardings":                       {by("", at("203.0.113.7")), []func(*rig){forwarded}, false, nil, true},
		"forwardings, permitted":            {by("", at("203.0.113.7")), []func(*rig){forwarded}, true, []string{"fip"}, false},
		"forwardings and a begun VIP":       {by("", at("203.0.113.7")), []func(*rig){forwarded, vip, begun}, true, []string{"fip", "port-10.77.0.5"}, false},
		"a VIP that was begun":              {by("", at("10.0.0.100")), []func(*rig){vip, begun}, false, []string{"port-10.77.0.5"}, false},
		"a VIP that a process before began": {by("", at("10.0.0.100"), old), []func(*rig){vip}, false, []string{"port-10.77.0.5"}, false},
	} {
		asked := &settings.Settings{}
		asked.LoadBalancer.AllowReplace = test.permits
		all, err := newRig(t, test.rig...).Providers.leaves(t.Context(), test.svc, asked)
		var ids []string
		for _, lb := range all {
			ids = append(ids, lb.ID)
		}
		if refused := new(lookup.Error); errors.As(err, &refused) != test.refused || err != nil && !test.refused || !slices.Equal(ids, test.leaves) {
			t.Errorf("%s: leaves %q, error %v, want %q", name, ids, err, test.leaves)
		}
	}
}

// The floating IP of a VIP moves to the load balancer that replaces it.
func TestLeaves_ReadsTheFloatingIPsOfVIPs(t *testing.T) {
	t.Parallel()
	asked := &settings.Settings{}
	asked.LoadBalancer.AllowReplace = true
	r := newRig(t, vipAt("10.77.0.5"), vipAt("10.77.0.6"), floatingAt("a", "203.0.113.7", "port-10.77.0.5"), floatingAt("b", "203.0.113.8", "port-10.77.0.6"))
	all, err := r.Providers.leaves(t.Context(), by("", at("10.77.0.5")), asked)
	if err != nil || len(all) != 2 || all[0].FloatingIP == nil || all[0].FloatingIP.ID != "a" || all[1].FloatingIP == nil || all[1].FloatingIP.ID != "b" {
		t.Errorf("%+v, error %v", all, err)
	}
}

func TestBegunOnRouter_RemembersTheVIPOfAProcessBefore(t *testing.T) {
	t.Parallel()
	vip := vipAt("10.77.0.5")
	for name, test := range map[string]struct {
		svc         *v1.Service
		rig         []func(*rig)
		begun, read bool
	}{
		"by this process":                   {by(""), []func(*rig){noPool, knowing(state.Entry{Made: state.Made{VIP: true}})}, true, false},
		"a served one":                      {by("", at("10.0.0.100")), []func(*rig){vip}, true, true},
		"an older one":                      {by("", old), []func(*rig){vip}, true, true},
		"an older one without a VIP":        {by("", old), nil, false, true},
		"a new one":                         {by(""), []func(*rig){vip}, false, false},
		"no network of VIPs":                {by("", old), []func(*rig){vip, noPool}, false, false},
		"one that this process has changed": {by("", old), []func(*rig){vip, knowing(touched())}, false, false},
	} {
		r := newRig(t, test.rig...)
		begun, err := r.Providers.begunOnRouter(t.Context(), test.svc)
		if begun != test.begun || err != nil || r.has("vips") != test.read || r.store.Get(serviceUID).Made.VIP != test.begun {
			t.Errorf("%s: begun: %v, error %v, sent %q, known: %+v", name, begun, err, r.sent, r.store.Get(serviceUID).Made)
		}
	}
}

// A deletion looks for VIPs and port forwardings where there may be some.
func TestMayBeRouted_UnlessTheLastStateIsKnown(t *testing.T) {
	t.Parallel()
	begun := knowing(state.Entry{Made: state.Made{VIP: true}})
	forwarded := forwardedAt("fip", "203.0.113.7", "10.0.0.1")
	octavia, applied := by("", at("203.0.113.7")), appliedOn("lb", false)
	for name, test := range map[string]struct {
		svc     *v1.Service
		applied *state.Applied
		rig     []func(*rig)
		may     bool
	}{
		"the provider router":                      {by(driver.Router), applied, []func(*rig){noPool}, true},
		"the provider port-forwarding":             {by(driver.PortForwarding), applied, []func(*rig){noPool}, true},
		"another, known":                           {octavia, applied, []func(*rig){forwarded}, false},
		"another, known, with a begun VIP":         {octavia, applied, []func(*rig){begun}, true},
		"another, known, and VIPs are impossible":  {octavia, applied, []func(*rig){begun, noPool}, false},
		"another, unknown":                         {octavia, nil, nil, true},
		"another, unknown, without network":        {octavia, nil, []func(*rig){noPool}, false},
		"another, unknown, and it has forwardings": {octavia, nil, []func(*rig){noPool, forwarded}, true},
	} {
		if may, err := newRig(t, test.rig...).Providers.MayBeRouted(t.Context(), test.svc, test.applied); may != test.may || err != nil {
			t.Errorf("%s: it may be: %v, error %v", name, may, err)
		}
	}
}

// A refusal names the setting, both providers and the way out.
func TestCannotChange_NamesTheWayOut(t *testing.T) {
	t.Parallel()
	err := cannotChange(fixture.Settings(t, by("amphora"), fixture.Config()), "load balancer of provider router", "another provider")
	want := annotation.Path(annotation.Provider).String() + ": the Service has a load balancer of provider router, and cannot change to another provider: delete it and create it again, or permit the change with the annotation " + annotation.AllowReplace + `: "true"`
	if err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}
