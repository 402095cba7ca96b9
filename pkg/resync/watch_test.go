package resync

import (
	"errors"
	"testing"
	"time"

	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

func TestWatchState_FollowsAnswersAndRefusals(t *testing.T) {
	t.Parallel()
	refusal, outage := apierrors.NewForbidden(discovery.Resource("endpointslices"), "", errors.New("no")), errors.New("connection refused")
	const almost = endpointPatience - time.Second
	// event is an answer, or the end of a watch with an error.
	type event struct {
		at  time.Duration
		err error // nil: an answer
		// reported is set if the change affects all Services.
		reported bool
	}
	for name, test := range map[string]struct {
		events  []event
		at      time.Duration
		state   settings.Watch
		pending bool
	}{
		"it starts":                       {nil, almost, settings.Watched, true},
		"nothing comes":                   {nil, endpointPatience, settings.Watched, false},
		"an answer":                       {[]event{{almost, nil, false}}, almost, settings.Watched, false},
		"a late answer":                   {[]event{{endpointPatience, nil, true}}, endpointPatience, settings.Watched, false},
		"a later answer":                  {[]event{{almost, nil, false}, {time.Minute, nil, false}}, time.Minute, settings.Watched, false},
		"a refusal":                       {[]event{{time.Second, refusal, false}}, almost, settings.Watched, true},
		"a refusal, some time ago":        {[]event{{time.Second, refusal, false}}, time.Second + endpointPatience, settings.Forbidden, false},
		"refusals for a short time":       {[]event{{time.Second, refusal, false}, {endpointPatience, refusal, false}}, endpointPatience, settings.Watched, false},
		"refusals for long":               {[]event{{0, refusal, false}, {endpointPatience, refusal, true}, {time.Minute, refusal, false}}, time.Minute, settings.Forbidden, false},
		"an outage between refusals":      {[]event{{0, refusal, false}, {time.Second, outage, false}, {endpointPatience, refusal, false}}, endpointPatience, settings.Watched, false},
		"an outage after refusals":        {[]event{{0, refusal, false}, {endpointPatience, refusal, true}, {time.Minute, outage, false}}, time.Minute, settings.Forbidden, false},
		"an answer after refusals":        {[]event{{0, refusal, false}, {endpointPatience, refusal, true}, {time.Minute, nil, true}}, time.Minute, settings.Watched, false},
		"a refusal after an answer":       {[]event{{0, nil, false}, {time.Minute, refusal, false}}, 2 * time.Minute, settings.Watched, false},
		"refusals after an answer":        {[]event{{0, nil, false}, {time.Minute, refusal, false}, {2 * time.Minute, refusal, true}}, 2 * time.Minute, settings.Forbidden, false},
		"a refusal, an answer, a refusal": {[]event{{0, refusal, false}, {time.Second, nil, false}, {time.Minute, refusal, false}}, time.Minute, settings.Watched, false},
	} {
		begin := time.Unix(1_800_000_000, 0)
		s := watchState{began: begin}
		for _, e := range test.events {
			var reported bool
			if e.err == nil {
				reported = s.answered(begin.Add(e.at))
			} else {
				_, reported = s.failed(e.err, begin.Add(e.at))
			}
			if reported != e.reported {
				t.Errorf("%s: after %s reported: %v", name, e.at, reported)
			}
		}
		if state, pending := s.at(begin.Add(test.at)); state != test.state || pending != test.pending {
			t.Errorf("%s: %v, pending %v, want %v, %v", name, state, pending, test.state, test.pending)
		}
	}
}

// A refusal for good is retried after a longer delay than another error.
func TestWatchState_IsForbiddenOnlyWhileRefused(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_800_000_000, 0)
	refusal, outage := apierrors.NewForbidden(discovery.Resource("endpointslices"), "", errors.New("no")), errors.New("connection refused")
	s := watchState{began: begin}
	for _, step := range []struct {
		at        time.Duration
		err       error
		forbidden bool
	}{
		{0, refusal, false},
		{endpointPatience, refusal, true},
		{2 * endpointPatience, outage, false},
		{3 * endpointPatience, refusal, true},
	} {
		if forbidden, _ := s.failed(step.err, begin.Add(step.at)); forbidden != step.forbidden {
			t.Errorf("after %s: forbidden %v", step.at, forbidden)
		}
	}
}
