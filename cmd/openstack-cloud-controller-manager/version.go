package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/component-base/metrics"
)

// version and commit are set when a release is linked (-ldflags "-X main.version=v1.2.3 -X
// main.commit=…").
var version, commit string

// kubernetesLibrary is one of the Kubernetes libraries, which all have one version:
// v0.37.2 is that of Kubernetes 1.37.2.
const kubernetesLibrary = "k8s.io/cloud-provider"

// build describes the sources of a program.
type build struct {
	version, commit, toolchain, libraries string
}

// thisBuild returns the values of link time, otherwise those that the Go toolchain has recorded of
// the module and its repository.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, version, commit)
}

func buildOf(info *debug.BuildInfo, version, commit string) build {
	b := build{
		// In a User-Agent, parentheses, as in the toolchain's "(devel)", are comments.
		version:   cmp.Or(version, strings.Trim(info.Main.Version, "()"), "unknown"),
		commit:    cmp.Or(commit, repositoryCommit(info), "unknown"),
		toolchain: cmp.Or(info.GoVersion, runtime.Version()),
		libraries: "unknown",
	}
	for _, module := range info.Deps {
		if module.Path == kubernetesLibrary {
			if module.Replace != nil {
				module = module.Replace
			}
			b.libraries = module.Version
		}
	}
	return b
}

func repositoryCommit(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	found := settings["vcs.revision"]
	if found != "" && settings["vcs.modified"] == "true" {
		found += "-dirty"
	}
	return found
}

// String returns all values, the version first.
func (b build) String() string {
	return fmt.Sprintf("%s (commit %s, %s, Kubernetes libraries %s)", b.version, b.commit, b.toolchain, b.libraries)
}

// ownMetric returns the same as a metric of our own.
func (b build) ownMetric() *metrics.GaugeVec {
	info := metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "cloudprovider_openstack_build_info",
		Help:           "1, labeled by version and commit of this program, the Go toolchain that built it, and the Kubernetes libraries in it.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"version", "commit", "goversion", "kubernetes_libraries"})
	info.Create(nil)
	info.WithLabelValues(b.version, b.commit, b.toolchain, b.libraries).Set(1)
	return info
}

// metric returns kubernetes_build_info, which all components of Kubernetes have, with our version
// and commit. That of component-base cannot be used: its variables also select the release of the
// feature gates.
func (b build) metric() *metrics.GaugeVec {
	libraries := strings.Split(b.libraries, ".") // v0.37.2 are those of Kubernetes 1.37.2
	minor := ""
	if len(libraries) == 3 {
		minor = libraries[1]
	}
	info := metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "kubernetes_build_info",
		Help: "A metric with a constant '1' value, labeled by major and minor release of the Kubernetes libraries, " +
			"version and commit of this program, Go version, compiler and platform.",
		StabilityLevel: metrics.BETA,
	}, []string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"})
	info.Create(nil)
	info.WithLabelValues("1", minor, b.version, b.commit, "", "", b.toolchain, runtime.Compiler, runtime.GOOS+"/"+runtime.GOARCH).Set(1)
	return info
}
