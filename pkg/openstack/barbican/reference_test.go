package barbican_test

import (
	"regexp"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

const secretID = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"

func TestParseSecretRef_AcceptsOneForm(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"https://barbican.example.com/v1/secrets/" + secretID:              "secrets/" + secretID,
		"https://barbican.example.com:9311/v1/containers/" + secretID:      "containers/" + secretID,
		"https://barbican.example.com/v1/secrets/" + secretID + "/":        "",
		"https://barbican.example.com/v1/secrets/" + secretID + "?x=y":     "secrets/" + secretID,
		"https://barbican.example.com/v1/orders/" + secretID:               "",
		"https://barbican.example.com/v1/secrets/" + secretID + "/payload": "",
		"https://barbican.example.com/v1/secrets/" + secretID + "%3fx":     "",
		"https://barbican.example.com/v1/secrets/..%2f..%2fv2.0":           "",
		"https://barbican.example.com/v1/secrets/{" + secretID + "}":       "",
		"https://barbican.example.com/v1/secrets/urn:uuid:" + secretID:     "",
		"/v1/secrets/" + secretID:                                          "",
		"secrets/" + secretID:                                              "",
		"https://u:p@barbican.example.com/v1/secrets/" + secretID:          "",
		"%": "",
		"":  "",
	} {
		kind, id, err := barbican.ParseSecretRef(ref)
		got := kind + "/" + id
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q is read as %q (%v), want %q", ref, got, err, want)
		}
	}
}

func FuzzBarbicanReference(f *testing.F) {
	f.Add("https://barbican.example.com/v1/secrets/" + secretID)
	f.Add("https://a/secrets/..?" + secretID)
	safe := regexp.MustCompile(`^(containers|secrets)/[0-9A-Fa-f-]{36}$`)
	f.Fuzz(func(t *testing.T, ref string) {
		kind, id, err := barbican.ParseSecretRef(ref)
		if got := kind + "/" + id; err == nil && !safe.MatchString(got) {
			t.Errorf("%q gets %q into a request", ref, got)
		}
	})
}
