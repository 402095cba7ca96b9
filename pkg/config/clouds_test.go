package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cloudsFolder makes a folder with the files and returns its path.
func cloudsFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(folder, name), content)
	}
	return folder
}

// useClouds is a [Global] that reads clouds.yaml of the folder.
func useClouds(folder string, keys ...string) string {
	return "[Global]\nuse-clouds=true\nclouds-file=" + filepath.Join(folder, "clouds.yaml") + "\n" + strings.Join(keys, "\n") + "\n"
}

// oneCloud is a clouds.yaml with one entry, which holds these lines.
func oneCloud(lines ...string) map[string]string {
	return map[string]string{"clouds.yaml": "clouds:\n  mine:\n    " + strings.Join(lines, "\n    ") + "\n"}
}

const passwordAuth = `auth: {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, project_id: t}`

// passwordGlobal is what passwordAuth gives.
func passwordGlobal(change func(*Global)) Global {
	g := Global{AuthURL: "https://keystone.example.com/v3", UserID: "u", Password: "p", TenantID: "t"}
	if change != nil {
		change(&g)
	}
	return g
}

func TestClouds_FillWhatCloudConfLeavesOpen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keys  []string
		files map[string]string
		want  Global
	}{
		"all names": {nil, map[string]string{"clouds.yaml": `
clouds:
  mine:
    auth:
      auth_url: https://keystone.example.com/v3
      username: un
      password: 0123
      project_name: pn
      project_domain_name: pdn
      user_domain_name: udn
      domain_name: dn
    region_name: R1
    cacert: ca
    cert: c
    key: k
`}, Global{
			AuthURL: "https://keystone.example.com/v3", Username: "un", Password: "0123", TenantName: "pn",
			TenantDomainName: "pdn", UserDomainName: "udn", DomainName: "dn", Region: "R1", CAFile: "ca", CertFile: "c", KeyFile: "k",
		}},
		"all ids": {nil, map[string]string{"clouds.yaml": `
clouds:
  mine:
    auth:
      auth_url: https://keystone.example.com/v3
      user_id: u
      password: p
      project_id: t
      project_domain_id: pdi
      user_domain_id: udi
      domain_id: di
`}, passwordGlobal(func(g *Global) { g.TenantDomainID, g.UserDomainID, g.DomainID = "pdi", "udi", "di" })},
		"verify: false":                 {nil, oneCloud(passwordAuth, "verify: false"), passwordGlobal(func(g *Global) { g.TLSInsecure = true })},
		"verify: true":                  {nil, oneCloud(passwordAuth, "verify: true"), passwordGlobal(nil)},
		"tls-insecure wins over verify": {[]string{"tls-insecure=false"}, oneCloud(passwordAuth, "verify: false"), passwordGlobal(nil)},
		"interface":                     {nil, oneCloud(passwordAuth, "interface: internal"), passwordGlobal(func(g *Global) { g.EndpointType = "internal" })},
		"endpoint_type wins":            {nil, oneCloud(passwordAuth, "interface: internal", "endpoint_type: adminURL"), passwordGlobal(func(g *Global) { g.EndpointType = "admin" })},
		"trust_id": {nil, oneCloud(`auth: {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, project_id: t, trust_id: tr}`),
			passwordGlobal(func(g *Global) { g.TrustID = "tr" })},
		"default_domain": {nil, oneCloud(`auth: {auth_url: "https://keystone.example.com/v3", username: u, password: p, project_name: t, default_domain: default}`),
			Global{AuthURL: "https://keystone.example.com/v3", Username: "u", Password: "p", TenantName: "t", DomainID: "default"}},
		"application credential by auth_type": {nil, oneCloud(
			"auth_type: v3applicationcredential",
			`auth: {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, application_credential_id: a, application_credential_secret: s}`),
			Global{AuthURL: "https://keystone.example.com/v3", UserID: "u", ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"}},
		"password by auth_type": {nil, oneCloud(
			"auth_type: password",
			`auth: {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, project_id: t, token: x, application_credential_id: a, application_credential_secret: s}`),
			passwordGlobal(nil)},
		"cloud.conf wins": {[]string{"user-id=mine", "region=R2", "ca-file=other"}, oneCloud(passwordAuth, "region_name: R1", "cacert: ca"),
			passwordGlobal(func(g *Global) { g.UserID, g.Region, g.CAFile = "mine", "R2", "other" })},
		"name in cloud.conf wins over id": {[]string{"tenant-name=mine", "domain-name=d"}, oneCloud(passwordAuth),
			passwordGlobal(func(g *Global) { g.TenantID, g.TenantName, g.DomainName = "", "mine", "d" })},
		"way to sign in of cloud.conf wins": {[]string{"password=mine"}, oneCloud(
			`auth: {auth_url: "https://keystone.example.com/v3", user_id: u, project_id: t, application_credential_id: a, application_credential_secret: s}`),
			passwordGlobal(func(g *Global) { g.Password = "mine" })},
		"list of regions": {nil, oneCloud(passwordAuth, "regions: [R1, R2]"), passwordGlobal(func(g *Global) { g.Region = "R1" })},
		"values of a region": {[]string{"region=R2"}, oneCloud(passwordAuth, "verify: true", "regions: [{name: R1}, {name: R2, values: {interface: admin, verify: false}}]"),
			passwordGlobal(func(g *Global) { g.Region, g.EndpointType, g.TLSInsecure = "R2", "admin", true })},
		"merge keys": {nil, map[string]string{"clouds.yaml": `
clouds:
  mine:
    <<: &base
      region_name: R1
    auth: {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, project_id: t}
`}, passwordGlobal(func(g *Global) { g.Region = "R1" })},
		"secure.yaml": {nil, map[string]string{
			"clouds.yaml": "clouds: {mine: {verify: true, auth: {auth_url: 'https://keystone.example.com/v3', user_id: u, project_id: t}}}",
			"secure.yaml": "clouds: {mine: {verify: false, auth: {password: p}}, other: {auth: {password: q}}}",
		}, passwordGlobal(func(g *Global) { g.TLSInsecure = true })},
		"clouds-public.yaml": {nil, map[string]string{
			"clouds.yaml":        "clouds: {mine: {profile: vendor, auth: {user_id: u, password: p, project_id: t}}}",
			"clouds-public.yaml": "public-clouds: {vendor: {region_name: R9, auth: {auth_url: 'https://keystone.example.com/v3'}}}",
		}, passwordGlobal(func(g *Global) { g.Region = "R9" })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := cloudsFolder(t, test.files)
			got := mustLoad(t, useClouds(folder, test.keys...)).Global
			test.want.UseClouds, test.want.Cloud, test.want.CloudsFile = true, "mine", filepath.Join(folder, "clouds.yaml")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("global (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClouds_AreChosenByName(t *testing.T) {
	t.Parallel()
	folder := cloudsFolder(t, map[string]string{"clouds.yaml": `
clouds:
  a:
    region_name: RA
    auth: &auth {auth_url: "https://keystone.example.com/v3", user_id: u, password: p, project_id: t}
  b:
    region_name: RB
    auth: *auth
`})
	conf := useClouds(folder)
	tests := map[string]struct {
		text string
		env  map[string]string
		want string
	}{
		"in cloud.conf":       {conf + "cloud=b\n", nil, "RB"},
		"by OS_CLOUD":         {conf, map[string]string{"OS_CLOUD": "b"}, "RB"},
		"cloud.conf wins":     {conf + "cloud=a\n", map[string]string{"OS_CLOUD": "b"}, "RA"},
		"OS_CLIENT_CONFIG":    {"[Global]\nuse-clouds\ncloud=a\n", map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(folder, "clouds.yaml")}, "RA"},
		"clouds-file wins":    {conf + "cloud=a\n", map[string]string{"OS_CLIENT_CONFIG_FILE": "/nonexistent"}, "RA"},
		"environment only":    {"", map[string]string{"OS_CLOUD": "b", "OS_CLIENT_CONFIG_FILE": filepath.Join(folder, "clouds.yaml")}, "RB"},
		"environment's value": {"", map[string]string{"OS_CLOUD": "b", "OS_REGION_NAME": "RC", "OS_CLIENT_CONFIG_FILE": filepath.Join(folder, "clouds.yaml")}, "RC"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := ""
			if test.text != "" {
				path = filepath.Join(t.TempDir(), "cloud.conf")
				writeFile(t, path, test.text)
			}
			config, _, err := LoadFile(path, environment(test.env))
			if err != nil {
				t.Fatal(err)
			}
			if config.Global.Region != test.want {
				t.Errorf("region %q, want %q", config.Global.Region, test.want)
			}
		})
	}
}

func TestClouds_AreSearchedForInUsualPlaces(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file string
		env  func(home string) map[string]string
	}{
		"home":         {".config/openstack/clouds.yaml", func(home string) map[string]string { return map[string]string{"HOME": home} }},
		"other ending": {".config/openstack/clouds.yml", func(home string) map[string]string { return map[string]string{"HOME": home} }},
		"XDG": {"xdg/openstack/clouds.yaml", func(home string) map[string]string {
			return map[string]string{"HOME": "/nonexistent", "XDG_CONFIG_HOME": filepath.Join(home, "xdg")}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, test.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, path, oneCloud(passwordAuth)["clouds.yaml"])
			config, _, err := Load(strings.NewReader("[Global]\nuse-clouds=true\n"), environment(test.env(home)))
			if err != nil {
				t.Fatal(err)
			}
			if config.Global.CloudsFile != path || config.Global.UserID != "u" {
				t.Errorf("global %v", config.Global)
			}
		})
	}
}

func TestClouds_ReportProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keys  []string
		files map[string]string
		want  string // FILE stands for the path of clouds.yaml
	}{
		"no file":  {nil, nil, "clouds.yaml: open FILE: no such file or directory"},
		"no cloud": {[]string{"cloud=other"}, oneCloud(passwordAuth), `clouds.yaml: FILE has no cloud "other": allowed is mine`},
		"none chosen": {nil, map[string]string{"clouds.yaml": "clouds: {a: {}, b: {}}"},
			"clouds.yaml: FILE has 2 clouds and none is selected: set cloud to one of a, b"},
		"no profile": {nil, oneCloud(passwordAuth, "profile: vendor"),
			"clouds.yaml: FILE: cloud vendor does not exist in clouds-public.yaml"},
		"other way to sign in": {nil, oneCloud(passwordAuth, "auth_type: v3oidcpassword"),
			`clouds.yaml: FILE: cloud "mine": auth_type "v3oidcpassword": allowed is password, token or applicationcredential, each with or without v3 before it`},
		"text instead of a map": {nil, oneCloud("auth: geheim"),
			"clouds.yaml: reading FILE: yaml: unmarshal errors: line 3: cannot unmarshal !!str (redacted) into clientconfig.AuthInfo"},
		"text that is no YAML": {nil, oneCloud("auth: {password: *geheim}"),
			"clouds.yaml: reading FILE: yaml: unknown anchor (redacted) referenced"},
		"missing piece": {nil, oneCloud(`auth: {auth_url: "https://keystone.example.com/v3", user_id: u, project_id: t}`),
			`cloud.conf [Global] and clouds.yaml cloud "mine": sign-in by password is incomplete: missing password`},
		"bad address": {nil, oneCloud(`auth: {auth_url: keystone, user_id: u, password: p, project_id: t}`),
			`clouds.yaml cloud "mine" auth.auth_url "keystone": it does not start with http:// or https://: allowed is an absolute http or https URL without user and password`},
		"bad interface": {nil, oneCloud(passwordAuth, "interface: outer"),
			`clouds.yaml cloud "mine" endpoint_type "outer": allowed is public, internal, admin, publicURL, internalURL, adminURL`},
		"huge file": {nil, oneCloud(passwordAuth, strings.Repeat("#", maxFileSize)),
			"clouds.yaml: reading FILE: the file is larger than 1048576 bytes"},
		"broken secure.yaml": {nil, map[string]string{"clouds.yaml": "clouds: {mine: {}}", "secure.yaml": "clouds: [geheim]"},
			"clouds.yaml: reading DIR/secure.yaml: yaml: unmarshal errors: line 1: cannot unmarshal !!seq into map[string]config.cloudEntry"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := cloudsFolder(t, test.files)
			_, _, err := Load(strings.NewReader(useClouds(folder, test.keys...)), nil)
			want := strings.NewReplacer("FILE", filepath.Join(folder, "clouds.yaml"), "DIR", folder).Replace(test.want)
			if diff := cmp.Diff([]string{want}, lines(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClouds_FailWhereNoFileExists(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	_, err := firstClouds([]string{a, b})
	if diff := cmp.Diff([]string{"none of these files exists: " + a + ", " + b + ": set clouds-file"}, lines(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
