package features_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/features"
)

var update = flag.Bool("update", false, "write docs/features.md anew")

// Rows are numbered without a gap, and no test proves one that is not there.
func TestFeaturesHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	rows := features.Rows()
	for i, row := range rows {
		if row.N != i+1 {
			t.Errorf("row %d has the number %d", i+1, row.N)
		}
	}
	for _, proof := range proofs(t) {
		if proof.Row < 1 || proof.Row > len(rows) {
			t.Errorf("%s in %s proves row %d, which is not there", proof.Test, proof.Folder, proof.Row)
		}
	}
}

func TestFeaturesDocumentSaysWhatTestsProve(t *testing.T) {
	t.Parallel()
	const path = "../../docs/features.md"
	want := features.Document(features.Rows(), proofs(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("docs/features.md is not what the tests say: run `make generate` (-want +have):\n%s", diff)
	}
}

func proofs(t *testing.T) []features.Proof {
	t.Helper()
	found, err := features.Proofs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return found
}
