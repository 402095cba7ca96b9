package goal

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// byNeutron returns an error of Neutron to a POST.
func byNeutron(status int, kind, text string) error {
	return gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodPost, Actual: status, Body: []byte(`{"NeutronError":{"type":"` + kind + `","message":"` + text + `","detail":""}}`),
	}
}

// byOctavia returns an error of Octavia to a POST.
func byOctavia(status int, text string) error {
	return gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodPost, Actual: status, Body: []byte(`{"faultcode":"Client","faultstring":"` + text + `","debuginfo":null}`),
	}
}

func TestExplain_NamesTheSettingAndARemedy(t *testing.T) {
	t.Parallel()
	const subnet = "0f9e8d7c-6b5a-4c3d-8e1f-a0b1c2d3e4f5"
	address := func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.7" }
	noRouter := byNeutron(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound", "External network x is not reachable from subnet y")
	for name, test := range map[string]struct {
		change func(*v1.Service)
		err    error
		words  []string // none: the error stays as it is
	}{
		"none":                            {nil, nil, nil},
		"no answer":                       {nil, errors.New("timeout"), nil},
		"a quota":                         {address, byNeutron(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['floatingip']."), nil},
		"no router":                       {nil, noRouter, []string{annotation.FloatingNetID, "floating-network-id in cloud.conf"}},
		"no router, an address":           {address, noRouter, []string{"spec.loadBalancerIP: ", "ask for a floating IP of the external network"}},
		"an address that it may not have": {address, byNeutron(http.StatusForbidden, "PolicyNotAuthorized", "not allowed"), []string{"spec.loadBalancerIP: ", "have an administrator create it"}},
		"no right, without an address":    {nil, byNeutron(http.StatusForbidden, "PolicyNotAuthorized", "not allowed"), nil},
		"an address in use":               {address, byNeutron(http.StatusConflict, "IpAddressAlreadyAllocated", "in use"), []string{"spec.loadBalancerIP: ", "none can be created with it"}},
		"an address of no subnet":         {address, byNeutron(http.StatusBadRequest, "InvalidIpForNetwork", "not valid"), []string{"spec.loadBalancerIP: ", "none can be created with it"}},
		"an ID of a setting":              {fixture.Annotated(annotation.SubnetID, subnet), byOctavia(http.StatusBadRequest, "Subnet "+subnet+" not found."), []string{annotation.SubnetID, subnet}},
		"an ID of no setting":             {nil, byOctavia(http.StatusBadRequest, "Subnet "+subnet+" not found."), nil},
		"an ID in a failure":              {fixture.Annotated(annotation.SubnetID, subnet), byOctavia(http.StatusInternalServerError, "Subnet "+subnet+" failed."), nil},
	} {
		svc := fixture.Service()
		if test.change != nil {
			test.change(svc)
		}
		got := Explain(Inputs{Settings: fixture.Settings(t, svc, fixture.Config())}, test.err)
		switch {
		case test.err == nil && got == nil:
		case (got.Error() == test.err.Error()) != (len(test.words) == 0):
			t.Errorf("%s: %v", name, got)
		case !errors.As(got, new(gophercloud.ErrUnexpectedResponseCode)) && name != "no answer":
			t.Errorf("%s: the answer of the cloud is lost in %v", name, got)
		}
		for _, word := range test.words {
			if !strings.Contains(got.Error(), word) {
				t.Errorf("%s: %q lacks %q", name, got, word)
			}
		}
		if unavailable := new(lookup.Error); len(test.words) > 0 && name != "an ID of a setting" && !errors.As(got, &unavailable) {
			t.Errorf("%s: %T is no refusal", name, got)
		}
	}
}

// A named load balancer that another client has deleted is created again; one that never existed is refused.
func TestCheckNamed_RefusesOnlyWhatNeverExisted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id      string
		change  func(*Inputs)
		record  string
		entry   state.Entry
		refused bool
	}{
		"none is named":     {},
		"it never existed":  {id: "lb", refused: true},
		"it was published":  {id: "lb", change: func(in *Inputs) { in.Published = published("203.0.113.7") }},
		"it was written":    {id: "lb", change: func(in *Inputs) { in.Published.Place = "lb" }},
		"another was":       {id: "lb", change: func(in *Inputs) { in.Published.Place = "other" }, refused: true},
		"a change began":    {id: "lb", entry: state.Entry{Made: state.Made{Touched: true}}},
		"one was made":      {id: "lb", entry: state.Entry{Made: state.Made{LoadBalancerID: "other"}}},
		"one was applied":   {id: "lb", entry: state.Entry{Applied: appliedOn("other", false)}},
		"one was recorded":  {id: "lb", record: state.Record{LoadBalancerID: "other", Service: "u"}.String()},
		"a copied record":   {id: "lb", record: state.Record{LoadBalancerID: "other", Service: "v"}.String(), refused: true},
		"a VIP was applied": {id: "lb", entry: state.Entry{Made: state.Made{VIP: true}}, refused: true},
	} {
		svc := webService()
		in := inputsOf(svc)
		if in.Settings.LoadBalancer.ID = test.id; test.change != nil {
			test.change(&in)
		}
		err := checkNamed(in, memoryOf(svc, test.record, test.entry))
		if (err != nil) != test.refused || test.refused && !strings.Contains(err.Error(), annotation.LoadBalancerID) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingNamed_NoticesAnotherOneThanTheServiceIsOn(t *testing.T) {
	t.Parallel()
	on := &model.LoadBalancer{ID: "lb"}
	for name, test := range map[string]struct {
		id, place, share string
		lb               *model.LoadBalancer
		want             bool
	}{
		"none is named":         {lb: on},
		"it has none":           {id: "other"},
		"it is on that one":     {id: "lb", lb: on},
		"it is on another":      {id: "other", lb: on, want: true},
		"the controller's text": {id: "other", place: "other", lb: on},
		"it shares one":         {id: "other", share: "front", lb: on},
	} {
		in := inputsOf(webService())
		in.Settings.LoadBalancer.ID, in.Settings.LoadBalancer.Share, in.Published.Place = test.id, test.share, test.place
		got := missingNamed(in, test.lb)
		if len(got) > 0 != test.want || test.want && (got[0].Annotation != annotation.LoadBalancerID || !strings.Contains(got[0].Message, "stays on lb")) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
