package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzLoad looks for a cloud.conf that panics, or that is accepted but cannot
// be printed and read again.
func FuzzLoad(f *testing.F) {
	full, err := os.ReadFile(filepath.Join("testdata", "full.conf"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, seed := range []string{
		"", signIn, "[", "[]", "[Global", "[Global]\npassword", "[LoadBalancerClass]\n", "[LoadBalancerClass \"\"]",
		"[LoadBalancerClass \"a\\\"b\"]\nx=1", "[A \"b\"]\nc=\"d", "[Global]\nuse-clouds\nclouds-file=testdata/none.yaml",
		"\ufeff[Global]\r\nregion=\\\r\nR", "[Networking]\npublic-network-name\npublic-network-name=a",
		signIn + "[LoadBalancerClass \"gold\"]\nsubnet-id", signIn + "[Global]\npassword=\nhunter-two\n",
		signIn + "[LoadBalancer]\nnode-selector=\x1b[2J\nmonitor-delay=\"\\n\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(bytes.ToLower(text), []byte("use-clouds")) {
			return // would read files
		}
		var config *Config
		var warnings []Warning
		var err error
		hostile.Bounded(t, len(text), func() { config, warnings, err = Load(bytes.NewReader(text), nil) })
		for _, w := range warnings {
			if w.String() == "" {
				t.Error("empty warning")
			}
			hostile.OneLine(t, w.String())
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") { // each problem is logged by itself
				hostile.OneLine(t, line)
			}
			return
		}
		for name := range config.LoadBalancerClass {
			if _, err := config.Class(name); err != nil && len(config.Refused.Classes[name]) == 0 && len(config.Refused.LoadBalancers) == 0 {
				t.Error(err)
			}
		}
		if config.Global.AuthMethod() == AuthNone || len(config.Global.missing()) > 0 {
			t.Errorf("accepted without credentials: %v", config)
		}
		if _, err := ParseSelector(config.LoadBalancer.NodeSelector); err != nil {
			t.Error(err)
		}
		if password := config.Global.Password; len(password) > 8 && strings.Contains(config.String(), "password="+password) {
			t.Errorf("prints the password %q", password)
		}
	})
}

// FuzzClouds looks for a clouds.yaml that panics.
func FuzzClouds(f *testing.F) {
	f.Add([]byte(oneCloud(passwordAuth, "verify: false", "regions: [R1, {name: R2, values: {interface: admin}}]")["clouds.yaml"]))
	f.Add([]byte("clouds: {a: &x {<<: *x}}"))
	f.Add([]byte("clouds: {a: null}"))
	f.Add([]byte("!%01"))
	f.Add([]byte("clouds: {a: {auth: null, profile: a}}\npublic-clouds: {a: {cloud: a}}"))
	f.Add([]byte("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nclouds: {a: {auth: {password: *c}}}"))
	f.Add([]byte("clouds: " + strings.Repeat("{a: ", 2000) + strings.Repeat("}", 2000)))
	f.Add([]byte("clouds: {a: {auth: {password: \"\\e[2J\", auth_url: [1]}}}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var clouds map[string]cloudEntry
		var err error
		hostile.Bounded(t, len(content), func() { clouds, err = parseEntries(content, "clouds") })
		if err != nil {
			hostile.OneLine(t, err.Error())
			return
		}
		public, err := parseEntries(content, "public-clouds")
		if err != nil {
			return
		}
		files := cloudFiles{path: "clouds.yaml", clouds: clouds, secure: clouds, public: public}
		for name := range clouds {
			if _, _, err := files.cloud(name, ""); err != nil && err.Error() == "" {
				t.Error("an error without text")
			}
		}
	})
}
