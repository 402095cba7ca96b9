package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/release/licenses"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The programs of a release, those of the image that docker builds, and those of make build
// have the same build flags, so that the tests start the released programs.
func TestBuildFlags_AreThoseOfDockerfileAndMakefile(t *testing.T) {
	t.Parallel()
	flags := strings.Join(buildFlags("VERSION", "COMMIT"), " ")
	for path, form := range map[string]string{
		"../../../Dockerfile": "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build %s",
		"../../../Makefile":   "CGO_ENABLED=0 go build %s",
	} {
		text := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(read(t, path), "")
		if variable := regexp.MustCompile(`(?m)^BUILDFLAGS := (.*)$`).FindStringSubmatch(text); variable != nil {
			text = strings.ReplaceAll(text, "$(BUILDFLAGS)", variable[1])
		}
		text = strings.NewReplacer(`"`, "", `'`, "", "$(LDFLAGS)", "-s -w -X main.version=VERSION -X main.commit=COMMIT", "$VERSION", "VERSION", "$COMMIT", "COMMIT").Replace(text)
		if wanted := fmt.Sprintf(form, flags); !strings.Contains(text, wanted) {
			t.Errorf("%s has no line %s", path, wanted)
		}
	}
}

// The image is that of the Dockerfile: the same files, the same entrypoint, and no user.
func TestImage_IsThatOfDockerfile(t *testing.T) {
	t.Parallel()
	stages := strings.Split(read(t, "../../../Dockerfile"), "\nFROM ")
	var instructions []string
	for line := range strings.Lines(stages[len(stages)-1]) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			instructions = append(instructions, line)
		}
	}
	want := []string{
		"scratch",
		"COPY --from=build " + authoritiesPath + " " + authoritiesPath,
		"COPY --from=build /src/" + licenseName + " /src/" + thirdPartyName + " " + licensesPath,
		"COPY --from=build /" + program + " " + programPath,
		`ENTRYPOINT ["` + programPath + `"]`,
	}
	if diff := cmp.Diff(want, instructions); diff != "" {
		t.Errorf("the last stage (-release +Dockerfile):\n%s", diff)
	}
}

// archive makes an image of files that are elsewhere, and of another age, each time.
func archive(t *testing.T) ([]byte, string) {
	t.Helper()
	directory := t.TempDir()
	for name, content := range map[string]string{"program": "the program", "authorities": "the authorities", "license": "the license"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var images []platformImage
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		images = append(images, platformImage{platform, map[string]string{
			programPath: filepath.Join(directory, "program"), authoritiesPath: filepath.Join(directory, "authorities"),
			licensesPath + licenseName: filepath.Join(directory, "license"),
		}})
	}
	content, digest, err := imageArchive(images, "v1.2.3", time.Unix(1700000000, 0).UTC(), map[string]string{"org.opencontainers.image.version": "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return content, digest
}

// unpacked are the files of an archive, and a line for each as tar lists them.
func unpacked(t *testing.T, content []byte) (map[string][]byte, []string) {
	t.Helper()
	files, lines := map[string][]byte{}, []string(nil)
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%o %d:%d %s", header.Mode, header.Uid, header.Gid, header.Name))
	}
}

//proves:139
func TestImage_IsTheSameBytesTwiceAndHoldsTogether(t *testing.T) {
	t.Parallel()
	first, digest := archive(t)
	second, _ := archive(t)
	if !bytes.Equal(first, second) {
		t.Error("two archives of the same files differ")
	}
	layout, _ := unpacked(t, first)
	blob := func(digest string, into any) []byte {
		content, found := layout["blobs/"+strings.Replace(digest, ":", "/", 1)]
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); !found || sum != digest {
			t.Fatalf("%s is %s", digest, sum)
		}
		if into != nil {
			if err := json.Unmarshal(content, into); err != nil {
				t.Fatal(err)
			}
		}
		return content
	}
	var outer, index struct{ Manifests []descriptor }
	if err := json.Unmarshal(layout["index.json"], &outer); err != nil || len(outer.Manifests) != 1 || outer.Manifests[0].Digest != digest {
		t.Fatalf("index.json is %s, digest %s, error %v", layout["index.json"], digest, err)
	}
	blob(digest, &index)
	var platforms []string
	for _, of := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		var config struct {
			OS, Architecture string
			Config           struct{ Entrypoint []string }
			Rootfs           struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		blob(of.Digest, &manifest)
		blob(manifest.Config.Digest, &config)
		platforms = append(platforms, config.OS+"/"+config.Architecture)
		zip, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0].Digest, nil)))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); !slices.Equal(config.Rootfs.DiffIDs, []string{sum}) || !slices.Equal(config.Config.Entrypoint, []string{programPath}) {
			t.Errorf("the configuration is %+v, the layer %s", config, sum)
		}
		_, files := unpacked(t, content)
		want := []string{
			"755 0:0 bin/", "755 0:0 bin/" + program, "755 0:0 etc/", "755 0:0 etc/ssl/", "755 0:0 etc/ssl/certs/", "644 0:0 etc/ssl/certs/ca-certificates.crt",
			"755 0:0 licenses/", "644 0:0 licenses/LICENSE",
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("the layer (-want +got):\n%s", diff)
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %v", platforms)
	}
}

// Go reads an archive without its end; tar and others report it as damaged.
func TestTar_HasTheEndOfAnArchive(t *testing.T) {
	t.Parallel()
	const block = 512
	content, err := blobs{"a": []byte("text")}.tar(time.Unix(1700000000, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if end := make([]byte, 2*block); len(content)%block != 0 || !bytes.HasSuffix(content, end) {
		t.Errorf("the archive has %d bytes, and no two empty blocks at its end", len(content))
	}
}

// Helm packs the time of day; the chart of a release is the same bytes whenever it is packed,
// of any version in Chart.yaml, and names the image of the release.
func TestChart_IsTheSameBytesTwiceAndNamesImage(t *testing.T) {
	t.Parallel()
	var packed [2][]byte
	for i := range packed {
		path, err := chart.Pack(t.Context(), t.Logf, t.TempDir(), "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		// Helm's times are of a second, in which both may be.
		content := []byte(read(t, path))
		if content, err = repacked(content, `""`, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
		if packed[i], err = repacked(content, "registry.example.com/ccm", time.Unix(1700000000, 0).UTC()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("two packed charts differ")
	}
	files := unzipped(t, packed[0])
	values, metadata := string(files[program+"/values.yaml"]), string(files[program+"/Chart.yaml"])
	if !strings.Contains(values, "repository: registry.example.com/ccm\n") || !strings.Contains(metadata, "\nversion: 1.2.3\n") || !strings.Contains(metadata, "appVersion: v1.2.3\n") {
		t.Errorf("the chart is\n%s\n%.400s", metadata, values)
	}
}

// unzipped are the files of a packed chart.
func unzipped(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := unpacked(t, content)
	return files
}

// released are the files of the chart of a release, in a directory.
func released(t *testing.T, version string) string {
	t.Helper()
	path, err := chart.Pack(t.Context(), t.Logf, t.TempDir(), version)
	if err != nil {
		t.Fatal(err)
	}
	content, err := repacked([]byte(read(t, path)), "registry.example.com/ccm", time.Unix(1700000000, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for name, content := range unzipped(t, content) {
		file := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(directory, program)
}

// A values file of cloud-provider-openstack may pin only the tag of its image. With the repository of the release,
// that would be an image that does not exist.
func TestChart_RefusesTagOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	const conf = "cloudConfig: {global: {auth-url: 'https://keystone.example.com/v3'}}\n"
	for version, cases := range map[string]map[string]bool{
		"0.2.0": {
			"image: {tag: v1.31.2}": true, "image: {tag: v1.18.0}": true, "image: {tag: v1.36.0-rc.0}": true,
			"image: {tag: v1.30.0, pullPolicy: Always, repository: registry.example.com/ccm}": true,
			"":                      false,
			"image: {tag: v0.2.0}":  false,
			"image: {tag: v0.10.3}": false,
			"image: {tag: v1.2.3}":  false,
			"image: {tag: nightly}": false,
			"image: {repository: mirror.example.com/ccm, tag: v1.31.2}":                false,
			"image: {tag: v1.31.2, digest: 'sha256:" + strings.Repeat("0a", 32) + "'}": false,
		},
		"1.20.0": {"image: {tag: v1.19.4}": false, "image: {tag: v1.21.0}": false},
	} {
		directory := released(t, version)
		for values, refused := range cases {
			of, err := chart.RenderDirectory(t.Context(), t.Logf, directory, chart.Release{Name: "occm", Namespace: "kube-system", Values: conf + values})
			if err != nil {
				t.Fatal(err)
			}
			if is := strings.Contains(of[0].Error, "is a version of cloud-provider-openstack"); is != refused || !refused && of[0].Error != "" {
				t.Errorf("chart %s with %q is refused: %t, want %t (%s)", version, values, is, refused, of[0].Error)
			}
		}
	}
}

// What the toolchain has recorded in a program, here in this test, is in the document.
//
//proves:139
func TestBOM_HasEveryModuleOfProgram(t *testing.T) {
	t.Parallel()
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(itself)
	if err != nil {
		t.Fatal(err)
	}
	document := bom(info, program, "v1.2.3", strings.Repeat("0", 64), time.Unix(0, 0).UTC(), nil)
	names := map[string]bool{}
	for _, p := range document["packages"].([]spdxPackage) {
		names[p.Name+"@"+p.Version] = true
	}
	if len(info.Deps) == 0 || len(names) != len(info.Deps)+2 || len(document["relationships"].([]spdxRelation)) != len(names) {
		t.Fatalf("%d packages of %d modules", len(names), len(info.Deps))
	}
	for _, module := range info.Deps {
		if module.Replace == nil && !names[module.Path+"@"+module.Version] {
			t.Errorf("no %s %s", module.Path, module.Version)
		}
	}
	if !names["stdlib@"+strings.TrimPrefix(info.GoVersion, "go")] {
		t.Error("no standard library")
	}
}

// Apache-2.0 (section 4), BSD, MIT and ISC require their texts beside a program.
//
//proves:139
func TestLicenses_OfEveryModuleAreKnownAndInTheText(t *testing.T) {
	t.Parallel()
	modules, err := licenses.Of(t.Context(), "../../..", []string{"linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	text, declared := licenses.Text(modules), map[string]bool{}
	for _, m := range modules {
		if len(m.Texts) == 0 || !strings.Contains(text, m.Path+" "+m.Version+": ") {
			t.Errorf("%s %s has no text", m.Path, m.Version)
		}
		for id := range strings.SplitSeq(m.License, " AND ") {
			declared[id] = true
		}
		if m.Path == "github.com/prometheus/client_golang" && m.Texts["NOTICE"] == "" {
			t.Errorf("%s has no NOTICE among %v", m.Path, slices.Collect(maps.Keys(m.Texts)))
		}
	}
	permissive := []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
	for id := range declared {
		if !slices.Contains(permissive, id) {
			t.Errorf("a module has license %s: the permissive ones are %v", id, permissive)
		}
	}
	document := bom(&debug.BuildInfo{GoVersion: runtime.Version(), Deps: []*debug.Module{{Path: "k8s.io/klog/v2", Version: "v2.0.0"}}}, program, "v1.2.3", "", time.Unix(0, 0), modules)
	for _, p := range document["packages"].([]spdxPackage) {
		if p.LicenseDeclared == "NOASSERTION" {
			t.Errorf("%s has no license in the SBOM", p.Name)
		}
	}
}

// krew rejects a plugin if its archive has another name or another checksum.
func TestKrew_ManifestNamesArchivesOfRelease(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	r := release{version: "v1.2.3", root: "../../..", out: directory, platforms: []string{"linux/amd64", "linux/arm64"}}
	for _, name := range []string{thirdPartyName, filepath.Base(r.binary("linux/amd64")), filepath.Base(r.binary("linux/arm64"))} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.archives(t.Context()), r.krew(t.Context())); err != nil {
		t.Fatal(err)
	}
	manifest := read(t, filepath.Join(directory, "openstack-lb.yaml"))
	for _, platform := range r.platforms {
		content := read(t, filepath.Join(directory, archiveName(platform)))
		want := fmt.Sprintf("/v1.2.3/%s\n    sha256: %x\n", archiveName(platform), sha256.Sum256([]byte(content)))
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest has no %q:\n%s", want, manifest)
		}
		zip, err := gzip.NewReader(strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		_, files := unpacked(t, unzipped)
		if diff := cmp.Diff([]string{"644 0:0 LICENSE", "644 0:0 THIRD_PARTY_LICENSES.txt", "755 0:0 " + program}, files); diff != "" {
			t.Errorf("%s (-want +got):\n%s", archiveName(platform), diff)
		}
	}
}

func TestNotes_LinkToFilesOfVersion(t *testing.T) {
	t.Parallel()
	const want = "[a](https://github.com/openstack-ccm/openstack-ccm/blob/v1.2.3/docs/a.md#b), [c](https://example.org/docs/c)"
	if got := linked("[a](docs/a.md#b), [c](https://example.org/docs/c)", "v1.2.3"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNotes_AreSectionOfVersion(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- next\n\n## [1.2.0] - 2026-01-01\n\n- this\n\n## [1.1.0] - 2025-01-01\n\n- before\n"
	for version, want := range map[string]string{"v1.2.0": "- this", "v1.1.0": "- before", "v1.2.0-rc.1": "- this", "v1.3.0-rc.1": "- next", "v1.3.0": ""} {
		got, err := changesOf(changelog, version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

func TestInstallValues_NameImageByDigest(t *testing.T) {
	t.Parallel()
	got := installValues(read(t, "../../../manifests/static.values.yaml"), "registry.example.org/ccm", "sha256:0123\n")
	if !strings.Contains(got, `image: {repository: registry.example.org/ccm, digest: "sha256:0123"}`) || strings.Contains(got, "tag: none") || !strings.Contains(got, "\nsecret:\n") {
		t.Errorf("the values are\n%s", got)
	}
}
