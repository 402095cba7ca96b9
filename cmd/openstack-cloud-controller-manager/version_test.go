package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/monitoring"
)

func TestBuild_PrefersWhatWasLinked(t *testing.T) {
	t.Parallel()
	repository := &debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.0.0-20260101000000-0123456789ab"},
		Deps:     []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: "k8s.io/cloud-provider", Version: "v0.36.3"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}
	replaced := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"},
		Deps: []*debug.Module{{Path: "k8s.io/cloud-provider", Version: "v0.36.3", Replace: &debug.Module{Version: "v0.36.4"}}}}
	for _, test := range []struct {
		info            *debug.BuildInfo
		version, commit string
		want            string
	}{
		{repository, "v1.2.3", "fedcba", "v1.2.3 (commit fedcba, go1.26.0, Kubernetes libraries v0.36.3)"},
		{repository, "", "", "v0.0.0-20260101000000-0123456789ab (commit 0123456789abcdef-dirty, go1.26.0, Kubernetes libraries v0.36.3)"},
		{replaced, "", "", "devel (commit unknown, go1.26.0, Kubernetes libraries v0.36.4)"},
	} {
		if got := buildOf(test.info, test.version, test.commit).String(); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}

func TestBuild_MetricHasOurVersion(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(build{"v1.2.3", "fedcba", "go1.26.0", "v0.36.3"}.metric())
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	var text strings.Builder
	for _, label := range families[0].GetMetric()[0].GetLabel() {
		text.WriteString(label.GetName() + "=" + label.GetValue() + " ")
	}
	if got := families[0].GetName() + " " + text.String(); !strings.HasPrefix(got, "kubernetes_build_info build_date= compiler=gc git_commit=fedcba git_tree_state= git_version=v1.2.3 go_version=go1.26.0 major=1 minor=36 platform=") {
		t.Errorf("got %s", got)
	}
}

// docs/metrics.md also has the metrics that the program registers itself.
//
//proves:99
func TestBuild_MetricsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	documented, err := monitoring.Registrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []*metrics.GaugeVec{build{}.metric(), build{}.ownMetric()} {
		got, err := monitoring.Describe(metric)
		if diff := cmp.Diff(documented[got.Name], got); diff != "" || err != nil {
			t.Errorf("%v (-documented +registered):\n%s", err, diff)
		}
	}
}
