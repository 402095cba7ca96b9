package lookup_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

func TestProvider_IsAskedForOnlyWhereTheServiceNamesIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	for name, test := range map[string]struct {
		asked   bool
		refused bool
	}{
		"amphora": {true, false}, "nobody": {true, true}, "of cloud.conf": {false, false},
	} {
		s := env.internal(func(s *settings.Settings) { s.LoadBalancer.Provider, s.LoadBalancer.ProviderAsked = name, test.asked })
		err := env.reader.Provider(t.Context(), s)
		var invalid *field.Error
		if errors.As(err, &invalid) != test.refused || err != nil && !test.refused {
			t.Errorf("%s: %v", name, err)
		}
		if test.refused && (invalid.Field != annotation.Path(annotation.Provider).String() || !strings.Contains(err.Error(), "amphora")) {
			t.Errorf("%s: %v names neither the annotation nor what there is", name, err)
		}
	}
}

// The VIP decides: that of an existing load balancer by its address, that of a new one by its
// subnet if it is configured.
func TestFamilies_RefusesMembersOfAnotherFamilyThanTheVIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	ports := []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80}}
	six := &model.LoadBalancer{VIP: model.VIP{Address: "2001:db8::1"}}
	four := &model.LoadBalancer{VIP: model.VIP{Address: "203.0.113.1"}}
	for name, test := range map[string]struct {
		provider string
		family   v1.IPFamily
		existing *model.LoadBalancer
		refused  bool
	}{
		"one family":                 {"ovn", v1.IPv4Protocol, four, false},
		"another, on ovn":            {"ovn", v1.IPv4Protocol, six, true},
		"another, on amphora":        {"amphora", v1.IPv4Protocol, six, false}, // HAProxy joins the two
		"another, by the VIP subnet": {"ovn", v1.IPv6Protocol, nil, true},
		"one family, by the subnet":  {"ovn", v1.IPv4Protocol, nil, false},
	} {
		s := env.internal(func(s *settings.Settings) { s.Traffic.Ports, s.Family = ports, test.family })
		facts := desire.Facts{Driver: driver.Of(test.provider, model.Version{Major: 2, Minor: 30}), VIPSubnetID: s.VIP.SubnetID}
		if err := env.reader.Families(t.Context(), s, facts, test.existing); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// secrets has an answer for each reference.
type secrets map[string]error

func (s secrets) Exists(_ context.Context, ref string) error { return s[ref] }

func TestCertificates_TellsMissingFromUnknown(t *testing.T) {
	t.Parallel()
	down := errors.New("Barbican does not answer")
	all := secrets{"here": nil, "down": down, "no Barbican": auth.ErrNoEndpoint{Service: "key-manager"}, "missing": gophercloud.ErrUnexpectedResponseCode{
		Method: "GET", URL: "http://127.0.0.1/v1/secrets/missing", Actual: http.StatusNotFound, Body: []byte(`{"title": "Not Found"}`),
		ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "foreign": gophercloud.ErrUnexpectedResponseCode{
		Method: "GET", URL: "http://127.0.0.1/v1/secrets/foreign", Actual: http.StatusForbidden, Body: []byte(`{"title": "Forbidden"}`),
	}}
	if err := lookup.Certificates(t.Context(), all, []string{"here"}, "metadata.annotations[x]"); err != nil {
		t.Error(err)
	}
	var invalid *field.Error
	if err := lookup.Certificates(t.Context(), all, []string{"here", "missing"}, "metadata.annotations[x]"); !errors.As(err, &invalid) || invalid.Type != field.ErrorTypeNotFound || invalid.BadValue != "missing" {
		t.Errorf("one that is missing: %v", err)
	}
	var unknown *lookup.Error
	if err := lookup.Certificates(t.Context(), all, []string{"here", "down"}, "metadata.annotations[x]"); !errors.As(err, &unknown) || !errors.Is(err, down) || err.Error() != down.Error() {
		t.Errorf("no answer: %v", err)
	}
	if err := lookup.Certificates(t.Context(), all, []string{"foreign"}, "metadata.annotations[x]"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "must be in the controller's project") {
		t.Errorf("one of another project: %v", err)
	}
	var none auth.ErrNoEndpoint
	err := lookup.Certificates(t.Context(), all, []string{"no Barbican"}, "metadata.annotations[x]")
	if !errors.As(err, &unknown) || !errors.As(err, &none) || !strings.Contains(err.Error(), "container-store=external") {
		t.Errorf("no Barbican: %v", err)
	}
}

func TestCertificatesInUse_RefusesOnlyThoseThatAreGone(t *testing.T) {
	t.Parallel()
	all := secrets{"here": nil, "down": errors.New("Barbican does not answer"), "none": auth.ErrNoEndpoint{Service: "key-manager"},
		"foreign": gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusForbidden}, "gone": gophercloud.ErrUnexpectedResponseCode{
			Actual: http.StatusNotFound, Body: []byte(`{"title": "Not Found"}`), ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
		}}
	if err := lookup.CertificatesInUse(t.Context(), all, []string{"here", "down", "none", "foreign"}, "metadata.annotations[x]"); err != nil {
		t.Error(err)
	}
	var lost *lookup.LostCertificateError
	var invalid *field.Error
	err := lookup.CertificatesInUse(t.Context(), all, []string{"here", "gone"}, "metadata.annotations[x]")
	if !errors.As(err, &lost) || lost.Ref != "gone" || !errors.As(err, &invalid) || invalid.Type != field.ErrorTypeNotFound || !strings.Contains(err.Error(), `"gone"`) {
		t.Errorf("one that is gone: %v", err)
	}
}
