package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(bytes.ToLower(text), []byte("use-clouds")) {
			return // would read files
		}
		config, warnings, err := Load(bytes.NewReader(text), nil)
		for _, w := range warnings {
			if w.String() == "" {
				t.Error("empty warning")
			}
		}
		if err != nil {
			return
		}
		for name := range config.LoadBalancerClass {
			if _, err := config.Class(name); err != nil {
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
	f.Add([]byte("clouds: {a: {auth: null, profile: a}}\npublic-clouds: {a: {cloud: a}}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		clouds, err := parseEntries(content, "clouds")
		if err != nil {
			return
		}
		public, err := parseEntries(content, "public-clouds")
		if err != nil {
			return
		}
		files := cloudFiles{path: "clouds.yaml", clouds: clouds, secure: clouds, public: public}
		for name := range clouds {
			l := newLoader(nil)
			if _, _, err := l.fromFiles(files, name); err != nil && err.Error() == "" {
				t.Error("an error without text")
			}
		}
	})
}
