package openstack

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// credentials are what we sign in with.
type credentials struct {
	options tokens.AuthOptions
	// secrets must not show up in any error.
	secrets []string
}

// bareToken is the token that was given instead of something that yields tokens,
// "" when there is none.
func (c credentials) bareToken() string { return c.options.TokenID }

// newCredentials gathers what the configured way to sign in needs. What is missing
// config has complained about, and gophercloud does.
func newCredentials(cfg config.Global) (credentials, error) {
	var options tokens.AuthOptions
	switch cfg.AuthMethod() {
	case config.AuthApplicationCredential:
		options = applicationCredential(cfg)
	case config.AuthTrust:
		options = tokens.AuthOptions{Scope: tokens.Scope{TrustID: cfg.TrustID}}
		setUser(&options, cfg)
		_, _, options.Password = cfg.User()
	case config.AuthPassword:
		options = tokens.AuthOptions{Scope: projectScope(cfg)}
		setUser(&options, cfg)
		_, _, options.Password = cfg.User()
	case config.AuthToken:
		options = tokens.AuthOptions{TokenID: cfg.Token, Scope: projectScope(cfg)}
	case config.AuthNone:
		return credentials{}, errors.New("no credentials: set password, application-credential-secret, token or trust-id")
	}
	creds := credentials{options: options}
	for _, secret := range []string{options.Password, options.ApplicationCredentialSecret, options.TokenID} {
		if secret != "" {
			creds.secrets = append(creds.secrets, secret)
		}
	}
	return creds, nil
}

// applicationCredential has its project in itself: Keystone refuses a scope. Only
// a name needs the user.
func applicationCredential(cfg config.Global) tokens.AuthOptions {
	options := tokens.AuthOptions{ApplicationCredentialSecret: cfg.ApplicationCredentialSecret}
	if cfg.ApplicationCredentialID != "" {
		options.ApplicationCredentialID = cfg.ApplicationCredentialID
		return options
	}
	options.ApplicationCredentialName = cfg.ApplicationCredentialName
	setUser(&options, cfg)
	return options
}

// setUser fills in the user by ID, or by name and domain.
func setUser(options *tokens.AuthOptions, cfg config.Global) {
	options.UserID, options.Username, _ = cfg.User()
	if options.Username != "" {
		options.DomainID, options.DomainName = cfg.UserDomain()
	}
}

func projectScope(cfg config.Global) tokens.Scope {
	if cfg.TenantID != "" {
		return tokens.Scope{ProjectID: cfg.TenantID}
	}
	if cfg.TenantName == "" {
		return tokens.Scope{}
	}
	scope := tokens.Scope{ProjectName: cfg.TenantName}
	scope.DomainID, scope.DomainName = cfg.TenantDomain()
	return scope
}

// identityEndpoint makes the URL of Keystone's API version 3, which Keystone has
// at the same place below its root since version 3 exists: nothing to discover.
func identityEndpoint(authURL string) (string, error) {
	parsed, err := url.Parse(authURL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return "", errors.New("auth-url is not an http or https URL") // not quoted: it may hold a password
	}
	root, _ := splitVersion(parsed, "")
	return root + "v3/", nil
}

// keystone asks for tokens.
type keystone struct {
	client *gophercloud.ServiceClient
	creds  credentials
	clock  clock.Clock
}

// newKeystone makes a client that asks through transport.
func newKeystone(endpoint string, creds credentials, transport http.RoundTripper, userAgent string, now clock.Clock) *keystone {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport, CheckRedirect: sameHostReads}}
	provider.UserAgent.Prepend(userAgent)
	client := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: endpoint, Type: "identity"}
	return &keystone{client: client, creds: creds, clock: now}
}

// issue gets a token: a new one, or, with nothing but a token to sign in with, the
// facts about that. Errors are AuthenticationErrors.
func (k *keystone) issue(ctx context.Context) (*token, error) {
	asked := k.clock.Now()
	var result interface {
		ExtractInto(any) error
		ExtractTokenID() (string, error)
	}
	options := k.creds.options
	if bare := k.creds.bareToken(); bare != "" && options.Scope == (tokens.Scope{}) {
		client := *k.client
		client.MoreHeaders = map[string]string{"X-Auth-Token": bare}
		result = tokens.Get(ctx, &client, bare)
	} else {
		result = tokens.Create(ctx, k.client, &options)
	}
	issued, err := readToken(result, asked)
	if err != nil {
		return nil, &apierror.AuthenticationError{Err: apierror.WithoutSecrets(err, k.creds.secrets)}
	}
	issued.renewable = k.creds.bareToken() == ""
	return issued, nil
}

// reread takes over the credentials that load gives, and tells whether they are
// others than before. What cannot be read changes nothing.
func (k *keystone) reread(ctx context.Context, load func() (config.Global, error)) bool {
	if load == nil {
		return false
	}
	cfg, err := load()
	var creds credentials
	if err == nil {
		creds, err = newCredentials(cfg)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "The configuration cannot be read again: the credentials stay as they are")
		return false
	}
	if creds.options == k.creds.options {
		return false
	}
	klog.FromContext(ctx).Info("The configuration has new credentials")
	k.creds = creds
	return true
}

// token is a signed-in state: the token, whose it is, and what it opens.
type token struct {
	id        string
	projectID string
	catalog   []tokens.CatalogEntry
	renewable bool
	asked     time.Time // on our own clock
	// expires is on our own clock, whatever the service's says; zero when unknown.
	expires time.Time
	// renewAt is when most of its life is over.
	renewAt time.Time
	// replaced counts the tokens in a row before it that were replaced young.
	replaced int
}

// expired tells whether the token surely opens nothing any more.
func (t *token) expired(now time.Time) bool {
	return !t.expires.IsZero() && !now.Before(t.expires)
}

// young tells whether the token was issued a short time ago.
func (t *token) young(now time.Time) bool { return now.Sub(t.asked) < youngToken }

// due gives when to ask for the next token.
func (t *token) due() time.Time {
	switch {
	case t.renewable:
		return t.renewAt
	case t.expires.IsZero():
		return t.asked.Add(forever)
	}
	return t.expires
}

// cannotBeRenewed is the error of a token that the configuration gave.
func (t *token) cannotBeRenewed(now time.Time) error {
	reason := &apierror.TokenExpiredError{}
	if t.expired(now) {
		reason.At = t.expires
	}
	return &apierror.AuthenticationError{Err: reason}
}

// renewAfter is the part of a token's life after which we ask for the next one. The
// rest is for Keystone to be out of order in.
const renewAfter = 0.85

const (
	// unknownLife is what a token counts as living when Keystone does not say.
	unknownLife = time.Hour
	// forever is longer than any process.
	forever = 100 * 365 * 24 * time.Hour
)

func readToken(result interface {
	ExtractInto(any) error
	ExtractTokenID() (string, error)
}, asked time.Time) (*token, error) {
	var body struct {
		IssuedAt  time.Time             `json:"issued_at"`
		ExpiresAt time.Time             `json:"expires_at"`
		Catalog   []tokens.CatalogEntry `json:"catalog"`
		Project   struct {
			ID string `json:"id"`
		} `json:"project"`
	}
	if err := result.ExtractInto(&body); err != nil {
		return nil, err
	}
	id, err := result.ExtractTokenID()
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("the answer of Keystone has no X-Subject-Token")
	}
	if body.Project.ID == "" {
		return nil, errors.New("the token is for no project: set tenant-id, or tenant-name and its domain")
	}
	t := &token{id: id, projectID: body.Project.ID, catalog: body.Catalog, asked: asked}
	if body.ExpiresAt.IsZero() {
		t.renewAt = asked.Add(part(unknownLife))
	} else {
		t.setLife(asked, body.IssuedAt, body.ExpiresAt)
	}
	return t, nil
}

// setLife computes the times on our clock from the length of the life, so that a
// clock that differs from Keystone's does no harm.
func (t *token) setLife(asked, issued, expires time.Time) {
	life := expires.Sub(issued)
	if issued.IsZero() {
		life = expires.Sub(asked)
	}
	t.expires = asked.Add(life)
	t.renewAt = asked.Add(max(minRenewal, part(life)))
}

// part gives how much of a life goes by before a renewal.
func part(life time.Duration) time.Duration { return time.Duration(float64(life) * renewAfter) }
