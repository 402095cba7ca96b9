package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspected reads a cloud.conf with its clouds.yaml beside it.
func inspected(t *testing.T, conf string, env map[string]string) *Inspection {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return Inspect(path, func(key string) (string, bool) { value, ok := env[key]; return value, ok })
}

func TestInspect_NamesTheSourceOfEverySetting(t *testing.T) {
	t.Parallel()
	clouds := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, []byte("clouds: {prod: {auth: {auth_url: https://k/v3, username: u, password: hidden, project_name: p, domain_name: d}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := inspected(t, `# a comment
[global]
use-clouds
clouds-file="`+clouds+`"
Tenant-ID = \
p1
[LoadBalancer]
lb-provider=ovn
subnet-id=a
subnet-id=b

[LoadBalancerClass "a \"b\""]
subnet-id=c
[Networking]
public-network-name=x
public-network-name=y
`, nil)
	if len(i.Problems) > 0 {
		t.Fatal(i.Problems)
	}
	got := map[string][2]string{}
	for _, s := range i.Settings {
		got[s.Section+" "+s.Key] = [2]string{s.Value, s.Source}
	}
	for key, want := range map[string][2]string{
		"[Global] use-clouds":                     {"true", "line 3"},
		"[Global] cloud":                          {"prod", "found"},
		"[Global] username":                       {"u", `clouds.yaml cloud "prod" auth.username`},
		"[Global] password":                       {"(redacted)", `clouds.yaml cloud "prod" auth.password`},
		"[Global] tenant-id":                      {"p1", "line 5"},
		"[Global] tenant-name":                    {"", ""},
		"[Global] ca-file":                        {"", ""},
		"[LoadBalancer] lb-provider":              {"ovn", "line 8"},
		"[LoadBalancer] lb-method":                {"SOURCE_IP_PORT", "found"},
		"[LoadBalancer] subnet-id":                {"b", "line 10"},
		"[LoadBalancer] monitor-delay":            {"5s", "default"},
		"[LoadBalancer] drift-interval":           {"5m0s", "default"},
		"[LoadBalancer] max-ports":                {"100", "default"},
		"[LoadBalancer] create-monitor":           {"false", "default"},
		`[LoadBalancerClass "a \"b\""] subnet-id`: {"c", "line 13"},
		"[Networking] public-network-name":        {"x, y", "line 16"},
		"[Limits] reads":                          {"0", "default"},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	total := 0
	for _, s := range sections() {
		total += len(s.options)
	}
	if len(i.Settings) != total {
		t.Errorf("%d settings, want each of the %d in the table", len(i.Settings), total)
	}
}

func TestInspect_NamesVariablesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"OS_AUTH_URL": "https://k/v3", "OS_USERNAME": "u", "OS_PASSWORD": "hidden", "OS_TENANT_NAME": "p", "OS_DEFAULT_DOMAIN": "d",
	}
	i := Inspect("", func(key string) (string, bool) { value, ok := env[key]; return value, ok })
	if len(i.Problems) > 0 {
		t.Fatal(i.Problems)
	}
	for key, want := range map[string]string{
		"tenant-name": "environment OS_TENANT_NAME", "domain-id": "environment OS_DEFAULT_DOMAIN", "password": "environment OS_PASSWORD", "user-id": "",
	} {
		if got := i.Setting("Global", key); got.Source != want || got.Value == "hidden" {
			t.Errorf("%s: %+v, want source %q", key, got, want)
		}
	}
}

func TestInspect_FindsTheLineOfProblemsAndWarnings(t *testing.T) {
	t.Parallel()
	i := inspected(t, `[Global]
auth-url=https://k/v3
username=u
password=hidden
tenant-name=p
domain-name=d
[LoadBalancer]
lb-method=FASTEST
use-octavia=true
Subnet_id=x
[LoadBalancerClass "slow"]
monitor-delay=soon
flavour-id=y
[Extra]
a=b
`, nil)
	if i.Problems == nil {
		// A key with an underscore is a syntax error of gcfg.
		t.Fatal("no problem")
	}
	if !strings.Contains(i.Problems[0].Error(), "10:") || i.Config != nil {
		t.Errorf("%v", i.Problems)
	}
	i = inspected(t, `[Global]
auth-url=https://k/v3
username=u
password=hidden
tenant-name=p
domain-name=d
[LoadBalancer]
lb-method=FASTEST
use-octavia=true
[LoadBalancerClass "slow"]
monitor-delay=soon
flavour-id=y
[Extra]
a=b
`, nil)
	var lines []string
	for _, err := range i.Problems {
		lines = append(lines, i.SourceOf(PlaceOf(err)))
	}
	if diff := cmp.Diff([]string{"line 8", "line 11"}, lines); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	lines = nil
	for _, w := range i.Warnings {
		lines = append(lines, i.SourceOf(w.Place)+" "+w.Text)
	}
	want := []string{
		`line 9 cloud.conf [LoadBalancer] key "use-octavia" has no effect any more: Octavia is always used`,
		"line 13 cloud.conf unknown section [Extra] is ignored: it has no effect",
		`line 12 cloud.conf [LoadBalancerClass "slow"] unknown key "flavour-id": did you mean "flavor-id"?`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestInspect_TellsOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if i := Inspect(filepath.Join(t.TempDir(), "none"), nil); i.Config != nil || len(i.Problems) != 1 {
		t.Errorf("%+v", i)
	}
}
