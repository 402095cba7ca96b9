package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//proves:102
func TestTracing_IsOffWithoutFileAndRefusesBadOnes(t *testing.T) {
	t.Parallel()
	const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
	for name, c := range map[string]struct {
		file, refused string
		records       bool
	}{
		"none":               {},
		"an endpoint":        {file: header + "endpoint: 127.0.0.1:4317\nsamplingRatePerMillion: 100\n", records: true},
		"too many":           {file: header + "samplingRatePerMillion: 2000000\n", refused: "samplingRatePerMillion"},
		"another kind":       {file: "apiVersion: v1\nkind: Secret\n", refused: "Secret"},
		"an unknown setting": {file: header + "endpont: 127.0.0.1:4317\n", refused: "endpont"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{ctx: t.Context()}
			if c.file != "" {
				p.tracing = filepath.Join(t.TempDir(), "tracing.yaml")
				if err := os.WriteFile(p.tracing, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			provider, stop, err := p.startTracing()
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "--"+tracingFlag) {
					t.Errorf("got %v, want an error that names %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			stop(t.Context())
			if (provider != nil) != c.records {
				t.Errorf("it records with %v", provider)
			}
		})
	}
}
