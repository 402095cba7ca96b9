package check

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// expiresSoon is the time before the expiry of credentials and certificates from which it is a
// warning, as in the controller.
const expiresSoon = 14 * 24 * time.Hour

// certificate is one that connections to the cloud depend on.
type certificate struct {
	// of is the setting or the service, subject the certificate's subject.
	of, subject string
	notAfter    time.Time
	err         error
}

// certificatesOf reads the certificates in the files of [Global].
func certificatesOf(global config.Global) []certificate {
	var all []certificate
	for _, file := range []struct{ key, path string }{{"ca-file", global.CAFile}, {"cert-file", global.CertFile}} {
		if file.path != "" {
			all = append(all, certificatesIn("[Global] "+file.key, file.path)...)
		}
	}
	return all
}

func certificatesIn(of, path string) []certificate {
	rest, err := os.ReadFile(path)
	if err != nil {
		return []certificate{{of: of, err: err}}
	}
	var all []certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			all = append(all, certificate{of: of, err: err})
			continue
		}
		all = append(all, certificate{of: of, subject: parsed.Subject.String(), notAfter: parsed.NotAfter})
	}
	if len(all) == 0 {
		return []certificate{{of: of, err: errors.New("there is no certificate in " + path)}}
	}
	return all
}

// certificateFindings checks certificates. An expired one in a bundle of authorities is only wrong
// if no valid one is left.
func certificateFindings(all []certificate, now time.Time) []Finding {
	usable := map[string]bool{}
	for _, c := range all {
		usable[c.of] = usable[c.of] || c.err == nil && now.Before(c.notAfter)
	}
	var found []Finding
	for _, c := range all {
		f := Finding{Topic: Certificates, Verdict: Good, Subject: c.of}
		switch {
		case c.err != nil && usable[c.of]:
			f.Verdict, f.Text = Warning, "a certificate cannot be read: "+c.err.Error()
		case c.err != nil:
			f.Verdict, f.Text = Wrong, c.err.Error()
		default:
			f.Verdict, f.Text = ending(c.notAfter, now)
			f.Text = c.subject + " " + f.Text
			if f.Verdict == Wrong && usable[c.of] {
				f.Verdict = Warning
			}
		}
		found = append(found, f)
	}
	return found
}

func ending(at, now time.Time) (Verdict, string) {
	rest, day := at.Sub(now), at.UTC().Format("2006-01-02")
	switch {
	case rest <= 0:
		return Wrong, "has expired on " + day
	case rest < expiresSoon:
		return Warning, fmt.Sprintf("expires on %s, in %s", day, inWords(rest))
	}
	return Good, "is good until " + day
}

// inWords formats a time in days, or a short one in hours.
func inWords(d time.Duration) string {
	if d < 48*time.Hour {
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}
