package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
)

// serving is the HTTPS port of the controller manager from its flags. The options of
// k8s.io/cloud-provider generate two RSA keys for it at each start, one of them for a client of its
// own that a controller manager does not have. That is a third of a restart's time with a thousand
// nodes; with a tenth of a processor, it takes three seconds without answers to probes. So the
// options get no port, and their work for one is done here.
type serving struct {
	options *options.CloudControllerManagerOptions
	asked   apiserveroptions.SecureServingOptions
}

// take removes the port from the options, after the flags are parsed.
func (s *serving) take(from *options.CloudControllerManagerOptions) {
	s.options, s.asked = from, *from.SecureServing.SecureServingOptions
	from.SecureServing.BindPort, from.SecureServing.Listener = 0, nil
}

// open opens the port, and completes the configuration with it. Without a port it does nothing.
func (s *serving) open(completed *appconfig.CompletedConfig) error {
	if s.asked.BindPort == 0 && s.asked.Listener == nil {
		return nil
	}
	if err := s.certify(); err != nil {
		return fmt.Errorf("make a certificate for --secure-port: %w", err)
	}
	if err := s.asked.ApplyTo(&completed.SecureServing); err != nil {
		return fmt.Errorf("open --secure-port: %w", err)
	}
	if err := s.options.Authentication.ApplyTo(&completed.Authentication, completed.SecureServing, nil); err != nil {
		return fmt.Errorf("set up the authentication at --secure-port: %w", err)
	}
	if err := s.options.Authorization.ApplyTo(&completed.Authorization); err != nil {
		return fmt.Errorf("set up the authorization at --secure-port: %w", err)
	}
	return nil
}

// certify creates a certificate if the flags set none: one with an RSA key if they set ciphers,
// which may be for such keys only.
func (s *serving) certify() (err error) {
	const host = "localhost"
	local := []net.IP{net.IPv4(127, 0, 0, 1)}
	given := s.asked.ServerCert
	if given.CertDirectory != "" || given.CertKey.CertFile != "" || given.CertKey.KeyFile != "" || len(s.asked.CipherSuites) > 0 {
		return s.asked.MaybeDefaultWithSelfSignedCerts(host, nil, local) // it is stored in the directory
	}
	if !s.asked.BindAddress.IsUnspecified() {
		local = append(local, s.asked.BindAddress)
	}
	certificate, key, err := selfSigned(host, local, time.Now())
	if err != nil {
		return err
	}
	s.asked.ServerCert.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("self-signed", certificate, key)
	return err
}

// selfSigned returns a certificate for a host and its key, in PEM, valid for a year like those of
// the Kubernetes libraries.
func selfSigned(host string, addresses []net.IP, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: fmt.Sprintf("%s@%d", host, now.Unix())},
		NotBefore:    now.Add(-time.Hour), // clocks differ
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{host},
		IPAddresses:  addresses,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}
