package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// global is a [Global] with an address of Keystone and these lines.
func global(keys ...string) string {
	return "[Global]\nauth-url=https://keystone.example.com/v3\n" + strings.Join(keys, "\n") + "\n"
}

func TestCredentials_AreAcceptedWhenComplete(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want AuthMethod
	}{
		"user id":                           {global("user-id=u", "password=p", "tenant-id=t"), AuthPassword},
		"user name":                         {global("username=u", "user-domain-name=d", "password=p", "tenant-id=t"), AuthPassword},
		"user and project names":            {global("username=u", "user-domain-id=d", "password=p", "tenant-name=t", "tenant-domain-id=e"), AuthPassword},
		"one domain for both":               {global("username=u", "domain-name=d", "password=p", "tenant-name=t"), AuthPassword},
		"application credential by id":      {global("application-credential-id=a", "application-credential-secret=s"), AuthApplicationCredential},
		"application credential by name":    {global("application-credential-name=a", "application-credential-secret=s", "user-id=u"), AuthApplicationCredential},
		"application credential and names":  {global("application-credential-name=a", "application-credential-secret=s", "username=u", "user-domain-id=d"), AuthApplicationCredential},
		"trust with the user as trustee":    {global("trust-id=t", "user-id=u", "password=p"), AuthTrust},
		"trust with a trustee":              {global("trust-id=t", "trustee-id=u", "trustee-password=p"), AuthTrust},
		"trust with a user name as trustee": {global("trust-id=t", "username=u", "domain-id=d", "password=p"), AuthTrust},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustLoad(t, test.text).Global.AuthMethod(); got != test.want {
				t.Errorf("method %q, want %q", got, test.want)
			}
		})
	}
}

func TestCredentials_NameMissingPiece(t *testing.T) {
	t.Parallel()
	const userDomain = "user-domain-id or user-domain-name or domain-id or domain-name"
	const tenantDomain = "tenant-domain-id or tenant-domain-name or domain-id or domain-name"
	tests := map[string]struct{ text, want string }{
		"nothing": {
			global(),
			"sign-in is incomplete: missing password or application-credential-secret or token or trust-id",
		},
		"address": {
			"[Global]\nuser-id=u\npassword=p\ntenant-id=t\n",
			"sign-in is incomplete: missing auth-url",
		},
		"password":             {global("user-id=u", "tenant-id=t"), "sign-in by password is incomplete: missing password"},
		"empty password":       {global("user-id=u", "tenant-id=t", "password="), "sign-in by password is incomplete: missing password"},
		"user":                 {global("password=p", "tenant-id=t"), "sign-in by password is incomplete: missing user-id or username"},
		"domain of the user":   {global("username=u", "password=p", "tenant-id=t"), "sign-in by password is incomplete: missing " + userDomain},
		"domain of project":    {global("user-id=u", "password=p", "tenant-name=t"), "sign-in by password is incomplete: missing " + tenantDomain},
		"several pieces":       {global("username=u"), "sign-in by password is incomplete: missing " + userDomain + "; password"},
		"secret":               {global("application-credential-id=a"), "sign-in by application credential is incomplete: missing application-credential-secret"},
		"which secret":         {global("application-credential-secret=s"), "sign-in by application credential is incomplete: missing application-credential-id or application-credential-name"},
		"whose credential":     {global("application-credential-secret=s", "application-credential-name=a"), "sign-in by application credential is incomplete: missing user-id or username"},
		"domain of its user":   {global("application-credential-secret=s", "application-credential-name=a", "username=u"), "sign-in by application credential is incomplete: missing " + userDomain},
		"trustee":              {global("trust-id=t", "password=p"), "sign-in by trust is incomplete: missing trustee-id or user-id or username"},
		"password of trustee":  {global("trust-id=t", "trustee-id=u"), "sign-in by trust is incomplete: missing trustee-password or password"},
		"trustee of any kind":  {global("trust-id=t", "token=x"), "sign-in by trust is incomplete: missing trustee-id or user-id or username; trustee-password or password"},
		"key of a certificate": {strings.Replace(signIn, "[Global]", "[Global]\ncert-file=c.pem", 1), "the client certificate is incomplete: missing key-file"},
		"certificate of a key": {strings.Replace(signIn, "[Global]", "[Global]\nkey-file=k.pem", 1), "the client certificate is incomplete: missing cert-file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Load(strings.NewReader(test.text), nil)
			if diff := cmp.Diff([]string{"cloud.conf [Global]: " + test.want}, lines(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentials_WarnOfUnusedOnes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text   string
		method AuthMethod
		want   []string
	}{
		"password beside an application credential": {
			global("application-credential-id=a", "application-credential-secret=s", "user-id=u", "password=p"),
			AuthApplicationCredential,
			[]string{"cloud.conf [Global]: signing in by application credential, so password is not used"},
		},
		"all beside a token": {
			global("token=x", "application-credential-id=a", "application-credential-secret=s", "user-id=u", "password=p"),
			AuthToken,
			[]string{
				"cloud.conf [Global]: signing in by token, so application-credential-secret, password is not used",
				"cloud.conf [Global] token cannot be renewed: every call fails once it has expired",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, warnings, err := Load(strings.NewReader(test.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Global.AuthMethod(); got != test.method {
				t.Errorf("method %q, want %q", got, test.method)
			}
			if diff := cmp.Diff(test.want, texts(warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentials_TakeUserAsTrusteeOfTrust(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		global             Global
		id, name, password string
	}{
		"id wins over name":           {Global{UserID: "u", Username: "n", Password: "p"}, "u", "", "p"},
		"name":                        {Global{Username: "n", Password: "p"}, "", "n", "p"},
		"trustee without a trust":     {Global{Username: "n", Password: "p", TrusteeID: "t", TrusteePassword: "q"}, "", "n", "p"},
		"trustee":                     {Global{TrustID: "x", Username: "n", Password: "p", TrusteeID: "t", TrusteePassword: "q"}, "t", "", "q"},
		"trustee with one's password": {Global{TrustID: "x", Password: "p", TrusteeID: "t"}, "t", "", "p"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, user, password := test.global.User()
			if diff := cmp.Diff([]string{test.id, test.name, test.password}, []string{id, user, password}); diff != "" {
				t.Errorf("id, name and password (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentials_PreferOwnDomainToCommonOne(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		global Global
		want   [4]string // id and name of the user's and of the project's domain
	}{
		"none":            {Global{}, [4]string{}},
		"common id":       {Global{DomainID: "d", DomainName: "n"}, [4]string{"d", "", "d", ""}},
		"common name":     {Global{DomainName: "n"}, [4]string{"", "n", "", "n"}},
		"own of the user": {Global{DomainID: "d", UserDomainName: "u"}, [4]string{"", "u", "d", ""}},
		"own of both":     {Global{DomainID: "d", UserDomainID: "u", TenantDomainName: "t"}, [4]string{"u", "", "", "t"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [4]string
			got[0], got[1] = test.global.UserDomain()
			got[2], got[3] = test.global.TenantDomain()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("domains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentials_MapAuthTypeToAuthMethod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]AuthMethod{
		"": AuthNone, "password": AuthPassword, "v3password": AuthPassword, "token": AuthToken, "v3token": AuthToken,
		"applicationcredential": AuthApplicationCredential, "v3applicationcredential": AuthApplicationCredential,
	} {
		if got, err := methodOfAuthType(text, "auth_type"); err != nil || got != want {
			t.Errorf("auth_type %q: %q, error %v", text, got, err)
		}
	}
	for _, text := range []string{"v2password", "v3", "Password", "v3totp"} {
		if got, err := methodOfAuthType(text, "auth_type"); err == nil {
			t.Errorf("auth_type %q: %q", text, got)
		}
	}
}
