package apierror

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
)

// WithoutSecrets redacts the secrets in an answer of Keystone, which may quote the refused request
// in any encoding.
func WithoutSecrets(err error, secrets []string) error {
	resp := response(err)
	if resp == nil {
		return err
	}
	clean := *resp
	for _, secret := range secrets {
		clean.Body = spellings(secret).ReplaceAll(clean.Body, []byte("(secret)"))
	}
	return clean
}

// spellings matches a secret in the encodings of JSON, HTML, URLs and programs, also nested: a
// request quoted in a JSON message has more than one backslash before a quote.
func spellings(secret string) *regexp.Regexp {
	var pattern strings.Builder
	for _, r := range secret {
		fmt.Fprintf(&pattern, "(?:%s)", strings.Join(spellingsOf(r), "|"))
	}
	return regexp.MustCompile(pattern.String())
}

// spellingsOf returns patterns for one character.
func spellingsOf(r rune) []string {
	literal := `\\*` + regexp.QuoteMeta(string(r))
	if r == '\\' {
		literal = `\\+`
	}
	units := ""
	for _, unit := range utf16.Encode([]rune{r}) {
		units += fmt.Sprintf(`\\+u(?i:%04x)`, unit)
	}
	forms := []string{
		literal,
		units,
		fmt.Sprintf(`\\+U(?i:%08x)`, r),
		fmt.Sprintf(`&(?:amp;)*#0*(?:%d|[xX]0*(?i:%x));`, r, r),
		"(?i:" + regexp.QuoteMeta(percentEncoded(r)) + ")",
	}
	if r < 0x100 {
		forms = append(forms, fmt.Sprintf(`\\+x(?i:%02x)`, r))
	}
	if name, ok := map[rune]string{'"': "quot", '&': "amp", '<': "lt", '>': "gt", '\'': "apos"}[r]; ok {
		forms = append(forms, "&(?:amp;)*"+name+";")
	}
	if letter, ok := map[rune]string{'\n': "n", '\t': "t", '\r': "r"}[r]; ok {
		forms = append(forms, `\\+`+letter)
	}
	if r == ' ' {
		forms = append(forms, `\+`)
	}
	return forms
}

// percentEncoded returns the bytes in URL encoding.
func percentEncoded(r rune) string {
	if escaped := url.QueryEscape(string(r)); len(escaped) > 1 {
		return escaped
	}
	return fmt.Sprintf("%%%02X", r)
}
