package model_test

import (
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
