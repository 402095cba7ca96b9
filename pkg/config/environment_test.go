package config

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//proves:96
func TestEnvironment_ReplacesMissingFile(t *testing.T) {
	t.Parallel()
	const url = "https://keystone.example.com/v3"
	tests := map[string]struct {
		env  map[string]string
		want Global
	}{
		"password and names": {
			map[string]string{
				"OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_PROJECT_NAME": "t",
				"OS_USER_DOMAIN_NAME": "ud", "OS_PROJECT_DOMAIN_NAME": "pd", "OS_REGION_NAME": "R1",
			},
			Global{Username: "u", Password: "p", TenantName: "t", UserDomainName: "ud", TenantDomainName: "pd", Region: "R1"},
		},
		"password and ids": {
			map[string]string{"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "t", "OS_DOMAIN_ID": "d", "OS_INTERFACE": "internal"},
			Global{UserID: "u", Password: "p", TenantID: "t", DomainID: "d", EndpointType: "internal"},
		},
		"old names of project and interface": {
			map[string]string{"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_TENANT_ID": "t", "OS_ENDPOINT_TYPE": "adminURL"},
			Global{UserID: "u", Password: "p", TenantID: "t", EndpointType: "admin"},
		},
		"new name before the old one": {
			map[string]string{"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_TENANT_ID": "old", "OS_PROJECT_ID": "new"},
			Global{UserID: "u", Password: "p", TenantID: "new"},
		},
		"default domain": {
			map[string]string{"OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_PROJECT_NAME": "t", "OS_DEFAULT_DOMAIN": "default"},
			Global{Username: "u", Password: "p", TenantName: "t", DomainID: "default"},
		},
		"application credential": {
			map[string]string{"OS_APPLICATION_CREDENTIAL_ID": "a", "OS_APPLICATION_CREDENTIAL_SECRET": "s", "OS_PASSWORD": ""},
			Global{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
		},
		"what OS_AUTH_TYPE leaves out": {
			map[string]string{
				"OS_AUTH_TYPE": "v3applicationcredential", "OS_PASSWORD": "p", "OS_TOKEN": "x",
				"OS_APPLICATION_CREDENTIAL_ID": "a", "OS_APPLICATION_CREDENTIAL_SECRET": "s",
			},
			Global{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
		},
		"trust": {
			map[string]string{"OS_TRUST_ID": "t", "OS_USER_ID": "u", "OS_PASSWORD": "p"},
			Global{TrustID: "t", UserID: "u", Password: "p"},
		},
		"TLS": {
			map[string]string{
				"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "t",
				"OS_CACERT": "ca", "OS_CERT": "c", "OS_KEY": "k", "OS_INSECURE": "1",
			},
			Global{UserID: "u", Password: "p", TenantID: "t", CAFile: "ca", CertFile: "c", KeyFile: "k", TLSInsecure: true},
		},
		"TLS verified": {
			map[string]string{"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "t", "OS_INSECURE": "False"},
			Global{UserID: "u", Password: "p", TenantID: "t"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(test.env)
			env["OS_AUTH_URL"] = url
			test.want.AuthURL = url
			config, warnings, err := LoadFile("", environment(env))
			if err != nil || len(warnings) > 0 {
				t.Fatalf("error %v, warnings %v", err, warnings)
			}
			if diff := cmp.Diff(test.want, config.Global); diff != "" {
				t.Errorf("global (-want +got):\n%s", diff)
			}
			if config.LoadBalancer.MaxPorts != 100 {
				t.Errorf("defaults are missing: %v", config)
			}
		})
	}
}

func TestEnvironment_NamesVariablesInProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing": {nil, []string{
			"environment: sign-in is incomplete: missing OS_AUTH_URL",
			"environment: sign-in is incomplete: missing OS_PASSWORD or OS_TRUST_ID or OS_APPLICATION_CREDENTIAL_SECRET or OS_TOKEN",
		}},
		"bad values": {
			map[string]string{"OS_AUTH_URL": "keystone", "OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_ENDPOINT_TYPE": "x", "OS_INSECURE": "maybe", "OS_AUTH_TYPE": "v3oidcpassword"},
			[]string{
				`environment OS_AUTH_URL "keystone": it does not start with http:// or https://: allowed is an absolute http or https URL without user and password`,
				`environment OS_ENDPOINT_TYPE "x": allowed is public, internal, admin, publicURL, internalURL, adminURL`,
				`environment OS_INSECURE "maybe": it is neither true nor false: allowed is true or false`,
				`environment OS_AUTH_TYPE "v3oidcpassword": allowed is password, token or applicationcredential, each with or without v3 before it`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := LoadFile("", environment(test.env))
			if diff := cmp.Diff(test.want, lines(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironment_IsIgnoredBesideFile(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"OS_REGION_NAME": "R1", "OS_CLOUD": "c", "OS_PASSWORD": "other"})
	config, _, err := Load(strings.NewReader(signIn), env)
	if err != nil {
		t.Fatal(err)
	}
	if g := config.Global; g.Region != "" || g.Cloud != "" || g.UseClouds || g.Password != "pw" {
		t.Errorf("global %v", g)
	}
}

func TestEnvironment_WarnsOfCloudsFileWithoutCloud(t *testing.T) {
	t.Parallel()
	_, warnings, err := LoadFile("", environment(map[string]string{
		"OS_AUTH_URL": "https://keystone.example.com/v3", "OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "t",
		"OS_CLIENT_CONFIG_FILE": "clouds.yaml",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"environment OS_CLIENT_CONFIG_FILE is ignored without OS_CLOUD"}, texts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestEnvironment_IsNotReadFromProcess(t *testing.T) {
	t.Setenv("OS_AUTH_URL", "https://process.example.com")
	t.Setenv("OS_CLOUD", "process")
	t.Setenv("OS_CLIENT_CONFIG_FILE", "/nonexistent/clouds.yaml")
	_, _, err := LoadFile("", environment(map[string]string{
		"OS_USER_ID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "t", "OS_AUTH_TYPE": "password",
	}))
	if diff := cmp.Diff([]string{"environment: sign-in is incomplete: missing OS_AUTH_URL"}, lines(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestEnvironment_EnablesRegionalIDsOnlyByTrue(t *testing.T) {
	t.Parallel()
	const region = "region=RegionOne\n"
	for name, test := range map[string]struct {
		value, conf string
		regional    bool
		warning     string
	}{
		"not given":      {"", region, false, ""},
		"true":           {"true", region, true, ""},
		"false":          {"false", region, false, ""},
		"another word":   {"True", region, false, `environment OS_CCM_REGIONAL "True" has no effect: allowed is true`},
		"without region": {"true", "", true, "environment OS_CCM_REGIONAL has no effect without a region: set [Global] region"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment(map[string]string{"OS_CCM_REGIONAL": test.value})
			_, warnings, err := Load(strings.NewReader(signIn+test.conf), env)
			if err != nil || strings.Join(texts(warnings), "; ") != test.warning || env.RegionalIDs() != test.regional {
				t.Errorf("%v, %v, warnings %v", env.RegionalIDs(), err, warnings)
			}
		})
	}
}
