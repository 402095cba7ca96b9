// Package secrets finds secrets in the output of programs.
package secrets

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Set are secrets by what they are called, which errors name in their place.
type Set map[string]string

// shortest is the length of the shortest secret that is looked for: shorter ones occur by
// chance.
const shortest = 8

// secretKeys returns the keys of cloud.conf with secret values.
func secretKeys() []string {
	return []string{"password", "trustee-password", "application-credential-secret", "token"}
}

// InConf returns the secrets of a cloud.conf.
func InConf(conf string) Set {
	found := Set{}
	for line := range strings.Lines(conf) {
		key, value, _ := strings.Cut(line, "=")
		if key = strings.ToLower(strings.TrimSpace(key)); slices.Contains(secretKeys(), key) {
			found[fmt.Sprintf("%s %d of cloud.conf", key, len(found)+1)] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}

// Add adds the secrets of another set.
func (s Set) Add(other Set) {
	for name, secret := range other {
		if s[name] != "" && s[name] != secret {
			name += " (" + fmt.Sprint(len(s)) + ")"
		}
		s[name] = secret
	}
}

// Check returns an error that names the secrets which a text has in it, as they are or as JSON,
// HTML, URLs or base64 spell them, and what precedes each.
func (s Set) Check(where, text string) error {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for _, spelled := range spellings(s[name]) {
			if at := strings.Index(text, spelled); at >= 0 {
				found = append(found, fmt.Sprintf("%s, behind %q", name, text[max(0, at-80):at]))
				break
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%s has secrets in it: %s", where, strings.Join(found, "; "))
	}
	return nil
}

// CheckFile does the same for a file. One that does not exist has none.
func (s Set) CheckFile(path string) error {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Check(path, string(text))
}

// spellings are those of a secret, none of one that is too short.
func spellings(secret string) []string {
	if len(secret) < shortest {
		return nil
	}
	quoted, err := json.Marshal(secret)
	if err != nil {
		return []string{secret}
	}
	return []string{
		secret, strings.Trim(string(quoted), `"`), html.EscapeString(secret), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
}
