package annotation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

func TestRecord_ChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	record := annotation.Record{Fingerprint: "print", LoadBalancerID: "lb", Address: "203.0.113.9"}
	type annotations = map[string]string
	for name, test := range map[string]struct {
		record        annotation.Record
		current, want annotations
	}{
		"nothing is there yet": {record, nil, annotations{
			annotation.Fingerprint: "print", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9",
		}},
		"all is there": {record, annotations{
			annotation.Fingerprint: "print", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{}},
		"an older fingerprint": {record, annotations{
			annotation.Fingerprint: "older", annotation.LoadBalancerAddress: "203.0.113.9", annotation.LoadBalancerID: "lb",
		}, annotations{annotation.Fingerprint: "print"}},
		"no fingerprint yet, the last one stays": {annotation.Record{LoadBalancerID: "lb", Address: "203.0.113.9"}, annotations{
			annotation.Fingerprint: "older",
		}, annotations{annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9"}},
		"the user names another load balancer by now": {record, annotations{
			annotation.Fingerprint: "print", annotation.LoadBalancerID: "another", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{}},
		"the user named it all along": {annotation.Record{Fingerprint: "print", LoadBalancerID: "lb", Named: "lb"}, annotations{
			annotation.LoadBalancerID: "lb",
		}, annotations{annotation.Fingerprint: "print"}},
		"the user named it, and names none by now": {annotation.Record{Fingerprint: "print", LoadBalancerID: "lb", Named: "lb"}, nil,
			annotations{annotation.Fingerprint: "print"}},
	} {
		if diff := cmp.Diff(test.want, test.record.Changes(test.current)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
