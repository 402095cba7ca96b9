package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/release/licenses"
)

// boms writes an SBOM for each program from the modules that the Go toolchain has recorded in it.
func (r *release) boms(context.Context) error {
	for _, platform := range r.platforms {
		path := r.binary(platform)
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		sum, err := digest(path)
		if err != nil {
			return err
		}
		if err := writeJSON(path+".spdx.json", bom(info, filepath.Base(path), r.version, sum, time.Unix(r.time, 0).UTC(), r.modules)); err != nil {
			return err
		}
	}
	return nil
}

// spdxPackage and spdxRelation are of SPDX 2.3.
type spdxPackage struct {
	ID               string           `json:"SPDXID"`
	Name             string           `json:"name"`
	Version          string           `json:"versionInfo"`
	DownloadLocation string           `json:"downloadLocation"`
	FilesAnalyzed    bool             `json:"filesAnalyzed"`
	LicenseDeclared  string           `json:"licenseDeclared"`
	Checksums        []map[string]any `json:"checksums,omitempty"`
	ExternalRefs     []map[string]any `json:"externalRefs,omitempty"`
}

type spdxRelation struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// bom is the SPDX document of a program with this sum: the program, the Go toolchain's
// library, and each module with its license.
func bom(info *debug.BuildInfo, name, version, sum string, created time.Time, modules []licenses.Module) map[string]any {
	const itself = "SPDXRef-program"
	declared := map[string]string{}
	for _, m := range modules {
		declared[m.Path] = m.License
	}
	packages := []spdxPackage{{
		ID: itself, Name: name, Version: version, DownloadLocation: "NOASSERTION", LicenseDeclared: "Apache-2.0",
		Checksums: []map[string]any{{"algorithm": "SHA256", "checksumValue": sum}},
	}, goModule(0, "stdlib", strings.TrimPrefix(info.GoVersion, "go"), declared)}
	relations := []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", itself}, {itself, "DEPENDS_ON", packages[1].ID}}
	for i, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		packages = append(packages, goModule(i+1, module.Path, module.Version, declared))
		relations = append(relations, spdxRelation{itself, "DEPENDS_ON", packages[len(packages)-1].ID})
	}
	return map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name + " " + version,
		"documentNamespace": "https://github.com/openstack-ccm/openstack-ccm/spdx/" + name + "/" + sum,
		"creationInfo":      map[string]any{"created": created.Format(time.RFC3339), "creators": []string{"Tool: openstack-ccm-release"}},
		"packages":          packages, "relationships": relations,
	}
}

func goModule(number int, path, version string, declared map[string]string) spdxPackage {
	return spdxPackage{
		ID: fmt.Sprintf("SPDXRef-module-%d", number), Name: path, Version: version, DownloadLocation: "NOASSERTION",
		LicenseDeclared: cmp.Or(declared[path], "NOASSERTION"),
		ExternalRefs: []map[string]any{{
			"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:golang/" + path + "@" + version,
		}},
	}
}

// checksums writes SHA256SUMS of all that is there.
func (r *release) checksums(context.Context) error {
	subjects, err := r.subjects()
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, s := range subjects {
		fmt.Fprintf(&lines, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

// subject is a file that a statement is about.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

func (r *release) subjects() ([]subject, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	var all []subject
	for _, entry := range entries {
		sum, err := digest(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, subject{entry.Name(), map[string]string{"sha256": sum}})
	}
	return all, nil
}

// provenance writes an in-toto statement with the commit and the toolchain of the files. It
// contains no time and no machine, so that each build of the commit has the same.
func (r *release) provenance(context.Context) error {
	subjects, err := r.subjects()
	if err != nil {
		return err
	}
	authorities, err := digest(r.authorities)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(r.binary(r.platforms[0]))
	if err != nil {
		return err
	}
	const source = "https://github.com/openstack-ccm/openstack-ccm"
	return writeJSON(filepath.Join(r.out, "provenance.intoto.json"), map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          source + "/tests/checks/release",
				"externalParameters": map[string]any{"version": r.version, "platforms": r.platforms, "repository": r.repository},
				"resolvedDependencies": []map[string]any{
					{"uri": "git+" + source, "digest": map[string]string{"gitCommit": r.commit}},
					{"uri": "pkg:golang/toolchain@" + info.GoVersion},
					{"name": "certificate authorities", "digest": map[string]string{"sha256": authorities}},
				},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": source + "/blob/" + r.commit + "/tests/checks/release"}},
		},
	})
}

func writeJSON(path string, content any) error {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// notes writes what changed, and what there is.
func (r *release) notes(context.Context) error {
	digest, err := os.ReadFile(filepath.Join(r.out, "image.digest"))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# %s\n\nImage `%s:%s@%s`, commit %s.\n\n%s\n", r.version, r.repository, r.version, strings.TrimSpace(string(digest)), r.commit, linked(r.changes, r.version))
	return os.WriteFile(filepath.Join(r.out, "notes.md"), []byte(text), 0o644)
}

// linked returns a text of the checkout with links to the files of a version: the page of a release is
// in no directory of the repository.
func linked(text, version string) string {
	return strings.ReplaceAll(text, "](docs/", "](https://github.com/openstack-ccm/openstack-ccm/blob/"+version+"/docs/")
}

// changesOf returns the section of a version in the changelog; for a candidate, the section of its
// version or, if there is none, the unreleased changes.
func changesOf(changelog, version string) (string, error) {
	number, _, candidate := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	wanted := []string{"[" + number + "]"}
	if candidate {
		wanted = append(wanted, "[Unreleased]")
	}
	sections := strings.Split("\n"+changelog, "\n## ")
	for _, name := range wanted {
		i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, name) })
		if i > 0 {
			_, text, _ := strings.Cut(sections[i], "\n")
			return strings.TrimSpace(text), nil
		}
	}
	return "", errors.New("CHANGELOG.md has no section " + wanted[0])
}
