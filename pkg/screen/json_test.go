package screen_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Names of other users cannot control a terminal, and programs read them unchanged.
func TestWriteJSON_EscapesWhatWouldChangeATerminal(t *testing.T) {
	t.Parallel()
	for name, escaped := range map[string]string{
		"web \u009b2J":     `web \u009b2J`,
		"abc\u202egpj":     `abc\u202egpj`,
		"\x1b]0;title\x07": `\u001b]0;title\u0007`,
		"tag \U000e0041":   `tag \udb40\udc41`,
		"a\u2028b\u2066c":  `a\u2028b\u2066c`,
		"no break\u00a0":   `no break\u00a0`,
		"\x7f delete":      `\u007f delete`,
		"Grüße, 負荷 → <b>&": `Grüße, 負荷 → <b>&`,
	} {
		var out bytes.Buffer
		if err := screen.WriteJSON(&out, "Status", struct {
			Name string `json:"name"`
		}{name}); err != nil {
			t.Fatal(err)
		}
		want := "{\n  \"apiVersion\": \"openstack-ccm/v1\",\n  \"kind\": \"Status\",\n  \"name\": \"" + escaped + "\"\n}\n"
		if out.String() != want {
			t.Errorf("%q: got %s want %s", name, out.String(), want)
		}
		var read struct{ Name string }
		if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.Name != name {
			t.Errorf("%q is read as %q: %v", name, read.Name, err)
		}
	}
}

func TestWriteJSON_BeginsWithVersionAndKind(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := screen.WriteJSON(&out, "Plan", struct{}{}); err != nil || out.String() != "{\n  \"apiVersion\": \"openstack-ccm/v1\",\n  \"kind\": \"Plan\"\n}\n" {
		t.Errorf("an empty object: %v %s", err, out.String())
	}
	for _, value := range []any{[]string{"a"}, "text", nil} {
		if err := screen.WriteJSON(&out, "Plan", value); err == nil {
			t.Errorf("%v is taken for an object", value)
		}
	}
}
