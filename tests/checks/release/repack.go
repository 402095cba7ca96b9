package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// noRepository is in values.yaml of the chart: from the sources, it knows of no image.
const noRepository = "\n  repository: \"\"\n"

// noRecord is in Chart.yaml of the chart: the templates compare the record with image.repository, of which they do
// not see whether it is the default.
const noRecord = "\n  openstack-ccm/image-repository: \"\"\n"

// repacked is a packed chart without the time at which Helm has packed it, and with the
// repository of the image.
func repacked(packed []byte, repository string, created time.Time) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	files := blobs{}
	for reader := tar.NewReader(zip); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		if files[header.Name], err = withRepository(header.Name, content, repository); err != nil {
			return nil, err
		}
	}
	content, err := files.tar(created, nil)
	if err != nil {
		return nil, err
	}
	return zipped(content)
}

// withRepository is a file of the chart with the repository of the image.
func withRepository(name string, content []byte, repository string) ([]byte, error) {
	for file, place := range map[string]string{"/values.yaml": noRepository, "/Chart.yaml": noRecord} {
		if !strings.HasSuffix(name, file) {
			continue
		}
		if !bytes.Contains(content, []byte(place)) {
			return nil, fmt.Errorf("%s has no place for the repository of the image", name)
		}
		filled := strings.Replace(place, `""`, repository, 1)
		content = bytes.Replace(content, []byte(place), []byte(filled), 1)
	}
	return content, nil
}

// zipped is the content compressed, without a name or a time.
func zipped(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(content); err != nil {
		return nil, err
	}
	err := zip.Close()
	return packed.Bytes(), err
}
