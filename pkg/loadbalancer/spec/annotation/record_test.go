package annotation_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func TestRecord_ChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	record := annotation.Record{Service: "uid", LoadBalancerID: "lb", Address: "203.0.113.9"}
	named := record
	named.Named = "lb"
	shared := record
	shared.Share = "edge"
	left := annotation.Record{Service: "uid", Left: true}
	type annotations = map[string]string
	all := annotations{annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9"}
	removed := annotations{annotation.WrittenFor: "", annotation.LoadBalancerID: "", annotation.LoadBalancerAddress: ""}
	for name, test := range map[string]struct {
		record        annotation.Record
		current, want annotations
	}{
		"nothing is there yet": {record, nil, all},
		"all is there":         {record, all, annotations{}},
		"another address": {record, annotations{
			annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.1",
		}, annotations{annotation.LoadBalancerAddress: "203.0.113.9"}},
		"the user names another load balancer by now": {record, annotations{
			annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "another", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{}},
		"a copy of another Service": {record, annotations{
			annotation.WrittenFor: "theirs other", annotation.LoadBalancerID: "theirs", annotation.LoadBalancerAddress: "203.0.113.1",
		}, all},
		"the user named it all along": {named, annotations{
			annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{annotation.WrittenFor: "lb uid"}},
		"it shares the load balancer by name": {shared, annotations{
			annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{annotation.WrittenFor: "lb uid edge"}},
		"it does not share it any more": {record, annotations{
			annotation.WrittenFor: "lb uid edge", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "lb"}},
		"the user named it, and names none by now": {named, annotations{
			annotation.WrittenFor: "lb uid", annotation.LoadBalancerAddress: "203.0.113.9",
		}, annotations{}},
		"it has left the load balancer":                       {left, all, removed},
		"it has left it, and the user named another since":    {left, annotations{annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "another"}, annotations{annotation.WrittenFor: ""}},
		"it has left one that it shared by name":              {left, annotations{annotation.WrittenFor: "lb uid edge", annotation.LoadBalancerAddress: "203.0.113.9"}, annotations{annotation.WrittenFor: "", annotation.LoadBalancerAddress: ""}},
		"it has left it, and nothing was written for it":      {left, annotations{annotation.LoadBalancerID: "lb"}, annotations{}},
		"it has left it, and is a copy of a Service that has": {left, annotations{annotation.WrittenFor: "lb other", annotation.LoadBalancerID: "lb"}, annotations{}},
	} {
		got := annotations{}
		for name, value := range test.record.Changes(test.current) {
			if got[name] = ""; value != nil { // "" is never written
				got[name] = *value
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestIsCopied_TellsACopyByWhatWasWrittenForAnotherService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing written":                {nil, false},
		"for this one":                   {map[string]string{annotation.WrittenFor: "lb uid"}, false},
		"for another":                    {map[string]string{annotation.WrittenFor: "lb other"}, true},
		"for another, and changed since": {map[string]string{annotation.WrittenFor: "before other"}, false},
	} {
		if got := annotation.IsCopied(test.annotations, "lb", "uid"); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIsWritten_KnowsWhatTheControllerHasWritten(t *testing.T) {
	t.Parallel()
	type annotations = map[string]string
	all := annotations{annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9", "other": "a"}
	with := func(name, value string) annotations {
		changed := maps.Clone(all)
		changed[name] = value
		return changed
	}
	for name, test := range map[string]struct {
		before, now annotations
		want        bool
	}{
		"all at once":                             {annotations{"other": "a"}, all, true},
		"none before":                             {nil, annotations{annotation.WrittenFor: "lb uid", annotation.LoadBalancerID: "lb"}, true},
		"after cloud-provider-openstack":          {annotations{annotation.LoadBalancerID: "lb", "other": "a"}, all, true},
		"for a copy of another Service":           {annotations{annotation.WrittenFor: "theirs them", annotation.LoadBalancerID: "theirs", "other": "a"}, all, true},
		"for a replaced load balancer":            {annotations{annotation.WrittenFor: "old uid", annotation.LoadBalancerID: "old", "other": "a"}, all, true},
		"nothing changes":                         {all, all, false},
		"a setting changes too":                   {annotations{"other": "b"}, all, false},
		"a setting goes":                          {with("another", "a"), all, false},
		"only a setting changes":                  {with("other", "b"), all, false},
		"the user names another load balancer":    {all, with(annotation.LoadBalancerID, "another"), false},
		"the user named another one meanwhile":    {annotations{"other": "a"}, with(annotation.LoadBalancerID, "another"), false},
		"the user names it again":                 {with(annotation.LoadBalancerID, "another"), all, false},
		"for another load balancer than is known": {annotations{"other": "a"}, with(annotation.WrittenFor, "another uid"), false},
		"for another Service":                     {annotations{"other": "a"}, with(annotation.WrittenFor, "lb another"), false},
		"the user takes it away":                  {all, annotations{"other": "a"}, false},
		"for one that it shares by name":          {annotations{annotation.Share: "edge"}, annotations{annotation.Share: "edge", annotation.WrittenFor: "lb uid edge"}, true},
		"it begins to share":                      {all, annotations{annotation.WrittenFor: "lb uid edge", annotation.LoadBalancerID: "lb", "other": "a"}, true},
		"it shares, and the user names another":   {all, annotations{annotation.WrittenFor: "lb uid edge", annotation.LoadBalancerID: "another", "other": "a"}, false},
	} {
		before, now := maps.Clone(test.before), maps.Clone(test.now)
		if got := annotation.IsWritten(before, now, "uid", "lb"); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
		if !maps.Equal(before, test.before) || !maps.Equal(now, test.now) {
			t.Errorf("%s: the annotations are changed", name)
		}
	}
}
