package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The image is that of the Dockerfile, which a test compares: these files, and this
// entrypoint.
const (
	programPath     = "/bin/" + program
	authoritiesPath = "/etc/ssl/certs/ca-certificates.crt"
)

// image writes the image as an OCI archive, and its digest. Nothing is pulled: it begins
// from nothing.
func (r *release) image(context.Context) error {
	var images []platformImage
	for _, platform := range r.platforms {
		images = append(images, platformImage{platform: platform, files: map[string]string{
			programPath: r.binary(platform), authoritiesPath: r.authorities,
			licensesPath + licenseName:    filepath.Join(r.root, licenseName),
			licensesPath + thirdPartyName: filepath.Join(r.out, thirdPartyName),
		}})
	}
	archive, digest, err := imageArchive(images, r.version, time.Unix(r.time, 0).UTC(), map[string]string{
		"org.opencontainers.image.source":   "https://github.com/openstack-ccm/openstack-ccm",
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "image.tar"), archive, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "image.digest"), []byte(digest+"\n"), 0o644)
}

// platformImage is the image of one platform: its files by the path that they have there.
type platformImage struct {
	platform string
	files    map[string]string
}

// descriptor is one of OCI's image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// blobs are the files of an OCI layout, by their path in it.
type blobs map[string][]byte

func (b blobs) add(mediaType string, content []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	b["blobs/sha256/"+sum] = content
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(content)}
}

func (b blobs) addJSON(mediaType string, content any) (descriptor, error) {
	text, err := json.Marshal(content)
	return b.add(mediaType, text), err
}

// imageArchive is an OCI archive with an index of all platforms, and the digest of that
// index. The same files at the same time give the same bytes.
func imageArchive(images []platformImage, tag string, created time.Time, labels map[string]string) ([]byte, string, error) {
	layout := blobs{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	var manifests []descriptor
	for _, image := range images {
		manifest, err := layout.image(image, created, labels)
		if err != nil {
			return nil, "", fmt.Errorf("image for %s: %w", image.platform, err)
		}
		manifests = append(manifests, manifest)
	}
	index, err := layout.addJSON(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests, "annotations": labels})
	if err != nil {
		return nil, "", err
	}
	digest := index.Digest
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag}
	if layout["index.json"], err = json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{index}}); err != nil {
		return nil, "", err
	}
	archive, err := archived(layout, created)
	return archive, digest, err
}

// image adds the image of one platform, and returns its manifest.
func (b blobs) image(image platformImage, created time.Time, labels map[string]string) (descriptor, error) {
	content, err := layer(image.files, created)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := zipped(content)
	if err != nil {
		return descriptor{}, err
	}
	system, architecture, _ := strings.Cut(image.platform, "/")
	platform := map[string]string{"os": system, "architecture": architecture}
	config, err := b.addJSON(configType, map[string]any{
		"created": created, "os": system, "architecture": architecture,
		"config": map[string]any{"Entrypoint": []string{programPath}, "Labels": labels},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(content))}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := b.addJSON(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config,
		"layers": []descriptor{b.add(layerType, packed)}, "annotations": labels,
	})
	manifest.Platform = platform
	return manifest, err
}

// layer is a tar archive of the files, which belong to root; only the program can be run.
func layer(files map[string]string, created time.Time) ([]byte, error) {
	contents, modes := blobs{}, map[string]int64{}
	for path, source := range files {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(path, "/")
		contents[name], modes[name] = content, 0o644
		if path == programPath {
			modes[name] = 0o755
		}
		for directory := filepath.Dir(name); directory != "."; directory = filepath.Dir(directory) {
			contents[directory+"/"], modes[directory+"/"] = nil, 0o755
		}
	}
	return contents.tar(created, modes)
}

func archived(files blobs, created time.Time) ([]byte, error) { return files.tar(created, nil) }

// tar is an archive of the files in the order of their names. Modes are 0644 where there are
// none; a name that ends with a slash is a directory.
func (b blobs) tar(created time.Time, modes map[string]int64) ([]byte, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(b[name])), ModTime: created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if mode, ok := modes[name]; ok {
			header.Mode = mode
		}
		if strings.HasSuffix(name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.Copy(writer, bytes.NewReader(b[name])); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil { // writes the end of the archive
		return nil, err
	}
	return archive.Bytes(), nil
}
