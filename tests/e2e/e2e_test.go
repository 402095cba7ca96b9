package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/e2e"
)

//proves:97,103,116
func TestSuite_SucceedsOnSimulator(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			cloud, err := e2e.StartSimulator(t.Context(), t.Logf)
			if err != nil {
				t.Fatal(err)
			}
			suite(t, cloud, provider)
		})
	}
}

// A machine with other work has failed scenarios that only took long: each request to Octavia
// took 12 to 34 seconds. What takes longer here than a standstill may is still waited for.
func TestSuite_WaitsForSlowCloud(t *testing.T) {
	t.Parallel()
	cloud, err := e2e.StartSlowSimulator(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	environment := start(t, cloud, "ovn")
	e2e.Run(t, environment, "Life", "ManyProtocols", "ManyServicesAtOnce", "HundredNodes")
	if took := environment.LongestWait(); took < cloud.Patience().Standstill {
		t.Errorf("the longest wait took %s, which is no longer than a standstill: this proves nothing", took)
	}
}

// TestSuite_SucceedsOnLocalOpenStack needs the OpenStack of make e2e-up, which it finds by
// E2E_STATE.
//
//proves:118,145
func TestSuite_SucceedsOnLocalOpenStack(t *testing.T) {
	state := os.Getenv("E2E_STATE")
	if state == "" {
		t.Skip("E2E_STATE is not set: see make e2e")
	}
	local, err := e2e.OpenLocal(t.Context(), filepath.Join(sources(t), "openstack"), state, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range []string{"ovn", "amphora"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			cloud, err := local.Tenant(t.Context(), provider)
			if err != nil {
				t.Fatal(err)
			}
			suite(t, cloud, provider)
		})
	}
}

// TestSuite_SucceedsWithRealAmphorae needs the OpenStack of make e2e-amphora or make e2e-amphora-udp. Each load
// balancer is a machine there, and none may be left at the end.
//
//proves:146
func TestSuite_SucceedsWithRealAmphorae(t *testing.T) {
	state := os.Getenv("E2E_STATE")
	scenarios := map[string][]string{"real": e2e.WithRealAmphorae(), "tcg": e2e.WithEmulatedAmphorae()}[os.Getenv("AMPHORA")]
	if state == "" || scenarios == nil {
		t.Skip("AMPHORA is not real: see make e2e-amphora")
	}
	local, err := e2e.OpenLocal(t.Context(), filepath.Join(sources(t), "openstack"), state, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("amphora", func(t *testing.T) {
		cloud, err := local.Tenant(t.Context(), "amphora")
		if err != nil {
			t.Fatal(err)
		}
		e2e.Run(t, start(t, cloud, "amphora"), scenarios...)
		left, err := local.Amphorae()
		if err != nil || len(left) > 0 {
			t.Errorf("machines of amphorae are left: %v, error %v", left, err)
		}
	})
}

// TestRepeat_RecordsLocalOpenStack repeats the recorded exchanges of Zed on the OpenStack of make
// e2e-up, and writes those with its answers into the directory that E2E_REPEAT names.
func TestRepeat_RecordsLocalOpenStack(t *testing.T) {
	directory := os.Getenv("E2E_REPEAT")
	if directory == "" {
		t.Skip("E2E_REPEAT is not set: see docs/internals/testing.md")
	}
	for _, provider := range []string{"ovn", "amphora"} {
		t.Run(provider, func(t *testing.T) {
			local, err := e2e.OpenLocal(t.Context(), filepath.Join(sources(t), "openstack"), os.Getenv("E2E_STATE"), t.Logf)
			if err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join("..", "simulator", "replay", "testdata", "zed", provider, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := local.Repeat(t.Context(), provider, filepath.Join(directory, provider), t.Logf, files...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// sources returns the directory of this package.
func sources(t *testing.T) string {
	t.Helper()
	directory, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

// TestSuite_SucceedsOnAnyOpenStack needs a project of an OpenStack, which it finds by E2E_CLOUD in
// clouds.yaml.
//
//proves:118
func TestSuite_SucceedsOnAnyOpenStack(t *testing.T) {
	place := e2e.Place{
		Cloud: os.Getenv("E2E_CLOUD"), Network: os.Getenv("E2E_NETWORK"), Flavor: os.Getenv("E2E_FLAVOR"),
		Image: os.Getenv("E2E_IMAGE"), Prefix: os.Getenv("E2E_PREFIX"),
	}
	if place.Cloud == "" {
		t.Skip("E2E_CLOUD is not set: see docs/internals/testing.md")
	}
	cloud, err := e2e.OpenAnywhere(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	providers, err := cloud.API().Providers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if only := os.Getenv("E2E_PROVIDER"); only != "" {
		providers = []string{only}
	}
	for _, provider := range providers {
		t.Run(provider, func(t *testing.T) { suite(t, cloud, provider) })
	}
}

func suite(t *testing.T, cloud e2e.Cloud, provider string) {
	t.Helper()
	e2e.Run(t, start(t, cloud, provider))
}

// start starts a cluster on a cloud, and ends both with the test.
func start(t *testing.T, cloud e2e.Cloud, provider string) *e2e.Environment {
	t.Helper()
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	environment, err := e2e.Start(t.Context(), cloud, provider, recorder(t, cloud, provider), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return environment
}

// recorder writes into the directory that E2E_RECORD names, if it does, once the
// suite is over.
func recorder(t *testing.T, cloud e2e.Cloud, provider string) *e2e.Recorder {
	t.Helper()
	directory := os.Getenv("E2E_RECORD")
	if directory == "" {
		return nil
	}
	r, err := e2e.StartRecorder(t.Context(), cloud.API())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(filepath.Join(directory, provider+".json")); err != nil {
			t.Error(err)
		}
	})
	return r
}
