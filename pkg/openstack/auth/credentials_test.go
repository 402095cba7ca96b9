package auth

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
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

func TestSignIn_SendsCredentialsOfEveryMethod(t *testing.T) {
	t.Parallel()
	for name, test := range signInCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			test.cfg.AuthURL = cloud.URL + "/identity/v3"
			s := signedIn(t, test.cfg, testOptions{})
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, cloud.SignIns[0]["auth"]); diff != "" {
				t.Errorf("auth (-want +got):\n%s", diff)
			}
			if s.ProjectID() != "project-1" || s.Region() != "" {
				t.Errorf("project %q, region %q", s.ProjectID(), s.Region())
			}
		})
	}
}

func TestToken_IsUsedAsGivenForItsProject(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := signedIn(t, config.Global{AuthURL: cloud.URL + "/identity", Token: "given"}, testOptions{})
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	if served := cloud.Requests(); cloud.Issued != 0 || served[0].Token != "given" {
		t.Errorf("%d tokens issued, sent %q", cloud.Issued, served[0].Token)
	}
}

func TestIdentityEndpoint_IsVersion3OfAuthURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://h:5000":               "http://h:5000/v3/",
		"http://h:5000/":              "http://h:5000/v3/",
		"https://h/identity":          "https://h/identity/v3/",
		"https://h/identity/v3":       "https://h/identity/v3/",
		"https://h/identity/v3/":      "https://h/identity/v3/",
		"https://h/v2.0":              "https://h/v3/",
		"https://h/V3":                "https://h/v3/",
		"https://h/identity/V3/":      "https://h/identity/v3/",
		"https://h/V2.0":              "https://h/v3/",
		"https://user:pass@h/v3":      "https://h/v3/",
		"https://[2001:db8::1]:5000/": "https://[2001:db8::1]:5000/v3/",
	} {
		if got, err := identityEndpoint(given); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
}
