package observe_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// The descriptions of floating IPs in these tests.
var (
	own    = us().FloatingIPs().Description()
	legacy = us().FloatingIPs().LegacyDescription()
	kept   = formerService().FloatingIPs().Description()
	taken  = neighbor().FloatingIPs().Description()
)

// formerService is an earlier Service of our name.
func formerService() ownership.Identity {
	id := us()
	id.ServiceUID = "an-earlier-service"
	return id
}

// neighbor is another Service of our cluster.
func neighbor() ownership.Identity {
	id := us()
	id.Service, id.ServiceUID = "api", "uid-of-api"
	return id
}

// onRouter gives a floating IP port forwardings.
func onRouter(fip floatingips.FloatingIP) floatingips.FloatingIP {
	fip.RouterID = "router"
	return fip
}

// onVIP returns the Service's own load balancer, with this port.
func onVIP(portID string) *model.LoadBalancer {
	return &model.LoadBalancer{ID: "ours", Tags: us().Tags(), VIP: model.VIP{PortID: portID}}
}

func floatingIDs(all []model.FloatingIP) string {
	var ids []string
	for _, fip := range all {
		ids = append(ids, fip.ID)
	}
	return strings.Join(ids, " ")
}

func TestFloatingIPs_AddUnattachedOnesOfTheService(t *testing.T) {
	t.Parallel()
	listed := []floatingips.FloatingIP{
		floating("own", "203.0.113.1", "", own), floating("used", "203.0.113.2", "port-x", own), onRouter(floating("forwards", "203.0.113.3", "", own)),
		floating("kept", "203.0.113.4", "", kept), onRouter(floating("kept-forwards", "203.0.113.5", "", kept)), floating("kept-used", "203.0.113.6", "port-x", kept),
		floating("legacy", "203.0.113.7", "", legacy), floating("neighbor's", "203.0.113.8", "", taken), floating("on-port", "203.0.113.9", "port", "a person's"),
	}
	ids := func(all ...string) observe.FloatingIPHints { return observe.FloatingIPHints{IDs: all} }
	published := ids("legacy")
	published.Published = []string{"203.0.113.7"}
	unpublished := ids("legacy")
	unpublished.Published = []string{"203.0.113.8"}
	others := ids("neighbor's")
	others.Published = []string{"203.0.113.8"}
	for name, test := range map[string]struct {
		hints observe.FloatingIPHints
		lb    *model.LoadBalancer
		want  string
	}{
		"by its description":                    {observe.FloatingIPHints{}, nil, "own forwards"},
		"kept ones":                             {ids("kept", "kept-forwards", "kept-used"), nil, "own forwards kept"},
		"known twice":                           {ids("own", "kept"), nil, "own forwards kept"},
		"cloud-provider-openstack's, published": {published, nil, "own forwards legacy"},
		"that, not published":                   {unpublished, nil, "own forwards"},
		"another's, published":                  {others, nil, "own forwards"},
		"on the port for the VIP":               {observe.FloatingIPHints{PortID: "port"}, nil, "own forwards on-port"},
		"on the port of another":                {observe.FloatingIPHints{PortID: "port-y"}, nil, "own forwards"},
		"on the port, with a load balancer":     {observe.FloatingIPHints{PortID: "port", Unattached: true}, onVIP("port-y"), "own forwards"},
	} {
		c := &tenant{}
		c.AllFloatingIPs = listed
		observed := &model.Observed{LoadBalancer: test.lb}
		if err := c.observer(model.Version{}).FloatingIPs(t.Context(), us(), observed, test.hints); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		if got := floatingIDs(observed.UnattachedFloatingIPs); got != test.want {
			t.Errorf("%s: unattached %q, want %q", name, got, test.want)
		}
		for _, fip := range observed.UnattachedFloatingIPs {
			is := map[string]bool{"own": true, "forwards": true, "legacy": true}[fip.ID]
			if fip.Owned != is || fip.Retained != (fip.ID == "kept") || fip.Forwards != (fip.ID == "forwards") {
				t.Errorf("%s: %+v", name, fip)
			}
		}
	}
}

func TestFloatingIPs_ReadUnattachedOnesOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	asked := func(address string, unattached bool) observe.FloatingIPHints {
		return observe.FloatingIPHints{Asked: model.FloatingIP{Address: address}, AskedBy: "field", Unattached: unattached}
	}
	for name, test := range map[string]struct {
		lb, outgoing *model.LoadBalancer
		hints        observe.FloatingIPHints
		requests     int
		onVIP        string // the floating IP on it
	}{
		"one on the VIP":               {onVIP("port-a"), nil, observe.FloatingIPHints{}, 1, "a"},
		"one on the VIP, all are read": {onVIP("port-a"), nil, observe.FloatingIPHints{Unattached: true}, 2, "a"},
		"the requested one":            {onVIP("port-a"), nil, asked("203.0.113.1", false), 1, "a"},
		"the requested one, all":       {onVIP("port-a"), nil, asked("203.0.113.1", true), 2, "a"},
		"another is requested":         {onVIP("port-a"), nil, asked("203.0.113.9", false), 3, "a"},
		"none on the VIP":              {onVIP("port-b"), nil, observe.FloatingIPHints{}, 2, ""},
		"a VIP without a port":         {onVIP(""), nil, observe.FloatingIPHints{}, 1, ""},
		"on the one that is replaced":  {onVIP("port-b"), onVIP("port-a"), observe.FloatingIPHints{}, 2, ""},
		"no load balancer":             {nil, nil, observe.FloatingIPHints{}, 1, ""},
	} {
		c := &tenant{}
		c.AllFloatingIPs = []floatingips.FloatingIP{floating("a", "203.0.113.1", "port-a", own), floating("none", "203.0.113.3", "", "a person's")}
		observed := &model.Observed{LoadBalancer: test.lb, Outgoing: test.outgoing}
		if err := c.observer(model.Version{}).FloatingIPs(t.Context(), us(), observed, test.hints); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		if sent := c.requests(); len(sent) != test.requests {
			t.Errorf("%s: sent %q, want %d requests", name, sent, test.requests)
		}
		if test.lb != nil && (test.onVIP == "") != (test.lb.FloatingIP == nil) {
			t.Errorf("%s: on the VIP is %+v", name, test.lb.FloatingIP)
		}
		if test.outgoing != nil && (test.outgoing.FloatingIP == nil || !test.outgoing.FloatingIP.Owned) {
			t.Errorf("%s: on the VIP of the replaced one is %+v", name, test.outgoing.FloatingIP)
		}
		if len(observed.UnattachedFloatingIPs) > 0 {
			t.Errorf("%s: unattached %+v", name, observed.UnattachedFloatingIPs)
		}
	}
}

// What a Service requests by ID, address or tag, and why it cannot have that.
func TestFloatingIPs_FindOrRefuseWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	listed := []floatingips.FloatingIP{
		floating("z", "203.0.113.9", "", "", "blue"), floating("free", "203.0.113.1", "", "a person's", "blue"), floating("used", "203.0.113.2", "port-x", "", "red", "mixed"),
		floating("mixed", "203.0.113.3", "", "", "mixed"), floating("duplicate's", "203.0.113.4", "port-d", ""), floating("own", "203.0.113.5", "", own),
		floating("kept", "203.0.113.6", "", taken, "kept"), onRouter(floating("router's", "203.0.113.7", "", "")), onRouter(floating("neighbor's", "203.0.113.8", "", taken)),
		floating("here", "203.0.113.11", "port", ""), floating("kept-free", "203.0.113.99", "", "", "kept"),
	}
	byID := func(id string) model.FloatingIP { return model.FloatingIP{ID: id} }
	byAddress := func(address string) model.FloatingIP { return model.FloatingIP{Address: address} }
	byTag := func(tag string) model.FloatingIP { return model.FloatingIP{Tag: tag} }
	as := func(*observe.FloatingIPHints) {}
	may := func(may bool) func(*observe.FloatingIPHints) {
		return func(h *observe.FloatingIPHints) {
			h.MayTake = func(_ context.Context, owner ownership.Owner) (bool, error) {
				return may && owner.Service == "api", nil
			}
		}
	}
	forwarded := func(is bool) func(*observe.FloatingIPHints) {
		return func(h *observe.FloatingIPHints) {
			h.Forwarded = func(_ context.Context, id string) (bool, error) { return is && id == "neighbor's", nil }
		}
	}
	port := func(h *observe.FloatingIPHints) { h.PortID = "port" }
	for name, test := range map[string]struct {
		asked   model.FloatingIP
		change  func(*observe.FloatingIPHints)
		want    string // beside its own
		refused string
	}{
		"nothing":                                  {model.FloatingIP{}, as, "", ""},
		"a free one by its ID":                     {byID("free"), as, "free", ""},
		"a free one by its address":                {byAddress("203.0.113.1"), as, "free", ""},
		"the first free one with a tag":            {byTag("blue"), as, "free", ""},
		"the free one with a tag":                  {byTag("mixed"), as, "mixed", ""},
		"its own by its ID":                        {byID("own"), as, "", ""},
		"its own by its address":                   {byAddress("203.0.113.5"), as, "", ""},
		"an address that can be created":           {byAddress("203.0.113.200"), as, "", ""},
		"an unknown ID":                            {byID("gone"), as, "", "field: there is no floating IP gone in this project"},
		"a tag that none has":                      {byTag("green"), as, "", `field: none of 0 floating IPs with the tag "green" is free`},
		"a tag of one that is in use":              {byTag("red"), as, "", `field: none of 1 floating IPs with the tag "red" is free`},
		"one in use by its ID":                     {byID("used"), as, "", "field: the floating IP used is in use"},
		"one in use by its address":                {byAddress("203.0.113.2"), as, "", "field: the floating IP 203.0.113.2 is in use"},
		"one on a duplicate":                       {byID("duplicate's"), as, "", ""},
		"one on the port for the VIP":              {byID("here"), port, "here", ""},
		"a neighbor's, without a rule":             {byID("kept"), as, "kept", ""},
		"a neighbor's that it may have":            {byID("kept"), may(true), "kept", ""},
		"a neighbor's that it may not have":        {byID("kept"), may(false), "", "field: the floating IP kept is another namespace's, which keeps it"},
		"a neighbor's, by its address":             {byAddress("203.0.113.6"), may(false), "", "field: the floating IP 203.0.113.6 is another namespace's, which keeps it"},
		"a neighbor's with the tag, and another":   {byTag("kept"), may(false), "kept-free", ""},
		"its own, where it may have no neighbor's": {byAddress("203.0.113.5"), may(false), "", ""},
		"a person's, where it may have none":       {byID("free"), may(false), "free", ""},
		"one with port forwardings":                {byID("router's"), as, "", "field: the floating IP router's is in use"},
		"that, for port forwardings":               {byID("router's"), forwarded(false), "router's", ""},
		"a neighbor's with its own forwardings":    {byID("neighbor's"), forwarded(true), "neighbor's", ""},
		"a neighbor's with forwardings":            {byID("neighbor's"), forwarded(false), "", "field: the floating IP neighbor's is in use"},
	} {
		c := &tenant{}
		c.AllFloatingIPs = listed
		observed := &model.Observed{Duplicates: []model.LoadBalancer{{}, {VIP: model.VIP{PortID: "port-d"}}}}
		hints := observe.FloatingIPHints{Asked: test.asked, AskedBy: "field"}
		test.change(&hints)
		err := c.observer(model.Version{}).FloatingIPs(t.Context(), us(), observed, hints)
		var refused *observe.FloatingIPError
		if errors.As(err, &refused) != (test.refused != "") || err != nil && !strings.HasPrefix(err.Error(), test.refused) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := floatingIDs(observed.UnattachedFloatingIPs); got != strings.TrimSpace("own "+test.want) {
			t.Errorf("%s: unattached %q, want its own and %q", name, got, test.want)
		}
	}
}

func TestFloatingIPs_AskForNothingThatIsOnTheVIP(t *testing.T) {
	t.Parallel()
	c := &tenant{}
	c.AllFloatingIPs = []floatingips.FloatingIP{floating("on", "203.0.113.1", "port-a", "a person's", "blue"), floating("free", "203.0.113.2", "", "", "blue")}
	observed := &model.Observed{LoadBalancer: onVIP("port-a")}
	hints := observe.FloatingIPHints{Asked: model.FloatingIP{Tag: "blue"}, Unattached: true, IDs: []string{"on"}}
	if err := c.observer(model.Version{}).FloatingIPs(t.Context(), us(), observed, hints); err != nil || len(observed.UnattachedFloatingIPs) > 0 {
		t.Errorf("unattached %+v, error %v", observed.UnattachedFloatingIPs, err)
	}
	other := &model.Observed{LoadBalancer: onVIP("port-a")}
	hints.Asked = model.FloatingIP{ID: "free"}
	if err := c.observer(model.Version{}).FloatingIPs(t.Context(), us(), other, hints); err != nil || floatingIDs(other.UnattachedFloatingIPs) != "free" {
		t.Errorf("another one: %+v, error %v", other.UnattachedFloatingIPs, err)
	}
}

func TestFloatingIPs_KnowAllOfTheOneOnTheVIP(t *testing.T) {
	t.Parallel()
	revision := 7
	fip := floating("fip", "203.0.113.1", "port-a", own, "blue")
	fip.FloatingNetworkID = "external"
	c := &tenant{}
	c.AllFloatingIPs = []floatingips.FloatingIP{floating("a person's", "203.0.113.2", "port-a", ""), fip, floating("another's", "203.0.113.3", "port-a", taken)}
	lb := onVIP("port-a")
	if err := c.observer(model.Version{}).AttachedFloatingIP(t.Context(), us(), lb); err != nil {
		t.Fatal(err)
	}
	want := &model.FloatingIP{
		ID: "fip", NetworkID: "external", Address: "203.0.113.1", Description: own, PortID: "port-a", Tags: []string{"blue"}, Revision: &revision, Owned: true,
	}
	if diff := cmp.Diff(want, lb.FloatingIP); diff != "" {
		t.Error(diff)
	}
	c.AllFloatingIPs = slices.Delete(c.AllFloatingIPs, 1, 2)
	if err := c.observer(model.Version{}).AttachedFloatingIP(t.Context(), us(), lb); err != nil || lb.FloatingIP.ID != "a person's" || lb.FloatingIP.Owned {
		t.Errorf("without its own: %+v, error %v", lb.FloatingIP, err)
	}
	c.AllFloatingIPs = nil
	if err := c.observer(model.Version{}).AttachedFloatingIP(t.Context(), us(), lb); err != nil || lb.FloatingIP != nil {
		t.Errorf("without any: %+v, error %v", lb.FloatingIP, err)
	}
}

// A deletion usually needs one request, and one more for each VIP without a floating IP of the Service's own.
func TestLeavingFloatingIPs_ReadWhatTheServiceLeaves(t *testing.T) {
	t.Parallel()
	listed := []floatingips.FloatingIP{
		floating("on", "203.0.113.1", "port-a", own), floating("spare", "203.0.113.2", "", own), floating("a person's", "203.0.113.3", "port-b", ""),
		floating("kept", "203.0.113.4", "", kept), floating("legacy", "203.0.113.5", "port-c", legacy),
	}
	adopted := onVIP("port-c")
	adopted.Tags = nil
	for name, test := range map[string]struct {
		lb, outgoing *model.LoadBalancer
		ids          []string
		requests     int
		attached     string // on the VIP
		unattached   string
	}{
		"its own":                          {onVIP("port-a"), nil, nil, 1, "on", "spare"},
		"its own, known by its ID":         {onVIP("port-a"), nil, []string{"on", "spare"}, 1, "on", "spare"},
		"another that it knows":            {onVIP("port-a"), nil, []string{"kept", "on"}, 2, "on", "spare kept"},
		"a person's":                       {onVIP("port-b"), nil, nil, 2, "a person's", "spare"},
		"cloud-provider-openstack's":       {adopted, nil, nil, 2, "legacy", "spare"},
		"none":                             {onVIP("port-d"), nil, nil, 2, "", "spare"},
		"its own on the one that replaces": {onVIP("port-d"), onVIP("port-a"), nil, 2, "", "spare"},
		"no load balancer":                 {nil, nil, nil, 1, "", "spare"},
	} {
		c := &tenant{}
		c.AllFloatingIPs = listed
		observed := &model.Observed{LoadBalancer: test.lb, Outgoing: test.outgoing}
		if err := c.observer(model.Version{}).LeavingFloatingIPs(t.Context(), us(), observed, observe.FloatingIPHints{IDs: test.ids}); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		if sent := c.requests(); len(sent) != test.requests {
			t.Errorf("%s: sent %q, want %d requests", name, sent, test.requests)
		}
		var attached string
		if test.lb != nil && test.lb.FloatingIP != nil {
			attached = test.lb.FloatingIP.ID
		}
		if got := floatingIDs(observed.UnattachedFloatingIPs); got != test.unattached || attached != test.attached {
			t.Errorf("%s: attached %q, unattached %q", name, attached, got)
		}
		if test.outgoing != nil && (test.outgoing.FloatingIP == nil || test.outgoing.FloatingIP.ID != "on") {
			t.Errorf("%s: on the replaced one is %+v", name, test.outgoing.FloatingIP)
		}
	}
}

func TestFloatingIPs_FailWithEachRequest(t *testing.T) {
	t.Parallel()
	project := func() *tenant {
		c := &tenant{}
		c.AllFloatingIPs = []floatingips.FloatingIP{floating("neighbor's", "203.0.113.8", "", taken), onRouter(floating("router's", "203.0.113.9", "", taken))}
		return c
	}
	for name, test := range map[string]struct {
		lb    *model.LoadBalancer
		hints observe.FloatingIPHints
	}{
		"with a load balancer": {onVIP("port-a"), observe.FloatingIPHints{IDs: []string{"a"}, Asked: model.FloatingIP{Tag: "green", Address: "x"}}},
		"without":              {nil, observe.FloatingIPHints{IDs: []string{"a"}, PortID: "port"}},
	} {
		for _, leaving := range []bool{false, true} {
			failsWithEach(t, name, project, func(c *tenant) error {
				read := c.observer(model.Version{}).FloatingIPs
				if leaving {
					read = c.observer(model.Version{}).LeavingFloatingIPs
				}
				err := read(t.Context(), us(), &model.Observed{LoadBalancer: test.lb, Outgoing: test.lb}, test.hints)
				if refused := (*observe.FloatingIPError)(nil); errors.As(err, &refused) {
					return nil
				}
				return err
			})
		}
	}
	broken := observe.FloatingIPHints{
		MayTake:   func(context.Context, ownership.Owner) (bool, error) { return true, errBroken },
		Forwarded: func(context.Context, string) (bool, error) { return true, errBroken },
	}
	for _, id := range []string{"neighbor's", "router's"} {
		broken.Asked.ID = id
		if err := project().observer(model.Version{}).FloatingIPs(t.Context(), us(), &model.Observed{}, broken); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v", id, err)
		}
	}
}
