// Package chart renders, checks and packs the Helm chart in manifests/chart by Helm's own
// engine, which tests/controlplane builds.
package chart

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// kubernetes is the release for which a chart is rendered that does not say another one:
// that of the libraries.
const kubernetes = "v1.37.2"

// Release is one installation of the chart.
type Release struct {
	Name, Namespace string
	// KubeVersion is the version of the cluster; empty means that of the libraries.
	KubeVersion string
	// Values is YAML, and has precedence over the chart's values.
	Values string
	// Lint asks for the messages of `helm lint` instead of the files.
	Lint bool
}

// Rendered is what became of a Release.
type Rendered struct {
	// Files are what the templates became, by their names.
	Files map[string]string
	// Messages are those of `helm lint`.
	Messages []string
	// Error is why there are no files.
	Error string
}

// Manifest returns all objects as one text.
func (r Rendered) Manifest() string {
	var documents []string
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if text := strings.TrimSpace(r.Files[name]); text != "" && filepath.Ext(name) == ".yaml" {
			documents = append(documents, strings.TrimPrefix(text, "---\n"))
		}
	}
	return strings.Join(documents, "\n---\n") + "\n"
}

// request and answer are what the engine reads and writes.
type request struct {
	Chart            string
	Releases         []Release
	Package, Version string
}

type answer struct {
	Releases []Rendered
	Package  string
}

// Render returns what `helm template` makes of the releases, in their order. The error is
// about the engine; that of a release is in Rendered.
func Render(ctx context.Context, logf func(format string, args ...any), releases ...Release) ([]Rendered, error) {
	return RenderDirectory(ctx, logf, "", releases...)
}

// RenderDirectory is Render with the chart in a directory, such as that of an unpacked release; "" is the chart
// of the sources.
func RenderDirectory(ctx context.Context, logf func(format string, args ...any), directory string, releases ...Release) ([]Rendered, error) {
	for i := range releases {
		releases[i].KubeVersion = cmp.Or(releases[i].KubeVersion, kubernetes)
	}
	given, err := ask(ctx, logf, request{Chart: directory, Releases: releases})
	return given.Releases, err
}

// Install returns the objects of one release as one text.
func Install(ctx context.Context, logf func(format string, args ...any), release Release) (string, error) {
	rendered, err := Render(ctx, logf, release)
	if err != nil {
		return "", err
	}
	if rendered[0].Error != "" {
		return "", errors.New(rendered[0].Error)
	}
	return rendered[0].Manifest(), nil
}

// Pack writes the chart as a version, such as 1.2.3, into the directory, and returns the
// path of the file.
func Pack(ctx context.Context, logf func(format string, args ...any), directory, version string) (string, error) {
	given, err := ask(ctx, logf, request{Package: directory, Version: version})
	return given.Package, err
}

func ask(ctx context.Context, logf func(format string, args ...any), asked request) (answer, error) {
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		return answer{}, err
	}
	program, err := controlplane.BuildHelm(ctx, logf)
	if err != nil {
		return answer{}, err
	}
	asked.Chart = cmp.Or(asked.Chart, filepath.Join(root, "manifests", "chart"))
	input, err := json.Marshal(asked)
	if err != nil {
		return answer{}, err
	}
	command := exec.CommandContext(ctx, program)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := command.Run(); err != nil {
		return answer{}, fmt.Errorf("render the chart: %w: %s", err, stderr.String())
	}
	var given answer
	if err := json.Unmarshal(stdout.Bytes(), &given); err != nil {
		return answer{}, fmt.Errorf("read what became of the chart: %w", err)
	}
	return given, nil
}
