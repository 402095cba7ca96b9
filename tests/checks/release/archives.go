package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/release/licenses"
)

// The license of the program and those of its modules are in the image and in every archive.
const (
	licenseName    = "LICENSE"
	thirdPartyName = "THIRD_PARTY_LICENSES.txt"
	licensesPath   = "/licenses/"
)

// licenses writes the license texts and notices of all modules.
func (r *release) licenses(ctx context.Context) error {
	var err error
	if r.modules, err = licenses.Of(ctx, r.root, r.platforms); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, thirdPartyName), []byte(licenses.Text(r.modules)), 0o644)
}

// archives packs each program with the licenses, under the name that the krew manifest has.
func (r *release) archives(context.Context) error {
	for _, platform := range r.platforms {
		files, modes := blobs{}, map[string]int64{program: 0o755}
		for name, path := range map[string]string{
			program: r.binary(platform), licenseName: filepath.Join(r.root, licenseName), thirdPartyName: filepath.Join(r.out, thirdPartyName),
		} {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[name] = content
		}
		content, err := files.tar(time.Unix(r.time, 0).UTC(), modes)
		if err != nil {
			return err
		}
		if content, err = zipped(content); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, archiveName(platform)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func archiveName(platform string) string {
	return program + "_" + strings.ReplaceAll(platform, "/", "_") + ".tar.gz"
}

// krew writes the manifest of the kubectl plugin, with the checksums of the archives.
func (r *release) krew(context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.root, "manifests", "krew", "openstack-lb.yaml"))
	if err != nil {
		return err
	}
	manifest, err := krewManifest(string(text), r.version, func(name string) (string, error) { return digest(filepath.Join(r.out, name)) })
	if err != nil {
		return fmt.Errorf("fill in the krew manifest: %w", err)
	}
	return os.WriteFile(filepath.Join(r.out, "openstack-lb.yaml"), []byte(manifest), 0o644)
}

// krewManifest fills in the template as krew-release-bot does. sum returns the SHA-256 of a
// file of the release.
func krewManifest(text, version string, sum func(name string) (string, error)) (string, error) {
	parsed, err := template.New("krew").Funcs(template.FuncMap{
		"addURIAndSha": func(uri, tag string) (string, error) {
			uri = strings.ReplaceAll(uri, "{{ .TagName }}", tag)
			checksum, err := sum(filepath.Base(uri))
			return fmt.Sprintf("uri: %s\nsha256: %s", uri, checksum), err
		},
		"indent": func(spaces int, text string) string {
			return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", spaces))
		},
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var made bytes.Buffer
	err = parsed.Execute(&made, map[string]string{"TagName": version})
	return made.String(), err
}
