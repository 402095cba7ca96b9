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
			if !bytes.Contains(content, []byte(noRepository)) {
				return nil, errors.New("values.yaml has no place for the repository of the image")
			}
			content = bytes.Replace(content, []byte(noRepository), fmt.Appendf(nil, "\n  repository: %s\n", repository), 1)
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
