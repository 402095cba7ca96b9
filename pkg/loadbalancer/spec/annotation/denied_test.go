package annotation_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func TestDenied_AcceptsShortAndWholeNames(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"":                                   nil,
		" , ":                                nil,
		"port-id":                            {annotation.PortID},
		"port-id, " + annotation.Hostname:    {annotation.PortID, annotation.Hostname},
		"openstack-internal-load-balancer":   {annotation.Internal},
		"load-balancer-source-ranges,class ": {annotation.SourceRanges, annotation.Class},
	} {
		got, err := annotation.Denied(list)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", list, got, err, want)
		}
	}
	for list, words := range map[string]string{
		"port-idd":                         `"port-idd" is not an annotation of Services: did you mean "port-id"?`,
		"port-id,something-else-entirely":  `"something-else-entirely" is not an annotation of Services`,
		"load-balancer-id":                 "is written by the controller itself",
		"written-for":                      "is written by the controller itself",
		annotation.Prefix + "":             "is not an annotation",
		annotation.Prefix + "port_id":      "did you mean",
		"loadbalancer.openstack.com/class": "is not an annotation",
	} {
		if got, err := annotation.Denied(list); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, %v, want an error with %q", list, got, err, words)
		}
	}
}

// What a cluster that comes from cloud-provider-openstack uses goes on.
func TestDenied_HasNothingOfCloudProviderOpenStackByDefault(t *testing.T) {
	t.Parallel()
	key, _ := reflect.TypeFor[config.LoadBalancer]().FieldByName("DenyAnnotations")
	denied, err := annotation.Denied(key.Tag.Get("default"))
	if err != nil || len(denied) == 0 {
		t.Fatalf("denied are %v, %v", denied, err)
	}
	for _, name := range theirs() {
		if slices.Contains(denied, name) || slices.Contains(denied, annotation.Prefix+name) {
			t.Errorf("%s is denied by default", name)
		}
	}
}
