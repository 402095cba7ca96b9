package settings_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// TestParse_AllocatesInProportionToService reads Services that say N things, and
// twice as many: nothing may cost four times as much. It counts bytes, which what joins
// texts one by one takes by the square; it is not parallel, as the count is of the process.
func TestParse_AllocatesInProportionToService(t *testing.T) {
	const n = 1000
	list := func(each func(i int) string) func(int) string {
		return func(n int) string {
			var all []string
			for i := range n {
				all = append(all, each(i))
			}
			return strings.Join(all, ",")
		}
	}
	pairs := list(func(i int) string { return fmt.Sprintf("%04d=TCP", i) })
	ranges := list(func(i int) string { return fmt.Sprintf("10.%d.%d.1/32", i/256, i%256) })
	parser, err := settings.NewParser(fixture.Config())
	if err != nil {
		t.Fatal(err)
	}
	for what, build := range map[string]func(n int) *v1.Service{
		"source ranges of the other family": func(n int) *v1.Service {
			svc := fixture.Service()
			for i := range n {
				svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("2001:db8:%x::/48", i))
			}
			return svc
		},
		"source ranges": func(n int) *v1.Service { return fixture.Service(fixture.Annotated(annotation.SourceRanges, ranges(n))) },
		"protocols":     func(n int) *v1.Service { return fixture.Service(fixture.Annotated(annotation.Protocols, pairs(n))) },
		"unknown annotations": func(n int) *v1.Service {
			svc := fixture.Service()
			for i := range n {
				svc.Annotations[fmt.Sprintf("%sx%d", annotation.Prefix, i)] = ""
			}
			return svc
		},
		"ports": func(n int) *v1.Service {
			svc := fixture.Service(fixture.Ports())
			for i := range n {
				svc.Spec.Ports = append(svc.Spec.Ports, fixture.Port(v1.ProtocolTCP, int32(i+1)))
			}
			return svc
		},
	} {
		bytes := func(svc *v1.Service) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, _, errs := parser.Parse(svc)
			_ = message.Invalid(append(errs, s.For(fixture.Amphora()).Validate()...))
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if once, twice := bytes(build(n)), bytes(build(2*n)); twice > 3*once {
			t.Errorf("%d %s take %d bytes, %d take %d", n, what, once, 2*n, twice)
		}
	}
}

func TestParse_RefusesOverlongAnnotations(t *testing.T) {
	t.Parallel()
	for _, a := range annotation.Table() {
		if a.Change == annotation.Written {
			continue
		}
		_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(a.Name, strings.Repeat("0001=TCP,", 20000))), fixture.Config())
		fixture.AssertRefused(t, errs, a.Name, "180000 bytes", "at most")
		if len(errs[0].Error()) > 400 {
			t.Errorf("an error of %d bytes: %s", len(errs[0].Error()), errs[0].Error())
		}
	}
}

// It is not parallel, as the count of allocations is of the process.
func TestSelectsNodes_ReadsOneAnnotationOnly(t *testing.T) {
	parser, err := settings.NewParser(fixture.Config())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"pool=web": true, "": false, " ": false, strings.Repeat("x", 2000): false} {
		if got := parser.SelectsNodes(fixture.Service(fixture.Annotated(annotation.NodeSelector, text))); got != want {
			t.Errorf("selector %q: %v", text, got)
		}
	}
	svc := fixture.Service(fixture.Annotated(annotation.Protocols, strings.Repeat("0001=TCP,", 2000)))
	if effort := testing.AllocsPerRun(10, func() { parser.SelectsNodes(svc) }); effort > 0 {
		t.Errorf("%v allocations to know that no label matters", effort)
	}
}
