package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// signInCase is what Keystone gets for a configuration.
type signInCase struct {
	cfg  config.Global
	want string
}

// signInCases has each way to sign in (Keystone's API reference, "Authentication
// and token management").
func signInCases() map[string]signInCase {
	return map[string]signInCase{
		"password, names and one domain": {
			config.Global{Username: "ccm", Password: "s3cret", TenantName: "prod", DomainName: "Default"},
			`{"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"name":"Default"},"password":"s3cret"}}},
			  "scope":{"project":{"name":"prod","domain":{"name":"Default"}}}}`,
		},
		"password, names and two domains": {
			config.Global{Username: "ccm", Password: "s3cret", UserDomainID: "users", DomainName: "no", TenantName: "prod", TenantDomainName: "Projects"},
			`{"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"id":"users"},"password":"s3cret"}}},
			  "scope":{"project":{"name":"prod","domain":{"name":"Projects"}}}}`,
		},
		"password, IDs go before names": {
			config.Global{UserID: "u1", Username: "ccm", Password: "s3cret", DomainID: "default", TenantID: "p1", TenantName: "prod"},
			`{"identity":{"methods":["password"],"password":{"user":{"id":"u1","password":"s3cret"}}},"scope":{"project":{"id":"p1"}}}`,
		},
		"application credential by ID": {
			config.Global{ApplicationCredentialID: "ac1", ApplicationCredentialSecret: "s3cret", TenantID: "p1"},
			`{"identity":{"methods":["application_credential"],"application_credential":{"id":"ac1","secret":"s3cret"}}}`,
		},
		"application credential by name": {
			config.Global{ApplicationCredentialName: "ac", ApplicationCredentialSecret: "s3cret", Username: "ccm", UserDomainName: "Users"},
			`{"identity":{"methods":["application_credential"],"application_credential":{"name":"ac","secret":"s3cret","user":{"name":"ccm","domain":{"name":"Users"}}}}}`,
		},
		"application credential by name and user ID": {
			config.Global{ApplicationCredentialName: "ac", ApplicationCredentialSecret: "s3cret", UserID: "u1", Password: "ignored"},
			`{"identity":{"methods":["application_credential"],"application_credential":{"name":"ac","secret":"s3cret","user":{"id":"u1"}}}}`,
		},
		"trust with its trustee": {
			config.Global{TrustID: "t1", TrusteeID: "u2", TrusteePassword: "s3cret", UserID: "u1", Password: "no", TenantID: "p1"},
			`{"identity":{"methods":["password"],"password":{"user":{"id":"u2","password":"s3cret"}}},"scope":{"OS-TRUST:trust":{"id":"t1"}}}`,
		},
		"trust with the user": {
			config.Global{TrustID: "t1", Username: "ccm", UserDomainID: "default", Password: "s3cret"},
			`{"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"id":"default"},"password":"s3cret"}}},"scope":{"OS-TRUST:trust":{"id":"t1"}}}`,
		},
		"token for a project": {
			config.Global{Token: "s3cret", TenantID: "p1"},
			`{"identity":{"methods":["token"],"token":{"id":"s3cret"}},"scope":{"project":{"id":"p1"}}}`,
		},
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	for name, test := range signInCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newFakeCloud(t)
			test.cfg.AuthURL = cloud.URL + "/identity/v3"
			s := cloud.session(t, test.cfg, SessionOptions{})
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, cloud.signIns[0]["auth"]); diff != "" {
				t.Errorf("auth (-want +got):\n%s", diff)
			}
			if s.ProjectID() != "project-1" || s.Region() != "" {
				t.Errorf("project %q, region %q", s.ProjectID(), s.Region())
			}
		})
	}
}

func TestTokenOfItsOwnProjectIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, config.Global{AuthURL: cloud.URL + "/identity", Token: "given"}, SessionOptions{})
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	if served := cloud.requests(); cloud.issued != 0 || served[0].Token != "given" {
		t.Errorf("%d tokens issued, sent %q", cloud.issued, served[0].Token)
	}
}

func TestMissingCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/v3"
	tests := map[string]config.Global{
		"no credentials: set password":                            {AuthURL: url},
		"one of Username and UserID":                              {AuthURL: url, Password: "s3cret"},
		"one of DomainID or DomainName":                           {AuthURL: url, Password: "s3cret", Username: "ccm"},
		"Application Credential Secret":                           {AuthURL: url, ApplicationCredentialID: "a"},
		"auth-url is not an http or https URL":                    {AuthURL: "keystone:5000", Password: "s3cret", UserID: "u1"},
		`os-endpoint-type "secret": allowed are public, internal`: {AuthURL: url, Password: "s3cret", UserID: "u1", EndpointType: "secret"},
		"read ca-file":                                            {AuthURL: url, Password: "s3cret", UserID: "u1", CAFile: "/does/not/exist"},
	}
	for want, cfg := range tests {
		_, err := NewSession(context.Background(), cfg, SessionOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestIdentityEndpoint(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://h:5000":               "http://h:5000/v3/",
		"http://h:5000/":              "http://h:5000/v3/",
		"https://h/identity":          "https://h/identity/v3/",
		"https://h/identity/v3":       "https://h/identity/v3/",
		"https://h/identity/v3/":      "https://h/identity/v3/",
		"https://h/v2.0":              "https://h/v3/",
		"https://user:pass@h/v3":      "https://h/v3/",
		"https://[2001:db8::1]:5000/": "https://[2001:db8::1]:5000/v3/",
	} {
		if got, err := identityEndpoint(given); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
}

// Keystone may quote the request that it does not like.
func TestSignInErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.keystone = func(w http.ResponseWriter, r *http.Request) {
		body, _ := json.Marshal(cloud.signIns[len(cloud.signIns)-1])
		text, _ := json.Marshal("refused: " + string(body))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"code":401,"message":%s}}`, text)
	}
	_, err := NewSession(context.Background(), cloud.config(), SessionOptions{})
	if err == nil {
		t.Fatal("signed in")
	}
	var auth *apierror.AuthenticationError
	if !errors.As(err, &auth) || apierror.StatusCode(err) != 401 || apierror.RequestID(err) == "" {
		t.Errorf("status %d, request %q, want an AuthenticationError: %v", apierror.StatusCode(err), apierror.RequestID(err), err)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), answerOf(err), apierror.Message(err)} {
		if strings.Contains(text, "pa55word") {
			t.Errorf("the password is in: %s", text)
		}
	}
	if !strings.Contains(err.Error(), "Keystone answered 401 refused: ") {
		t.Errorf("does not say what happened: %v", err)
	}
}

func TestUselessTokensAreRefused(t *testing.T) {
	t.Parallel()
	for want, handler := range map[string]http.HandlerFunc{
		"the token is for no project": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Subject-Token", "t")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"token":{"expires_at":"2030-01-01T00:00:00.000000Z"}}`)
		},
		"has no X-Subject-Token": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"token":{"project":{"id":"p"}}}`)
		},
		"the answer cannot be read": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `<html>`)
		},
	} {
		cloud := newFakeCloud(t)
		cloud.keystone = handler
		_, err := NewSession(context.Background(), cloud.config(), SessionOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || apierror.IsUnsure(err) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// The life of a token is a matter of Keystone's clock alone.
func TestClockSkewDoesNotMatter(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, skew := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		var fresh token
		fresh.setLife(asked, asked.Add(skew), asked.Add(skew+time.Hour))
		if !fresh.expires.Equal(asked.Add(time.Hour)) || !fresh.renewAt.Equal(asked.Add(51*time.Minute)) {
			t.Errorf("skew %s: renewed at %s, expires %s", skew, fresh.renewAt, fresh.expires)
		}
	}
	var fresh token
	fresh.setLife(asked, time.Time{}, asked.Add(time.Hour))
	if !fresh.expires.Equal(asked.Add(time.Hour)) {
		t.Errorf("without issued_at it expires %s", fresh.expires)
	}
}
