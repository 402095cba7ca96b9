package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	apiserveroptions "k8s.io/apiserver/pkg/server/options"
)

func TestSelfSigned_IsTrustedForItsHostAndAddresses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	certificate, key, err := selfSigned("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	for _, name := range []string{"localhost", "127.0.0.1"} {
		for _, at := range []time.Time{now, now.Add(-time.Minute), now.AddDate(0, 11, 0)} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: at}); err != nil {
				t.Errorf("%s at %s: %v", name, at, err)
			}
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "elsewhere", Roots: roots}); err == nil {
		t.Error("it is trusted elsewhere")
	}
}

func TestServing_HasCertificateAsItsFlagsAsk(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for name, c := range map[string]struct {
		change func(*apiserveroptions.SecureServingOptions)
		want   string
		file   string
	}{
		"nothing is asked for": {func(*apiserveroptions.SecureServingOptions) {}, "*ecdsa.PrivateKey", ""},
		"ciphers of RSA keys": {func(o *apiserveroptions.SecureServingOptions) {
			o.CipherSuites = []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
		}, "*rsa.PrivateKey", ""},
		"a directory": {func(o *apiserveroptions.SecureServingOptions) {
			o.ServerCert.CertDirectory = directory
		}, "none", filepath.Join(directory, "test.crt")},
		"a file": {func(o *apiserveroptions.SecureServingOptions) {
			o.ServerCert.CertKey.CertFile, o.ServerCert.CertKey.KeyFile = "own.crt", "own.key"
		}, "none", "own.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serving{asked: *apiserveroptions.NewSecureServingOptions()}
			s.asked.ServerCert.PairName, s.asked.ServerCert.CertDirectory = "test", "" // as the controller manager has it
			c.change(&s.asked)
			if err := s.certify(); err != nil {
				t.Fatal(err)
			}
			kind := "none"
			if made := s.asked.ServerCert.GeneratedCert; made != nil {
				pair, err := tls.X509KeyPair(made.CurrentCertKeyContent())
				if err != nil {
					t.Fatal(err)
				}
				kind = fmt.Sprintf("%T", pair.PrivateKey)
			}
			if kind != c.want || s.asked.ServerCert.CertKey.CertFile != c.file {
				t.Errorf("it has made %s, in file %q", kind, s.asked.ServerCert.CertKey.CertFile)
			}
		})
	}
}
