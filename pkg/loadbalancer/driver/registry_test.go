package driver_test

import (
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
)

func TestRefuse_IsNewsOnceAndOnlyOfDriversWhoseSourceNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider string
		want     bool
	}{
		{"acme", true}, {"f5", true}, {"ovn", false}, {"amphora", false}, {"octavia", false}, {"amphorav2", false},
	} {
		r := driver.NewRegistry(driver.Settings{})
		for try, want := range []bool{test.want, false} {
			if got := r.Refuse(test.provider, driver.MemberBatches, false); got != want {
				t.Errorf("%s, refusal %d is news: %v", test.provider, try+1, got)
			}
		}
		if got := r.For(test.provider, v(30)); got.Supports(driver.MemberBatches) == test.want || !got.Supports(driver.FullCreate) {
			t.Errorf("%s: %+v", test.provider, got)
		}
		if !r.For("another", v(30)).Supports(driver.MemberBatches) {
			t.Errorf("what %s has refused counts for others", test.provider)
		}
	}
}

func TestRefuse_OnItsWayIsNewsOfAllDrivers(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"acme", "ovn", "amphora"} {
		r := driver.NewRegistry(driver.Settings{})
		if !r.Refuse(provider, driver.MemberBatches, true) || r.Refuse(provider, driver.MemberBatches, true) {
			t.Errorf("%s: the first refusal is no news, or the second is", provider)
		}
		if r.For(provider, v(30)).Supports(driver.MemberBatches) {
			t.Errorf("%s has batches, which do not get to it", provider)
		}
	}
}

func TestRetract_ForgetsOneRefusal(t *testing.T) {
	t.Parallel()
	r := driver.NewRegistry(driver.Settings{})
	r.Refuse("acme", driver.FullCreate, false)
	r.Refuse("acme", driver.MemberBatches, false)
	r.Retract("acme", driver.FullCreate)
	r.Retract("other", driver.FullCreate)
	if d := r.For("acme", v(30)); !d.Supports(driver.FullCreate) || d.Supports(driver.MemberBatches) {
		t.Errorf("%+v", d)
	}
	if !r.Refuse("acme", driver.FullCreate, false) {
		t.Error("a refusal that was retracted is no news when it comes again")
	}
}

func TestRefuseRanges_IsAQuirkOfAllDrivers(t *testing.T) {
	t.Parallel()
	r := driver.NewRegistry(driver.Settings{})
	if r.For("amphora", v(30)).Quirks.RangesBreakFullCreate {
		t.Error("nobody has seen that")
	}
	r.RefuseRanges()
	for _, provider := range []string{"amphora", "acme"} {
		if d := r.For(provider, v(30)); !d.Quirks.RangesBreakFullCreate || !d.Supports(driver.FullCreate) {
			t.Errorf("%s: %+v", provider, d)
		}
	}
}

func TestRegistry_SerialTakesFullCreatesAndBatchesFromAll(t *testing.T) {
	t.Parallel()
	r := driver.NewRegistry(driver.Settings{Serial: true})
	for _, provider := range []string{"amphora", "ovn", "acme"} {
		if d := r.For(provider, v(30)); d.Supports(driver.FullCreate) || d.Supports(driver.MemberBatches) {
			t.Errorf("%s: %+v", provider, d)
		}
	}
}

// timings returns those of two drivers that differ.
func timings() (amphora, ovn driver.Timing) {
	r := driver.NewRegistry(driver.Settings{})
	return r.Timing("amphora"), r.Timing("ovn")
}

func TestTiming_IsTheOneGivenOrThatOfTheDriver(t *testing.T) {
	t.Parallel()
	given := driver.Timing{ChildInterval: time.Hour}
	amphora, ovn := timings()
	for _, test := range []struct {
		settings driver.Settings
		provider string
		want     driver.Timing
	}{
		{driver.Settings{}, "", amphora},
		{driver.Settings{DefaultProvider: "ovn"}, "", ovn},
		{driver.Settings{DefaultProvider: "ovn"}, "amphora", amphora},
		{driver.Settings{DefaultProvider: "ovn", Timing: given}, "", given},
		{driver.Settings{Timing: given}, "ovn", given},
	} {
		r := driver.NewRegistry(test.settings)
		if got := r.Timing(test.provider); got != test.want {
			t.Errorf("%+v, provider %q: %+v", test.settings, test.provider, got)
		}
	}
}

func TestSetDefault_DecidesWhereNoProviderIsNamed(t *testing.T) {
	t.Parallel()
	amphora, ovn := timings()
	r := driver.NewRegistry(driver.Settings{DefaultProvider: "amphora"})
	r.SetDefault("ovn")
	if r.Timing("") != ovn || r.Timing("amphora") != amphora {
		t.Errorf("after a change to ovn: %+v, of amphora %+v", r.Timing(""), r.Timing("amphora"))
	}
	given := driver.Timing{ChildInterval: time.Hour}
	r = driver.NewRegistry(driver.Settings{Timing: given})
	if r.SetDefault("ovn"); r.Timing("") != given {
		t.Errorf("the operator's timing is replaced by %+v", r.Timing(""))
	}
}

// Each feature is refused by itself, by a provider under the name that refused it.
func TestRefuse_ConcernsOneFeatureOfOneProvider(t *testing.T) {
	t.Parallel()
	all := []driver.Feature{driver.FullCreate, driver.MemberBatches, driver.Failover, driver.TLS, driver.Weights}
	for _, refused := range all {
		r := driver.NewRegistry(driver.Settings{})
		r.Retract("acme", refused) // of what was not refused
		if !r.Refuse("acme", refused, false) {
			t.Errorf("%s: the first refusal is no news", refused)
		}
		for _, f := range all {
			if got := r.For("acme", v(30)).Supports(f); got != (f != refused) {
				t.Errorf("after a refusal of %s, %s: %v", refused, f, got)
			}
			if !r.For("other", v(30)).Supports(f) {
				t.Errorf("after a refusal of %s, another provider lacks %s", refused, f)
			}
		}
		r.Retract("acme", refused)
		if d := r.For("acme", v(30)); !d.Supports(refused) {
			t.Errorf("after it was retracted: %q", d.Lacks(refused))
		}
	}
}

func TestRegistry_MayBeUsedAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := driver.NewRegistry(driver.Settings{})
	news := make(chan bool, 50)
	var all sync.WaitGroup
	for range cap(news) {
		all.Go(func() {
			news <- r.Refuse("acme", driver.FullCreate, false)
			r.RefuseRanges()
			if r.For("acme", v(30)).Supports(driver.FullCreate) {
				t.Error("what was refused is supported")
			}
		})
	}
	all.Wait()
	close(news)
	first := 0
	for is := range news {
		if is {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d refusals are news, want the first", first)
	}
}

// Drivers are looked up several times for each Service: the tables are made once.
func TestFor_DoesNotAllocate(t *testing.T) {
	r := driver.NewRegistry(driver.Settings{DefaultProvider: "ovn"})
	r.Refuse("acme", driver.FullCreate, false)
	for _, provider := range []string{"amphora", "ovn", "acme"} {
		supports := false
		if n := testing.AllocsPerRun(100, func() { supports = r.For(provider, v(30)).Supports(driver.TLS) }); n > 0 {
			t.Errorf("%s: %v allocations (supports TLS: %v)", provider, n, supports)
		}
	}
}
