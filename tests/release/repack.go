package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"time"
)

// defaultRepository is in values.yaml of the chart.
const defaultRepository = "registry.example.org/" + program

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
		if strings.HasSuffix(header.Name, "/values.yaml") {
			content = bytes.ReplaceAll(content, []byte(defaultRepository), []byte(repository))
		}
		files[header.Name] = content
	}
	content, err := files.tar(created, nil)
	if err != nil {
		return nil, err
	}
	return zipped(content)
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
