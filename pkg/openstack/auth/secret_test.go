package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// unescapedJSON leaves <, > and & as they are.
func unescapedJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(out.String())
}

func escapedJSON(text string) string {
	escaped, _ := json.Marshal(text)
	return string(escaped)
}

// asciiJSON escapes all that is not ASCII, as Python's json does by default.
func asciiJSON(text, unit string) string {
	var out strings.Builder
	for _, r := range unescapedJSON(text) {
		if r < 0x80 {
			out.WriteRune(r)
			continue
		}
		for _, code := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, unit, code)
		}
	}
	return out.String()
}

// quotations are the ways in which a service may quote what it got: each returns the
// body of an answer.
func quotations() map[string]func(secret string) string {
	message := func(quoted string) string {
		return `{"error":{"code":400,"message":` + quoted + `,"title":"Bad Request"}}`
	}
	return map[string]func(string) string{
		"JSON":            func(s string) string { return message(unescapedJSON("'" + s + "' is too short")) },
		"JSON for HTML":   func(s string) string { return message(escapedJSON("'" + s + "' is too short")) },
		"ASCII JSON":      func(s string) string { return message(asciiJSON("'"+s+"' is too short", `\u%04x`)) },
		"JSON in JSON":    func(s string) string { return message(unescapedJSON(`{"password":` + unescapedJSON(s) + `}`)) },
		"three of them":   func(s string) string { return message(escapedJSON(escapedJSON(escapedJSON(s)))) },
		"upper case hex":  func(s string) string { return message(asciiJSON("'"+s+"' is too short", `\u%04X`)) },
		"Python in JSON":  func(s string) string { return message(unescapedJSON(strconv.QuoteToASCII(s))) },
		"HTML":            func(s string) string { return "<title>bad password: " + html.EscapeString(s) + "</title>" },
		"a query in JSON": func(s string) string { return message(escapedJSON("password=" + url.QueryEscape(s))) },
		"plain":           func(s string) string { return "refused: " + s },
	}
}

// However Keystone spells the request that it does not like.
func TestErrors_MaskSecretsInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"plain-secret-1", `quo"ted-secret`, `back\slash-secret`, "less<than-secret", "ünicode-secret", "amp&ers and\t-secret", "ro\U0001F680cket-secret"} {
		for name, quote := range quotations() {
			cloud := fakecloud.New(t)
			cloud.Keystone = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, quote(secret))
			}
			cfg := cloud.Config()
			cfg.Password = secret
			_, err := signIn(context.Background(), cfg, testOptions{})
			if err == nil {
				t.Fatal("signed in")
			}
			for _, text := range []string{err.Error(), answerOf(err), apierror.Message(err)} {
				if strings.Contains(text, "-secret") {
					t.Errorf("%s, %q: %s", name, secret, text)
				}
			}
			if !strings.Contains(err.Error(), "Keystone answered 400") {
				t.Errorf("%s, %q: does not say what happened: %v", name, secret, err)
			}
		}
	}
}

func TestErrors_MaskTokens(t *testing.T) {
	t.Parallel()
	for _, token := range []string{
		"gAAAAABmQ0ZpbGxlckZpbGxlckZpbGxlcg==",
		"eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1c2VyIiwiZXhwIjoxNjk5fQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ",
		"eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1c2VyIiwiZXhwIjoxNjk5fQ",
	} {
		cloud := fakecloud.New(t)
		cloud.Keystone = fakecloud.AnswerBody(http.StatusNotFound, `{"error":{"message":"Could not find token: `+token+`."}}`)
		_, err := signIn(context.Background(), config.Global{AuthURL: cloud.URL, Token: "given"}, testOptions{})
		if err == nil || strings.Contains(err.Error(), token[:20]) || !strings.Contains(err.Error(), "(token)") {
			t.Errorf("%s is in: %v", token, err)
		}
	}
}

// answerOf returns gophercloud's own text of a service's answer, with its body.
func answerOf(err error) string {
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Error()
}
