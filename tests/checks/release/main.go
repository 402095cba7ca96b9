// Command release builds the files of a release in out/release: the programs for each platform,
// also in archives with their licenses, the manifest of the kubectl plugin, an image for all
// platforms as an OCI archive, the chart, install.yaml, SBOMs (SPDX), the provenance (SLSA),
// checksums and notes. The same commit gives the same bytes: with --verify, each program is built
// again, from a copy of the sources at another path and with an empty cache, and compared with the
// one in out/release, which is made first unless it is there.
//
// It needs the Go toolchain and git, and nothing else. Signing and publishing are for those
// who have the keys: .github/workflows/release.yml.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/release/licenses"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
)

const program = "openstack-cloud-controller-manager"

func main() {
	r := release{}
	var verify bool
	var platforms string
	flag.StringVar(&r.version, "version", "", "version of the release, such as v1.2.3")
	flag.StringVar(&r.out, "out", "out/release", "directory for the release")
	flag.StringVar(&r.repository, "image", "registry.example.org/"+program, "repository of the image, for install.yaml and the chart's notes")
	flag.StringVar(&r.authorities, "ca-file", "/etc/ssl/certs/ca-certificates.crt", "certificate authorities of the image")
	flag.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms of the programs")
	flag.BoolVar(&verify, "verify", false, "build the programs a second time elsewhere, and compare")
	flag.Parse()
	r.platforms = strings.Split(platforms, ",")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.run(ctx, verify); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

// release has the inputs and the output directory of a release.
type release struct {
	version, commit, root string
	// time is that of the commit, as git and SOURCE_DATE_EPOCH have it.
	time int64
	// changes are those of the changelog.
	changes     string
	out         string
	repository  string
	authorities string
	platforms   []string
	// modules are those of the programs, with their licenses.
	modules []licenses.Module
}

// versions are those of Semantic Versioning, after a v.
var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// run makes the release, or verifies it.
func (r *release) run(ctx context.Context, verify bool) error {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("version %q: want v1.2.3 or v1.2.3-rc.1", r.version)
	}
	if err := r.sources(ctx); err != nil {
		return err
	}
	var err error
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	present, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	switch {
	case len(present) == 0:
		err = r.make(ctx)
	case !verify:
		return fmt.Errorf("%s has a release: remove it first, or verify it", r.out)
	}
	if err != nil || !verify {
		return err
	}
	return r.verify(ctx)
}

func (r *release) make(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.programs, r.licenses, r.boms, r.archives, r.krew, r.image, r.chart, r.manifest, r.notes, r.checksums, r.provenance,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	say("%s has release %s", r.out, r.version)
	return nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// sources finds the commit. It refuses a tree with changes, and a changelog without the version.
func (r *release) sources(ctx context.Context) error {
	var err error
	if r.root, err = controlplane.ModuleRoot(ctx); err != nil {
		return err
	}
	changed, err := git(ctx, r.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("there are changes that are not committed:\n" + changed)
	}
	if r.commit, err = git(ctx, r.root, "rev-parse", "HEAD"); err != nil {
		return err
	}
	at, err := git(ctx, r.root, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(at, &r.time); err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	r.changes, err = changesOf(string(changelog), r.version)
	return err
}

// programs builds the controller for each platform.
func (r *release) programs(ctx context.Context) error {
	for _, platform := range r.platforms {
		say("building %s for %s", program, platform)
		if err := build(ctx, r.root, r.binary(platform), platform, r.version, r.commit, ""); err != nil {
			return err
		}
	}
	return nil
}

// binary is the path of the program for a platform.
func (r *release) binary(platform string) string {
	return filepath.Join(r.out, program+"-"+strings.ReplaceAll(platform, "/", "-"))
}

// chart packs the chart, with the repository of the image as its default.
func (r *release) chart(ctx context.Context) error {
	path, err := chart.Pack(ctx, say, r.out, strings.TrimPrefix(r.version, "v"))
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if content, err = repacked(content, r.repository, time.Unix(r.time, 0).UTC()); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	return os.WriteFile(path, content, 0o644)
}

// manifest writes install.yaml: manifests/static with the image of this release.
func (r *release) manifest(ctx context.Context) error {
	values, err := os.ReadFile(filepath.Join(r.root, "manifests", "static.values.yaml"))
	if err != nil {
		return err
	}
	digest, err := os.ReadFile(filepath.Join(r.out, "image.digest"))
	if err != nil {
		return err
	}
	text, err := chart.Install(ctx, say, chart.Release{Name: program, Namespace: "kube-system", Values: installValues(string(values), r.repository, string(digest))})
	if err != nil {
		return err
	}
	head := fmt.Sprintf("# %s %s. The Secret cloud-config in kube-system, with cloud.conf, is yours to make.\n", program, r.version)
	return os.WriteFile(filepath.Join(r.out, "install.yaml"), []byte(head+text), 0o644)
}

// image values in those of manifests/static, up to the next key.
var imageValues = regexp.MustCompile(`(?m)^image:\n(  .*\n)+`)

// installValues are the values of manifests/static, with an image by its digest.
func installValues(static, repository, digest string) string {
	return imageValues.ReplaceAllString(static, fmt.Sprintf("image: {repository: %s, digest: %q}\n", repository, strings.TrimSpace(digest)))
}
