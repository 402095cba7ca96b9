package datapath

import (
	"crypto/sha1" //nolint:gosec // a fingerprint that is a header's meaning
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// insertHeaders adds what the listener's insert_headers ask for. As with haproxy,
// X-Forwarded-For is added to what the client sent, and everything else replaced.
func insertHeaders(header http.Header, listener Listener, client netip.AddrPort, state *tls.ConnectionState) {
	for name, wanted := range listener.InsertHeaders {
		if !strings.EqualFold(wanted, "true") {
			continue
		}
		switch http.CanonicalHeaderKey(name) {
		case "X-Forwarded-For":
			header.Add("X-Forwarded-For", client.Addr().String())
		case "X-Forwarded-Port":
			header.Set("X-Forwarded-Port", strconv.Itoa(int(listener.Port)))
		case "X-Forwarded-Proto":
			header.Set("X-Forwarded-Proto", scheme(state))
		default:
			insertClientHeader(header, name, clientCertificate(state))
		}
	}
}

func scheme(state *tls.ConnectionState) string {
	if state == nil {
		return "http"
	}
	return "https"
}

// insertClientHeader sets one of the X-SSL-Client headers. They are empty for a client
// without a certificate.
func insertClientHeader(header http.Header, name string, certificate *x509.Certificate) {
	switch strings.ToUpper(name) {
	case "X-SSL-CLIENT-VERIFY":
		header.Set(name, "0") // a certificate that does not pass ends the handshake
	case "X-SSL-CLIENT-HAS-CERT":
		header.Set(name, map[bool]string{true: "1", false: "0"}[certificate != nil])
	case "X-SSL-CLIENT-DN":
		header.Set(name, clientField(certificate, func(c *x509.Certificate) string { return c.Subject.String() }))
	case "X-SSL-CLIENT-CN":
		header.Set(name, clientField(certificate, func(c *x509.Certificate) string { return c.Subject.CommonName }))
	case "X-SSL-ISSUER":
		header.Set(name, clientField(certificate, func(c *x509.Certificate) string { return c.Issuer.String() }))
	case "X-SSL-CLIENT-SHA1":
		header.Set(name, clientField(certificate, fingerprint))
	case "X-SSL-CLIENT-NOT-BEFORE":
		header.Set(name, clientField(certificate, func(c *x509.Certificate) string { return c.NotBefore.Format(certificateTime) }))
	case "X-SSL-CLIENT-NOT-AFTER":
		header.Set(name, clientField(certificate, func(c *x509.Certificate) string { return c.NotAfter.Format(certificateTime) }))
	}
}

// certificateTime is how haproxy writes the times of a certificate.
const certificateTime = "060102150405Z"

func clientField(certificate *x509.Certificate, field func(*x509.Certificate) string) string {
	if certificate == nil {
		return ""
	}
	return field(certificate)
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha1.Sum(certificate.Raw) //nolint:gosec // see the import
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// memberCookie is the cookie by which the load balancer keeps a client on its member.
const memberCookie = "SRV"

// dropCookie takes a cookie out of a request and leaves the others as they are.
func dropCookie(header http.Header, name string) {
	var kept []string
	for _, line := range header.Values("Cookie") {
		for _, pair := range strings.Split(line, ";") {
			key, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if key != name {
				kept = append(kept, strings.TrimSpace(pair))
			}
		}
	}
	if len(kept) == 0 {
		header.Del("Cookie")
		return
	}
	header.Set("Cookie", strings.Join(kept, "; "))
}
