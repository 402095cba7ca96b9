package datapath

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/http"
	"slices"
)

// certificateValues are what rules about the client's certificate look at.
func (r Rule) certificateValues(request *http.Request) []string {
	certificate := clientCertificate(request.TLS)
	switch {
	case r.Type == RuleClientHasCert:
		return []string{map[bool]string{true: "True", false: "False"}[certificate != nil]}
	case r.Type == RuleClientCertResult:
		return []string{"0"} // a certificate that does not pass ends the handshake
	case certificate == nil:
		return nil
	default:
		return subjectField(certificate, r.Key)
	}
}

// subjectField reads one field of a certificate's subject, such as CN or OU.
func subjectField(certificate *x509.Certificate, field string) []string {
	ids := map[string]asn1.ObjectIdentifier{
		"CN": {2, 5, 4, 3}, "C": {2, 5, 4, 6}, "L": {2, 5, 4, 7}, "ST": {2, 5, 4, 8},
		"O": {2, 5, 4, 10}, "OU": {2, 5, 4, 11}, "serialNumber": {2, 5, 4, 5},
	}
	id, known := ids[field]
	if !known {
		return nil
	}
	var values []string
	for _, name := range certificate.Subject.Names {
		if slices.Equal(name.Type, id) {
			values = append(values, fmt.Sprint(name.Value))
		}
	}
	return values
}

// clientCertificate is what the client showed, nil for nothing.
func clientCertificate(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}
