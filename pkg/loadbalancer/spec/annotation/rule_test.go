package annotation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// holds evaluates a rule that only uses the functions below; the API server evaluates all of them in another test.
func holds(rule, v string) (result, known bool) {
	result = true
	for term := range strings.SplitSeq(rule, " && ") {
		positive, negated := strings.CutPrefix(term, "!")
		is, known := holdsTerm(strings.TrimSuffix(strings.TrimPrefix(positive, "("), "])"), v)
		if !known {
			return false, false
		}
		result = result && is != negated
	}
	return result, true
}

func holdsTerm(term, v string) (result, known bool) {
	literal := func(prefix string) (string, bool) {
		text, is := strings.CutPrefix(term, prefix+"('")
		text = strings.TrimSuffix(text, "')")
		return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(text), is
	}
	if text, is := literal("v.matches"); is {
		return regexp.MustCompile(text).MatchString(v), true
	}
	if text, is := literal("v.startsWith"); is {
		return strings.HasPrefix(v, text), true
	}
	if words, is := strings.CutPrefix(term, "v in ["); is {
		return slices.Contains(strings.Split(strings.TrimSuffix(words, "]"), ", "), "'"+v+"'"), true
	}
	var limit int
	for format, compare := range map[string]func(number int) bool{
		"size(bytes(v)) <= %d": func(int) bool { return len(v) <= limit },
		"int(v) >= %d":         func(number int) bool { return number >= limit },
		"int(v) <= %d":         func(number int) bool { return number <= limit },
	} {
		if n, err := fmt.Sscanf(term, format, &limit); n == 1 && err == nil {
			number, _ := strconv.Atoi(v)
			return compare(number), true
		}
	}
	return false, false
}

// The policy for the API server must admit every value that the controller accepts: else it would reject Services that work.
func TestRules_AcceptTheValuesThatTheControllerAccepts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"true", "false", "True", "0", "1", "-1", "-2", "+5", "007", "10", "11", "3600", "3601", "10000", "10001", "65535", "65536", "2147483647", "2147483648",
		"31536000000", "31536000001", "99999999999999999999", "1.0", "1.1", "1x1", "1.00", "v1", "v2", "V2", "VIP", "proxy", "GET", "get", "POST", "PATCH", "head", "ROUND_ROBIN", "source_ip_port",
		"TLS-HELLO", "tls_hello", "http", "HTTP_COOKIE", "auto", "PODS", "endpoint-nodes", "drain", "ſource_ip", "none", "abc", "a b", "a/b", "a?b", "a#b", "a\tb", "a\nb", "a\rb", ".", "..", "...", "é", "a_b",
		"/", "//", "///", "//host/path", "//user@/path", "//user@host", "/healthz", "/a b", "/a#b", "/a?b", "/%20", "/%2", "/%zz", "/\x7f", "healthz", "200", "99", "600", "200,204", "200, 204", "200-299", "200-", "2xx", "200,,204,",
		"www.example.com", "www.example.com.", "-x", "_x", "x-", "a..b", "JSESSIONID", "a;b", "a'b", `a\b`,
	}
	for _, n := range []int{63, 64, 254, 255, 256, 1024, 1025} {
		texts = append(texts, strings.Repeat("x", n), "/"+strings.Repeat("x", n), strings.Repeat("é", n/2))
	}
	compared := 0
	for _, a := range effective() {
		if _, known := holds(a.Rule, "x"); !known {
			continue
		}
		compared++
		for _, text := range texts {
			_, valid, _ := parsed(t, a.Name, text)
			if admitted, _ := holds(a.Rule, text); admitted != valid {
				t.Errorf("%s=%.80q: the controller accepts it: %v, the rule: %v", a.Name, text, valid, admitted)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d rules are compared", compared)
	}
}
