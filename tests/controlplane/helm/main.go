// Command helm renders, checks and packs a chart with the packages of which Helm itself is
// made. It reads one request from standard input, and writes its answer to standard output,
// both as JSON; package tests/lib/chart has the types of both.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
)

type request struct {
	Chart    string
	Releases []release
	// Package is the directory in which the chart is packed as Version.
	Package, Version string
}

type release struct {
	Name, Namespace, KubeVersion string
	// Values is YAML.
	Values string
	// Lint checks the chart with these values instead of rendering it.
	Lint bool
}

type answer struct {
	Releases []rendered
	Package  string
}

type rendered struct {
	// Files are what the templates became, by their path below templates.
	Files map[string]string
	// Messages are those of the check.
	Messages []string
	Error    string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func run() error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var given answer
	for _, r := range asked.Releases {
		files, messages, err := serve(asked.Chart, r)
		one := rendered{Files: files, Messages: messages}
		if err != nil {
			one.Error = err.Error()
		}
		given.Releases = append(given.Releases, one)
	}
	if asked.Package != "" {
		var err error
		if given.Package, err = pack(asked); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(given)
}

func serve(directory string, r release) (files map[string]string, messages []string, err error) {
	values, err := chartutil.ReadValues([]byte(r.Values))
	if err != nil {
		return nil, nil, fmt.Errorf("read the values: %w", err)
	}
	if r.Lint {
		for _, message := range lint.All(directory, values, r.Namespace, true).Messages {
			messages = append(messages, message.Error())
		}
		return nil, messages, nil
	}
	files, err = render(directory, r, values)
	return files, nil, err
}

// render does what `helm template` does, the templates' files kept apart.
func render(directory string, r release, values chartutil.Values) (map[string]string, error) {
	loaded, err := loader.LoadDir(directory)
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	if r.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, err
		}
		capabilities.KubeVersion = *version
	}
	if wanted := loaded.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("the chart requires Kubernetes %s, which %s is not", wanted, capabilities.KubeVersion.String())
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, all)
	return below(loaded, texts), err
}

// below names the files by their path below the chart's templates.
func below(loaded *chart.Chart, texts map[string]string) map[string]string {
	files := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		short, err := filepath.Rel(path.Join(loaded.ChartFullPath(), "templates"), name)
		if err != nil {
			short = name
		}
		files[short] = texts[name]
	}
	return files
}

// pack does what `helm package --version --app-version` does.
func pack(asked request) (string, error) {
	loaded, err := loader.LoadDir(asked.Chart)
	if err != nil {
		return "", err
	}
	if asked.Version != "" {
		loaded.Metadata.Version, loaded.Metadata.AppVersion = asked.Version, "v"+asked.Version
	}
	return chartutil.Save(loaded, asked.Package)
}
