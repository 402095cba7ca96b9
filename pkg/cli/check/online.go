package check

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// cloud is the cloud of a cloud.conf.
type cloud struct {
	session *openstack.Session
	conf    *config.Config
	// read has the places of settings in cloud.conf.
	read    *config.Inspection
	options Options
	now     func() time.Time
}

// ask signs in and adds the findings about the cloud.
func (r *Report) ask(ctx context.Context, i *config.Inspection, options Options) *Report {
	session, err := signIn(ctx, i.Config, options)
	if err != nil {
		r.add(signInFailed(err, i.Config.Global.AuthMethod()))
		return r
	}
	defer session.Close()
	c := &cloud{session: session, conf: i.Config, read: i, options: options, now: options.Clock.Now}
	r.add(signInFindings(session.Identity(), i.Config.Global, session.PinnedRegion())...)
	asked := c.askServices(ctx)
	r.add(serviceFindings(asked, i.Config)...)
	r.add(certificateFindings(certificatesOfServices(asked), options.Clock.Now())...)
	if i.Config.LoadBalancer.Enabled && (reachable(asked, octaviaService) || withoutOctavia(i.Config)) && reachable(asked, neutronService) {
		r.add(c.loadBalancers(ctx)...)
	}
	r.add(c.nodes(ctx)...)
	r.add(c.quotas(ctx, asked)...)
	r.add(c.rights(ctx, asked)...)
	r.add(clockFindings(asked)...)
	r.add(expiryFinding(session.Expiry(ctx), options.Clock.Now()))
	return r
}

func (r *Report) add(found ...Finding) { r.Findings = append(r.Findings, found...) }

func signIn(ctx context.Context, conf *config.Config, options Options) (*openstack.Session, error) {
	sessionOptions, err := cloudprovider.SessionOptions(conf, options.UserAgent)
	if err != nil {
		return nil, err
	}
	sessionOptions.Retry = options.Retry
	return openstack.NewSession(ctx, conf.Global, sessionOptions)
}

// signInFailed names the settings to correct if Keystone refused the credentials.
func signInFailed(err error, method config.AuthMethod) Finding {
	f := Finding{Topic: SignIn, Verdict: Wrong, Subject: "Keystone", Text: err.Error()}
	if apierror.IsCredentialsRefused(err) {
		f.Text += fmt.Sprintf("; correct the credentials in [Global] (%s)", method)
	}
	return f
}

// signInFindings describes the user of the controller.
func signInFindings(who auth.Identity, global config.Global, region string) []Finding {
	good := func(subject, text string) Finding {
		return Finding{Topic: SignIn, Verdict: Good, Subject: subject, Text: text}
	}
	roles := good("roles", strings.Join(who.Roles, ", "))
	if len(who.Roles) == 0 {
		roles.Verdict, roles.Text = Warning, "Keystone names none"
	}
	found := []Finding{
		good("Keystone", fmt.Sprintf("signed in by %s", global.AuthMethod())),
		good("user", nameAndID(who.UserName, who.UserID)),
		good("project", nameAndID(who.ProjectName, who.ProjectID)),
		roles,
	}
	if region != "" {
		found = append(found, good("region", region))
	}
	if global.TLSInsecure {
		found = append(found, Finding{Topic: SignIn, Verdict: Warning, Subject: "tls-insecure", Text: "certificates of the services are not verified: a proxy in between can read the credentials"})
	}
	return found
}

func nameAndID(name, id string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", name, id)
}

// expiryFinding checks the expiry of credentials.
func expiryFinding(expiry auth.Expiry, now time.Time) Finding {
	subject := map[string]string{
		auth.ExpiringPassword: "password", auth.ExpiringApplicationCredential: "application credential", auth.ExpiringToken: "token",
	}[expiry.Kind]
	f := Finding{Topic: Times, Subject: subject}
	if expiry.At.IsZero() {
		f.Verdict, f.Text = Good, "Keystone returns no expiry"
		if expiry.Kind == auth.ExpiringApplicationCredential {
			f.Text += ", or cannot read itself"
		}
		return f
	}
	f.Verdict, f.Text = ending(expiry.At, now)
	return f
}

// certificatesOfServices returns the first certificate to expire of each service's chain, without
// duplicates: services behind one gateway have the same.
func certificatesOfServices(all []service) []certificate {
	var shown []certificate
	for _, s := range all {
		first := firstToEnd(s.chain)
		if first == nil {
			continue
		}
		subject := first.Subject.String()
		same := slices.IndexFunc(shown, func(c certificate) bool { return c.subject == subject && c.notAfter.Equal(first.NotAfter) })
		if same < 0 {
			shown = append(shown, certificate{of: s.name, subject: subject, notAfter: first.NotAfter})
			continue
		}
		shown[same].of += ", " + s.name
	}
	return shown
}

func firstToEnd(chain []*x509.Certificate) *x509.Certificate {
	var first *x509.Certificate
	for _, c := range chain {
		if first == nil || c.NotAfter.Before(first.NotAfter) {
			first = c
		}
	}
	return first
}
