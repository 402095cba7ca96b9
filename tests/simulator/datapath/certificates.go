package datapath

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Certificates reads what the references of listeners and pools lead to: the containers and
// secrets of Barbican. It is asked once for each reference that is in use, and again after
// an error.
type Certificates interface {
	// Certificate returns a certificate with its chain and key.
	Certificate(ref string) (tls.Certificate, error)
	// Authorities returns the certificates of those who are trusted.
	Authorities(ref string) (*x509.CertPool, error)
}

// errNoCertificates is the error without Options.Certificates.
var errNoCertificates = errors.New("there is no store of certificates")

// keyring keeps what references lead to. It belongs to the goroutine of Plane.run.
type keyring struct {
	store        Certificates
	certificates map[string]*tls.Certificate
	authorities  map[string]*x509.CertPool
}

func newKeyring(store Certificates) *keyring {
	return &keyring{
		store:        store,
		certificates: map[string]*tls.Certificate{},
		authorities:  map[string]*x509.CertPool{},
	}
}

func (k *keyring) certificate(ref string) (*tls.Certificate, error) {
	if known := k.certificates[ref]; known != nil {
		return known, nil
	}
	if k.store == nil {
		return nil, fmt.Errorf("read certificate %s: %w", ref, errNoCertificates)
	}
	read, err := k.store.Certificate(ref)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s: %w", ref, err)
	}
	k.certificates[ref] = &read
	return &read, nil
}

func (k *keyring) authoritiesOf(ref string) (*x509.CertPool, error) {
	if known := k.authorities[ref]; known != nil {
		return known, nil
	}
	if k.store == nil {
		return nil, fmt.Errorf("read authorities %s: %w", ref, errNoCertificates)
	}
	read, err := k.store.Authorities(ref)
	if err != nil {
		return nil, fmt.Errorf("read authorities %s: %w", ref, err)
	}
	k.authorities[ref] = read
	return read, nil
}

// forget drops certificates that are no longer used.
func (k *keyring) forget(used map[string]bool) {
	for ref := range k.certificates {
		if !used[ref] {
			delete(k.certificates, ref)
		}
	}
	for ref := range k.authorities {
		if !used[ref] {
			delete(k.authorities, ref)
		}
	}
}

// refs marks the references that a load balancer uses.
func (lb LoadBalancer) refs(used map[string]bool) {
	for _, listener := range lb.Listeners {
		used[listener.TLS.DefaultRef] = true
		used[listener.TLS.ClientCARef] = true
		for _, ref := range listener.TLS.SNIRefs {
			used[ref] = true
		}
	}
	for _, pool := range lb.Pools {
		used[pool.TLS.CertificateRef] = true
		used[pool.TLS.CARef] = true
	}
}

// listenerTLS is how a TERMINATED_HTTPS listener speaks TLS to its clients; nil for other
// listeners.
func (k *keyring) listenerTLS(listener Listener) (*tls.Config, error) {
	if listener.Protocol != ProtocolTerminatedHTTPS {
		return nil, nil
	}
	config := &tls.Config{NextProtos: listener.TLS.ALPN}
	limitVersions(config, listener.TLS.Versions)
	for _, ref := range append([]string{listener.TLS.DefaultRef}, listener.TLS.SNIRefs...) {
		if ref == "" {
			continue
		}
		certificate, err := k.certificate(ref)
		if err != nil {
			return nil, err
		}
		config.Certificates = append(config.Certificates, *certificate)
	}
	if listener.TLS.ClientCARef == "" {
		return config, nil
	}
	authorities, err := k.authoritiesOf(listener.TLS.ClientCARef)
	if err != nil {
		return nil, err
	}
	config.ClientCAs = authorities
	config.ClientAuth = clientAuth(listener.TLS.ClientAuthentication)
	return config, nil
}

func clientAuth(given string) tls.ClientAuthType {
	switch given {
	case "MANDATORY":
		return tls.RequireAndVerifyClientCert
	case "OPTIONAL":
		return tls.VerifyClientCertIfGiven
	default:
		return tls.NoClientCert
	}
}

// poolTLS is how a pool speaks TLS to its members; nil for pools that do not.
func (k *keyring) poolTLS(given PoolTLS) (*tls.Config, error) {
	if !given.Enabled {
		return nil, nil
	}
	config := unverified()
	config.NextProtos = given.ALPN
	limitVersions(config, given.Versions)
	if given.CertificateRef != "" {
		certificate, err := k.certificate(given.CertificateRef)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{*certificate}
	}
	if given.CARef != "" {
		authorities, err := k.authoritiesOf(given.CARef)
		if err != nil {
			return nil, err
		}
		config.VerifyConnection = signedBy(authorities)
	}
	return config, nil
}

// signedBy verifies the chain of a member's certificate and no name, as haproxy does with
// "verify required" and no "verifyhost".
func signedBy(authorities *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		intermediates := x509.NewCertPool()
		for _, certificate := range state.PeerCertificates[1:] {
			intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates})
		return err
	}
}

// limitVersions allows the TLS versions that are named, and those between them.
func limitVersions(config *tls.Config, names []string) {
	versions := map[string]uint16{
		"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13,
	}
	for _, name := range names {
		version, known := versions[name]
		if !known {
			continue
		}
		if config.MinVersion == 0 || version < config.MinVersion {
			config.MinVersion = version
		}
		config.MaxVersion = max(config.MaxVersion, version)
	}
}
