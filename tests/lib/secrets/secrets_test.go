package secrets_test

import (
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/secrets"
)

func TestCheck_FindsSecretHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	const secret = `hunter "two" & <more>`
	s := secrets.InConf("[Global]\nusername=somebody\nPassword = " + secret + "\ntoken=abc\n")
	for what, text := range map[string]string{
		"plain": "x" + secret + "y", "JSON": `hunter \"two\" \u0026 \u003cmore\u003e`, "a URL": url.QueryEscape(secret),
		"HTML": "hunter &#34;two&#34; &amp; &lt;more&gt;", "base64": base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		err := s.Check("a log", text)
		if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "password 1 of cloud.conf") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Check("a log", "somebody has abc"); err != nil { // which is too short
		t.Error(err)
	}
}

func TestCheckFile_ReadsFileThatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	s := secrets.Set{"key": "a planted key"}
	s.Add(secrets.Set{"key": "another key"})
	if err := s.CheckFile(path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("E1122 another key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckFile(path); err == nil {
		t.Error("it is not found")
	}
}
