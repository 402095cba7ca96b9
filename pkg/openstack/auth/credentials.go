package auth

import (
	"errors"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// credentials are the credentials of the session.
type credentials struct {
	options tokens.AuthOptions
	// secrets must not appear in any error.
	secrets []string
}

// bareToken returns a configured token, "" if the credentials can issue tokens.
func (c credentials) bareToken() string { return c.options.TokenID }

// newCredentials returns the credentials of the configured method. Package config and gophercloud
// refuse incomplete ones.
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

// applicationCredential returns credentials without a scope, which Keystone would refuse, because
// they define the project. Only a name needs the user.
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

// setUser sets the user by ID, or by name and domain.
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

// identityEndpoint returns the URL of Keystone's API version 3, which has the same path below the
// root in all releases, so that discovery is not needed. It accepts a version in upper case,
// although Keystone does not.
func identityEndpoint(authURL string) (string, error) {
	parsed, err := url.Parse(authURL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return "", errors.New("auth-url is not an http or https URL") // not quoted: it may hold a password
	}
	segments := strings.Split(parsed.Path, "/")
	for i, segment := range segments {
		if lower := strings.ToLower(segment); rest.IsVersion(lower) {
			segments[i] = lower
		}
	}
	root, _ := splitVersion(&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: strings.Join(segments, "/")}, "")
	return root + "v3/", nil
}
