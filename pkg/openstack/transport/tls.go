package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// TLS holds the TLS settings of connections: tls-insecure, and the contents of ca-file, cert-file
// and key-file. Values are comparable. It contains a private key, and its printed form has no
// contents.
type TLS struct {
	caFile               string
	ca, certificate, key string
	insecure             bool
	// shown is set if there is a client certificate.
	shown bool
}

// ReadTLS reads the files of the configuration. It returns an error if one cannot be read, or is
// not valid.
func ReadTLS(cfg config.Global) (TLS, error) {
	files := TLS{caFile: cfg.CAFile, insecure: cfg.TLSInsecure, shown: cfg.CertFile != ""}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return TLS{}, errors.New("cert-file and key-file belong together: only one of them is set")
	}
	for _, file := range []struct {
		keys, path string
		content    *string
	}{
		{"ca-file", cfg.CAFile, &files.ca},
		{"cert-file and key-file", cfg.CertFile, &files.certificate},
		{"cert-file and key-file", cfg.KeyFile, &files.key},
	} {
		if file.path == "" {
			continue
		}
		content, err := os.ReadFile(file.path)
		if err != nil {
			return TLS{}, fmt.Errorf("read %s: %w", file.keys, err)
		}
		*file.content = string(content)
	}
	_, err := files.config()
	return files, err
}

// Format implements fmt.Formatter without printing secrets.
func (TLS) Format(state fmt.State, _ rune) { fmt.Fprint(state, "TLS") }

// MarshalLog is for klog's structured loggers.
func (TLS) MarshalLog() any { return "TLS" }

// config returns the configuration of connections.
func (t TLS) config() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: t.insecure,
	}
	if t.caFile != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(t.ca)) {
			return nil, fmt.Errorf("read ca-file: no certificate in %s", t.caFile)
		}
	}
	if !t.shown {
		return config, nil
	}
	pair, err := tls.X509KeyPair([]byte(t.certificate), []byte(t.key))
	if err != nil {
		return nil, fmt.Errorf("read cert-file and key-file: %w", err)
	}
	// Send the certificate regardless of the authorities that the server lists, which may not
	// include its chain.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &pair, nil
	}
	return config, nil
}
