package replay_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/replay"
)

// The simulator answers every request of the sequences that were recorded from
// Octavia's own API process as that did, release by release.
//
//proves:117
func TestSimulator_AnswersLikeRecordedReleases(t *testing.T) {
	t.Parallel()
	for dir, count := range map[string]int{"zed": 235, "2024.1": 257, "2026.1": 257, "2026.2-dev": 257} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			replayed(t, strings.TrimSuffix(dir, "-dev"), filepath.Join("testdata", "golden", dir, "*.jsonl"), count)
		})
	}
}

// The simulator answers every request of the exchanges with a whole control plane as that of the same
// release did, also while something is pending. The exchange with quotas is not repeated with the amphora
// of 2025.1: its counter of members had become negative by the deletions before.
func TestSimulator_AnswersLikeRecordedControlPlane(t *testing.T) {
	t.Parallel()
	for release, counts := range map[string]map[string]int{
		"zed":    {"amphora": 300, "ovn": 216},
		"2025.1": {"amphora": 284, "ovn": 216},
	} {
		for provider, count := range counts {
			t.Run(release+" "+provider, func(t *testing.T) {
				t.Parallel()
				replayed(t, release, filepath.Join("testdata", release, provider, "*.json"), count)
			})
		}
	}
}

// The simulator answers the cloud controller manager itself as the control plane of
// Zed did, while Services came, changed and went (E2E_RECORD, docs/internals/testing.md).
func TestSimulator_AnswersLikeRecordedLives(t *testing.T) {
	t.Parallel()
	for provider, count := range map[string]int{"amphora": 52, "ovn": 51} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			replayed(t, "zed", filepath.Join("testdata", "life", provider, "*.json"), count)
		})
	}
}

// Corner cases that were recorded besides: lists, L7, providers, wrong types.
func TestSimulator_AnswersLikeRecordedCornerCases(t *testing.T) {
	t.Parallel()
	replayed(t, "zed", filepath.Join("testdata", "corners", "zed", "*.jsonl"), 900)
}

// replayed wants all of the files to pass, with so many requests at least.
func replayed(t *testing.T, release, pattern string, atLeast int) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("recordings %v, error %v", files, err)
	}
	result, err := replay.Files(release, files...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Failed > 0 || result.Passed < atLeast {
		var text strings.Builder
		if err := result.Print(&text); err != nil {
			t.Fatal(err)
		}
		t.Error(text.String())
	}
}

func TestExceptions_AreFewAndReasoned(t *testing.T) {
	t.Parallel()
	all := replay.Exceptions()
	if len(all) > 15 {
		t.Errorf("%d exceptions", len(all))
	}
	for _, e := range all {
		if e.Reason == "" {
			t.Errorf("no reason for %+v", e)
		}
	}
}
