package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	keepAlive        = 30 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 60 * time.Second
	// A connection of HTTP/2 that went dead in silence would fail every request on
	// it: ping it after pingAfter without a frame, drop it after pingTimeout.
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// newConnections returns the pool of connections to the cloud: TLS as the
// configuration has it, proxies from the environment, idle ones kept per host.
func newConnections(cfg config.Global, idle int) (*http.Transport, error) {
	tlsConfig, err := newTLSConfig(cfg)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       tlsConfig,
		TLSHandshakeTimeout:   handshakeTimeout,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConns:          4 * idle, // four services, on as many hosts
		MaxIdleConnsPerHost:   idle,
		IdleConnTimeout:       idleTimeout,
		ExpectContinueTimeout: time.Second,
	}, nil
}

// newTLSConfig reads ca-file, cert-file, key-file and tls-insecure.
func newTLSConfig(cfg config.Global) (*tls.Config, error) {
	tlsConfig := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: cfg.TLSInsecure,
	}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read ca-file: %w", err)
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca-file: no certificate in %s", cfg.CAFile)
		}
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("cert-file and key-file belong together: only one of them is set")
	}
	if cfg.CertFile == "" {
		return tlsConfig, nil
	}
	if _, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile); err != nil {
		return nil, fmt.Errorf("read cert-file and key-file: %w", err)
	}
	// Read again for every connection: a renewed certificate needs no restart.
	tlsConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read cert-file and key-file: %w", err)
		}
		return &pair, nil
	}
	return tlsConfig, nil
}
