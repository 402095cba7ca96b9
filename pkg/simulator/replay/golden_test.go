package replay_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/replay"
)

// The simulator answers every request of the sequences that were recorded from
// Octavia's own API process as that did, release by release.
func TestSimulatorAnswersAsTheRecordedReleases(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"zed", "2024.1", "2026.1", "2026.2-dev"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join("testdata", "golden", dir, "*.jsonl"))
			if err != nil || len(files) < 3 {
				t.Fatalf("recordings %v, error %v", files, err)
			}
			result, err := replay.Files(strings.TrimSuffix(dir, "-dev"), files...)
			if err != nil {
				t.Fatal(err)
			}
			if result.Failed > 0 || result.Passed == 0 {
				var text strings.Builder
				if err := result.Print(&text); err != nil {
					t.Fatal(err)
				}
				t.Error(text.String())
			}
		})
	}
}

func TestExceptionsAreFewAndReasoned(t *testing.T) {
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
