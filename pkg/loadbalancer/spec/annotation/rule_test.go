package annotation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// evaluated returns a function for a rule that only uses what term knows; the API server evaluates all rules in another
// test.
func evaluated(rule string) (holds func(v string) bool, known bool) {
	if rest, is := strings.CutPrefix(rule, "v == 'none' || "); is {
		other, known := evaluated(rest)
		return func(v string) bool { return v == "none" || other(v) }, known
	}
	var terms []func(string) bool
	for text := range strings.SplitSeq(rule, " && ") {
		positive, negated := strings.CutPrefix(text, "!")
		is := term(strings.TrimSuffix(strings.TrimPrefix(positive, "("), "])"))
		if is == nil {
			return func(string) bool { return false }, false
		}
		terms = append(terms, func(v string) bool { return is(v) != negated })
	}
	return func(v string) bool {
		return !slices.ContainsFunc(terms, func(is func(string) bool) bool { return !is(v) })
	}, true
}

// listTerm is about the parts of a list: that there are any, how many, or that each has a form.
var listTerm = regexp.MustCompile(`^v\.findAll\('(.+)', (\d+)\)\.(?:size\(\) > (0)|size\(\) <= (\d+)|all\(p, p\.trim\(\)\.matches\('(.+)'\)\))$`)

// term returns a function for a part of a rule, nil for one that it does not know.
func term(text string) func(v string) bool {
	unquoted := strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace
	if parts := listTerm.FindStringSubmatch(text); parts != nil {
		find, each := regexp.MustCompile(unquoted(parts[1])), regexp.MustCompile(parts[5])
		most, _ := strconv.Atoi(parts[2])
		limit, _ := strconv.Atoi(parts[4])
		return func(v string) bool {
			found := find.FindAllString(v, most)
			switch {
			case parts[3] != "":
				return len(found) > 0
			case parts[4] != "":
				return len(found) <= limit
			}
			return !slices.ContainsFunc(found, func(part string) bool { return !each.MatchString(strings.TrimSpace(part)) })
		}
	}
	if expression, is := strings.CutPrefix(text, "v.matches('"); is {
		return regexp.MustCompile(unquoted(strings.TrimSuffix(expression, "')"))).MatchString
	}
	if beginning, is := strings.CutPrefix(text, "v.startsWith('"); is {
		return func(v string) bool { return strings.HasPrefix(v, strings.TrimSuffix(beginning, "')")) }
	}
	if words, is := strings.CutPrefix(text, "v in ["); is {
		all := strings.Split(strings.TrimSuffix(words, "]"), ", ")
		return func(v string) bool { return slices.Contains(all, "'"+v+"'") }
	}
	var limit int
	for format, compare := range map[string]func(v string) bool{
		"size(bytes(v)) <= %d": func(v string) bool { return len(v) <= limit },
		"int(v) >= %d":         func(v string) bool { number, _ := strconv.Atoi(v); return number >= limit },
		"int(v) <= %d":         func(v string) bool { number, _ := strconv.Atoi(v); return number <= limit },
	} {
		if n, err := fmt.Sscanf(text, format, &limit); n == 1 && err == nil {
			return compare
		}
	}
	return nil
}

// The policy for the API server must admit every value that the controller accepts: else it would reject Services that work.
func TestRules_AcceptTheValuesThatTheControllerAccepts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"true", "false", "True", "0", "1", "-1", "-2", "+5", "007", "10", "11", "3600", "3601", "10000", "10001", "65535", "65536", "2147483647", "2147483648",
		"31536000000", "31536000001", "99999999999999999999", "1.0", "1.1", "1x1", "1.00", "v1", "v2", "V2", "VIP", "proxy", "GET", "get", "POST", "PATCH", "head", "ROUND_ROBIN", "source_ip_port",
		"TLS-HELLO", "tls_hello", "http", "HTTP_COOKIE", "auto", "PODS", "endpoint-nodes", "drain", "ſource_ip", "none", "abc", "a b", "a/b", "a?b", "a#b", "a\tb", "a\nb", "a\rb", ".", "..", "...", "é", "a_b",
		"/", "//", "///", "//host/path", "//user@/path", "//user@host", "/healthz", "/a b", "/a#b", "/a?b", "/%20", "/%2", "/%zz", "/\x7f", "healthz", "200", "99", "600", "200,204", "200, 204", "200-299", "200-", "2xx", "200,,204,",
		"www.example.com", "www.example.com.", "-x", "_x", "x-", "a..b", "JSESSIONID", "a;b", "a'b", `a\b`, ",", "none,", strings.ToUpper(someID) + ",x",
	}
	for n := range 8 {
		texts = append(texts, strings.Repeat(someID+",", n+1), strings.Repeat(someID+" , ", 97+n))
	}
	for _, n := range []int{63, 64, 254, 255, 256, 1024, 1025} {
		texts = append(texts, strings.Repeat("x", n), "/"+strings.Repeat("x", n), strings.Repeat("é", n/2))
	}
	compared := 0
	for _, a := range effective() {
		holds, known := evaluated(a.Rule)
		if !known {
			continue
		}
		compared++
		for _, text := range texts {
			if _, valid, _ := parsed(t, a.Name, text); holds(text) != valid {
				t.Errorf("%s=%.80q: the controller accepts it: %v, the rule: %v", a.Name, text, valid, holds(text))
			}
		}
	}
	if compared < 58 {
		t.Errorf("only %d rules are compared", compared)
	}
}
