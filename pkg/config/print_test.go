package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"
)

// secretConfig has every secret set, each to a text that contains "geheim".
func secretConfig() *Config {
	c := &Config{LoadBalancerClass: map[string]*LoadBalancerClass{"gold": {SubnetID: "s"}}}
	fields := reflect.ValueOf(&c.Global).Elem()
	for _, o := range globalSection().options {
		if o.secret {
			fields.Field(o.index).SetString("geheim-" + o.key)
		}
	}
	c.Global.AuthURL = "https://user:geheim-url@keystone.example.com/v3"
	c.Global.Username = "somebody"
	return c
}

func TestConfig_KnowsItsSecrets(t *testing.T) {
	t.Parallel()
	var got []string
	for _, o := range globalSection().options {
		if o.secret {
			got = append(got, o.key)
		}
	}
	want := []string{"password", "trustee-password", "application-credential-secret", "token"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func TestConfig_PrintsNoSecrets(t *testing.T) {
	t.Parallel()
	config := secretConfig()
	forms := map[string]any{
		"Config": *config, "*Config": config, "Global": config.Global, "*Global": &config.Global,
		"in a struct": struct{ C *Config }{config}, "in a value struct": struct{ C Config }{*config},
		"in a slice": []Global{config.Global}, "in a map": map[string]*Global{"g": &config.Global},
	}
	for name, value := range forms {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			checkPrinted(t, name+" by "+verb, fmt.Sprintf(verb, value))
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkPrinted(t, name+" as JSON", string(text))
		text, err = yaml.Marshal(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkPrinted(t, name+" as YAML", string(text))
		checkPrinted(t, name+" by slog as text", logged(func(out *bytes.Buffer) {
			slog.New(slog.NewTextHandler(out, nil)).Info("config", "value", value)
		}))
		checkPrinted(t, name+" by slog as JSON", logged(func(out *bytes.Buffer) {
			slog.New(slog.NewJSONHandler(out, nil)).Info("config", "value", value)
		}))
		checkPrinted(t, name+" by klog", logged(func(out *bytes.Buffer) {
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
			logger.Info("config", "value", value, "object", klog.Format(value))
		}))
	}
	checkPrinted(t, "an error", fmt.Errorf("with %v and %w", config, &ValueError{Value: config.String()}).Error())
	checkPrinted(t, "cmp", cmp.Diff(config.String(), ""))
	checkPrinted(t, "MarshalLog of Config", fmt.Sprint(config.MarshalLog()))
	checkPrinted(t, "MarshalLog of Global", fmt.Sprint(config.Global.MarshalLog()))
	checkPrinted(t, "GoString of Config", config.GoString())
	checkPrinted(t, "GoString of Global", config.Global.GoString())
}

func logged(log func(*bytes.Buffer)) string {
	var out bytes.Buffer
	log(&out)
	return out.String()
}

func checkPrinted(t *testing.T, how, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s prints nothing", how)
	}
	for _, secret := range []string{"geheim", fmt.Sprintf("%x", "geheim")} {
		if strings.Contains(text, secret) {
			t.Errorf("%s prints a secret: %s", how, text)
		}
	}
}

func TestConfig_PrintsWhatLoadReadsBack(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("testdata", "full.conf"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := Load(bytes.NewReader(content), nil)
	if err != nil {
		t.Fatal(err)
	}
	printed := first.String()
	for _, line := range []string{
		"password=(redacted)", "token=(redacted)", "auth-url=https://keystone.example.com/v3", "tls-insecure=true",
		"monitor-timeout=7s", "enabled=false", `[LoadBalancerClass "two words"]`, "public-network-name=second public",
	} {
		if !strings.Contains(printed, line+"\n") {
			t.Errorf("no line %q in:\n%s", line, printed)
		}
	}
	second, _, err := Load(strings.NewReader(printed), nil)
	if err != nil {
		t.Fatalf("reading what was printed: %v", err)
	}
	for _, g := range []*Global{&first.Global, &second.Global} {
		g.Password, g.TrusteePassword, g.ApplicationCredentialSecret, g.Token = "", "", "", ""
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("config (-first +second):\n%s", diff)
	}
}

func TestConfig_MarshalsJSONWithKeysOfFile(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Global{Username: "u", Password: "p", TLSInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"password":"(redacted)","tls-insecure":true,"username":"u"}`, string(text)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestPrintableURL_HidesWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://keystone/v3":                        "https://keystone/v3",
		"https://u:p@keystone/v3":                    "https://%28redacted%29@keystone/v3",
		"https://u:p@keystone:x/":                    redacted,
		"":                                           "",
		"my-certificate":                             "my-certificate",
		"https://barbican/v1/secrets/0b6b3a4e":       "https://barbican/v1/secrets/0b6b3a4e",
		"http://admin:s3cret%40keystone:5000/v3":     redacted,
		"http://admin%3As3cret%40keystone/v3":        redacted,
		"admin:s3cret@keystone/v3":                   redacted,
		"s3cret@keystone/v3":                         redacted,
		"https:/admin:s3cret@keystone/v3":            redacted,
		"https:admin:s3cret@keystone/v3":             redacted,
		"https//admin:s3cret@keystone/v3":            redacted,
		"//admin:s3cret@keystone/v3":                 "//%28redacted%29@keystone/v3",
		"https://keystone/admin:s3cret@v3":           "https://" + redacted,
		"https://keystone/admin:s3cret%40v3":         "https://" + redacted,
		"https://keystone/v3?token=s3cret":           "https://keystone/v3?" + redacted,
		"https://keystone/v3#s3cret":                 "https://keystone/v3#" + redacted,
		"https://s3cret@keystone/v3?a=s3cret#s3cret": "https://%28redacted%29@keystone/v3?" + redacted + "#" + redacted,
		"vault:secret/s3cret":                        redacted,
		" https://admin:s3cret@keystone":             redacted,
		"https://admin:s3cret\\@keystone":            redacted,
		"https://[admin:s3cret@keystone":             redacted,
		"https://keystone/v3?token=s3cret%zz":        "https://keystone/v3?" + redacted,
	} {
		got := PrintableURL(text)
		if got != want {
			t.Errorf("PrintableURL(%q) = %q, want %q", text, got, want)
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("%q has the secret", got)
		}
	}
}
