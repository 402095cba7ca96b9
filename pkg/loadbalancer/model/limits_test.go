package model_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestLimitChanges_OmitLimitsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	unasked := func(v int) model.Limit { return model.Limit{Value: v} }
	asked := func(v int) model.Limit { return model.Limit{Value: v, Asked: true} }
	for _, test := range []struct {
		have, want model.Limit
		changes    string
	}{
		{unasked(5), model.Limit{}, ""},
		{unasked(5), asked(5), ""},
		{unasked(5), asked(6), "5 → 6"},
		{asked(5), asked(5), ""},
		{asked(5), asked(0), "5 → 0"},
		{asked(5), model.Limit{}, "5 → default"},
		{unasked(model.UnknownLimit), model.Limit{}, ""},
		{unasked(model.UnknownLimit), asked(0), "default → 0"},
	} {
		changes := model.LimitChanges(model.Limits{ConnectionLimit: test.have}, model.Limits{ConnectionLimit: test.want})
		got := ""
		for _, c := range changes {
			got += c.From.String() + " → " + c.To.String()
		}
		if got != test.changes {
			t.Errorf("from %+v to %+v: %q, want %q", test.have, test.want, got, test.changes)
		}
	}
}

func TestLimits_MarkWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	limits := model.Limits{TimeoutClientData: model.Limit{Value: 1, Asked: true}, ConnectionLimit: model.Limit{Value: 2, Asked: true}}
	const text = "Set by Kubernetes: connection_limit, timeout_client_data"
	if got := limits.Mark(); got != text {
		t.Errorf("%q, want %q", got, text)
	}
	var read model.Limits
	if !read.ReadMark(text) || !read.ConnectionLimit.Asked || !read.TimeoutClientData.Asked || read.TimeoutMemberData.Asked {
		t.Errorf("read %+v", read)
	}
	if none := (model.Limits{}); none.Any() || !read.ReadMark(none.Mark()) || read.Any() {
		t.Errorf("of none: %q is read as %+v", none.Mark(), read)
	}
	if read.ReadMark("web of shop/web") {
		t.Error("another's text is taken for a mark")
	}
	if diff := cmp.Diff(model.UnknownLimit, limits.Settled().TimeoutMemberData.Value); diff != "" {
		t.Error(diff)
	}
}

func TestLimits_AskForAllThatAreNotStock(t *testing.T) {
	t.Parallel()
	stock := model.Limits{
		ConnectionLimit: model.Limit{Value: -1}, TimeoutClientData: model.Limit{Value: 50000}, TimeoutMemberConnect: model.Limit{Value: 5000},
		TimeoutMemberData: model.Limit{Value: 50000}, TimeoutTCPInspect: model.Limit{Value: 0},
	}
	names := []string{"connection_limit", "timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"}
	none := stock
	if none.AskUnlessStock(); none.Any() {
		t.Errorf("stock limits are requested: %+v", none)
	}
	for _, name := range names {
		limits := stock
		limits.Get(name).Value = 7
		limits.AskUnlessStock()
		if want := "Set by Kubernetes: " + name; limits.Mark() != want || !limits.Any() {
			t.Errorf("%q, want %q", limits.Mark(), want)
		}
		changes := model.LimitChanges(stock, limits)
		if len(changes) != 1 || changes[0].Name != name || changes[0].To != (model.Limit{Value: 7, Asked: true}) {
			t.Errorf("%s: changes %+v", name, changes)
		}
		settled := limits.Settled()
		for known, limit := range settled.Named {
			if want := map[bool]int{true: 7, false: model.UnknownLimit}[known == name]; limit.Value != want {
				t.Errorf("%s is settled: %s is %d, want %d", name, known, limit.Value, want)
			}
		}
	}
	var all []string
	for name := range stock.Named {
		all = append(all, name)
	}
	if diff := cmp.Diff(names, all); diff != "" || stock.Get("other") != nil {
		t.Errorf("named: %s, another is %v", diff, stock.Get("other"))
	}
	for range stock.Named { // a range may end early
		break
	}
}

// A description is the only memory of which limits were requested.
func TestLimits_AreReadFromTheMarkOfEverySelection(t *testing.T) {
	t.Parallel()
	names := []string{model.ConnectionLimit, model.TimeoutClientData, model.TimeoutMemberConnect, model.TimeoutMemberData, model.TimeoutTCPInspect}
	for selection := range 1 << len(names) {
		var limits model.Limits
		for i, name := range names {
			*limits.Get(name) = model.Limit{Value: i, Asked: selection>>i&1 == 1}
		}
		read := limits
		for _, limit := range read.Named {
			limit.Asked = !limit.Asked
		}
		if !read.ReadMark(limits.Mark()) || read != limits {
			t.Errorf("%q is read as %+v, want %+v", limits.Mark(), read, limits)
		}
		if limits.Any() != (selection != 0) {
			t.Errorf("%q: any: %v", limits.Mark(), limits.Any())
		}
	}
	for _, foreign := range []string{"", "connection_limit", " Set by Kubernetes: connection_limit", "set by Kubernetes: connection_limit"} {
		read := model.Limits{ConnectionLimit: model.Limit{Asked: true}}
		if read.ReadMark(foreign) || read.Any() {
			t.Errorf("%q is read as a mark: %+v", foreign, read)
		}
	}
}

// For any load balancer: after a request, the same request changes nothing, and none resets only the requested settings.
func TestLimitChanges_EndWithTheirRequest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	some := func() (limits model.Limits) {
		for _, limit := range limits.Named {
			*limit = model.Limit{Value: random.IntN(3), Asked: random.IntN(2) == 0}
		}
		return limits
	}
	for range 300 {
		from, to := some(), some()
		after := from
		for _, change := range model.LimitChanges(from, to) {
			if change.From != *from.Get(change.Name) || change.To.Asked != to.Get(change.Name).Asked || change.To == change.From {
				t.Errorf("%+v is not a change from %+v to %+v", change, from, to)
			}
			*after.Get(change.Name) = change.To
		}
		for name, limit := range after.Named {
			if want := to.Get(name); limit.Asked && !want.Asked || want.Asked && limit.Value != want.Value {
				t.Errorf("from %+v to %+v: %s is %+v", from, to, name, limit)
			}
		}
		if again := model.LimitChanges(to.Settled(), to); len(again) > 0 {
			t.Errorf("after %+v was sent, it still changes %+v", to, again)
		}
		for _, reset := range model.LimitChanges(from, model.Limits{}) {
			if !from.Get(reset.Name).Asked || reset.To != (model.Limit{Value: model.UnknownLimit}) {
				t.Errorf("without a request, %+v", reset)
			}
		}
	}
}
