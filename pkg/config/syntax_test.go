package config

import (
	"strings"
	"testing"
)

// Every line with a mistake has a secret in it, or a part of one.
func TestLoad_NamesLineAndKeyOfSyntaxErrorWithoutSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"underscore in a key":     {"[Global]\nregion=R1\nauth_url=geheim\n", `3:5: illegal character U+005F '_', in the line of "auth_url"`},
		"key in capitals":         {"[Global]\nTENANT_ID=geheim\n", `2:7: illegal character U+005F '_', in the line of "TENANT_ID"`},
		"key before a section":    {"\n\npassword=geheim\n", `3:1: expected section header, in the line of "password"`},
		"section without end":     {"\n\n[Global\npassword=geheim\n", `3:8: expected subsection name or right bracket, in the line of "[Global"`},
		"section without a name":  {"[Global]\n[]\npassword=geheim\n", `2:2: expected section name`},
		"name without quotes":     {"[LoadBalancerClass geheim]\n", `1:20: expected subsection name or right bracket, in the line of "[LoadBalancerClass"`},
		"more behind a section":   {"[Global] password=geheim\n", `1:10: expected EOL, EOF, or comment, in the line of "[Global"`},
		"colon behind a key":      {"[Global]\n  password: geheim\n", `2:11: illegal character U+003A ':', in the line of "password"`},
		"blank behind a key":      {"[Global]\npassword geheim\n", `2:10: expected '=', in the line of "password"`},
		"value without a key":     {"[Global]\n=geheim\n", `2:1: expected section header or variable declaration`},
		"quote without an end":    {"\n\n[Global]\npassword=\"geheim\n", `4:10: string not terminated, in the line of "password"`},
		"quote within a value":    {"[Global]\r\npassword=gehe\"im\r\nregion=R1\r\n", `2:10: string not terminated, in the line of "password"`},
		"escape within quotes":    {"[Global]\npassword=\"geheim\\x\"\n", `2:18: unknown escape sequence, in the line of "password"`},
		"backslash in a value":    {"[Global]\n\napplication-credential-secret=geheim\\x\n", `3:31: unquoted '\' must be followed by new line or double quote, in the line of "application-credential-secret"`},
		"illegal UTF-8 in text":   {"[Global]\n\napplication-credential-secret=geheim\xff\n", `3:37: illegal UTF-8 encoding, in the line of "application-credential-secret"`},
		"second half of a secret": {"[Global]\npassword=\ngeheim+geheim==\n", `3:7: illegal character U+002B '+'`},
		"secret on many lines":    {"[Global]\npassword=\\\ngeheim\\\ngeheim\"\n", `2:10: string not terminated, in the line of "password"`},
		"key that nobody knows":   {"[Global]\ngeheim_secret=geheim\n", `2:7: illegal character U+005F '_'`},
		"section nobody knows":    {"[geheim\n", `1:8: expected subsection name or right bracket`},
		"nothing of cloud.conf":   {"geheim\n", `1:1: expected section header`},
		"several mistakes":        {"[Global]\npassword=\"geheim\\\ngeheim\n", `2:18: unknown escape sequence (and 1 more errors), in the line of "password"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := Load(strings.NewReader(test.text), nil)
			if want := "cloud.conf: syntax error at line:column " + test.want; err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings beside it: %v", warnings)
			}
			if err != nil && strings.Contains(err.Error(), "geheim") {
				t.Errorf("error %q tells the secret", err)
			}
		})
	}
}
