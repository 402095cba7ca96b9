package octavia

import (
	"errors"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// sanitize makes the settings of a policy consistent with its action, as
// Octavia does before it stores them. The result has the values to store.
func sanitize(given body, create bool) (body, *apiError) {
	settings := body{}
	for _, key := range []string{"action", "redirect_pool_id", "redirect_url", "redirect_prefix", "redirect_http_code"} {
		if given.has(key) {
			settings[key] = given[key]
		}
	}
	// In a full create the pool was named, and found by now.
	hasPool := settings.text("redirect_pool_id") != ""
	if settings.has("action") {
		if failure := sanitizeAction(settings, hasPool); failure != nil {
			return nil, failure
		}
		hasPool = settings.text("redirect_pool_id") != ""
	}
	hasURL, hasPrefix := settings.text("redirect_url") != "", settings.text("redirect_prefix") != ""
	if hasPool && (hasURL || hasPrefix) {
		return nil, policyArguments("Cannot specify redirect_pool_id and redirect_url or redirect_prefix at the same time")
	}
	switch {
	case hasPool:
		settings["action"] = actionPool
		settings["redirect_url"], settings["redirect_prefix"], settings["redirect_http_code"] = nil, nil, nil
	case hasURL:
		settings["action"] = actionURL
		settings["redirect_pool_id"], settings["redirect_prefix"] = nil, nil
	case hasPrefix:
		settings["action"] = actionPrefix
		settings["redirect_pool_id"], settings["redirect_url"] = nil, nil
	}
	if (hasURL || hasPrefix) && settings.integer("redirect_http_code", 0) == 0 {
		settings["redirect_http_code"] = http.StatusFound
	}
	if !create && len(given) == 0 {
		return nil, policyArguments("Invalid update options")
	}
	return settings, nil
}

func sanitizeAction(settings body, hasPool bool) *apiError {
	switch settings.text("action") {
	case actionReject:
		settings["redirect_url"], settings["redirect_pool_id"] = nil, nil
	case actionURL:
		if settings.text("redirect_url") == "" {
			return policyArguments("redirect_url must not be None")
		}
		settings["redirect_pool_id"] = nil
	case actionPool:
		if !hasPool {
			return policyArguments("redirect_pool_id or redirect_pool must not be None")
		}
		settings["redirect_url"] = nil
	case actionPrefix:
		if settings.text("redirect_prefix") == "" {
			return policyArguments("redirect_prefix must not be None")
		}
	default:
		return refuse(http.StatusBadRequest, "Invalid L7 Policy action specified: None")
	}
	return nil
}

func policyArguments(text string) *apiError {
	return refuse(http.StatusBadRequest, "Invalid L7 Policy arguments: %s", text)
}

// checkRule is about what a rule of each type can compare.
func (r Release) checkRule(rule body) *apiError {
	why := ruleFault(rule)
	if why == "" && r.HardenedTexts && rule.text("compare_type") == "REGEX" && hasControls(rule.text("value")) {
		why = "Unable to parse regular expression: contains control characters"
	}
	if why == "" {
		return nil
	}
	return refuse(http.StatusBadRequest, "Error parsing L7Rule: %s", why)
}

func invalidRule(text string) string { return "Invalid L7 Rule: " + text }

func ruleFault(rule body) string {
	kind, key, value := rule.text("type"), rule.text("key"), rule.text("value")
	if value == "" {
		return invalidRule("L7 rule type requires a value")
	}
	switch kind {
	case "HEADER", "COOKIE":
		if key == "" {
			return invalidRule("L7 rule type requires a key")
		}
		if !headerName().MatchString(key) {
			return "Invalid characters in key"
		}
		return comparisonFault(rule, kind)
	case "HOST_NAME", "PATH", "FILE_TYPE":
		return comparisonFault(rule, kind)
	case "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD":
		return certificateRuleFault(rule)
	}
	return invalidRule("invalid rule type")
}

// comparisonFault checks the comparison of a rule about a text of the request.
func comparisonFault(rule body, kind string) string {
	comparison, value := rule.text("compare_type"), rule.text("value")
	if comparison == "REGEX" {
		return regexFault(value)
	}
	if comparison == "" || kind == "FILE_TYPE" && comparison != "EQUAL_TO" {
		return invalidRule("invalid comparison type for rule type")
	}
	switch {
	case kind == "COOKIE" && !cookieValue().MatchString(value):
		return "Invalid characters in cookie value"
	case kind == "COOKIE" || headerValue().MatchString(value) || quotedHeaderValue().MatchString(value):
		return ""
	case kind == "HEADER":
		return "Invalid characters in header value"
	}
	return "Invalid characters in comparison value"
}

func certificateRuleFault(rule body) string {
	kind, key, value := rule.text("type"), rule.text("key"), rule.text("value")
	equal := rule.text("compare_type") == "EQUAL_TO"
	number, err := strconv.Atoi(value)
	switch kind {
	case "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT":
		switch {
		case key != "":
			return invalidRule("L7rule type " + kind + ` does not use the "key" field.`)
		case kind == "SSL_CONN_HAS_CERT" && !strings.EqualFold(value, "true"):
			return invalidRule("L7rule value " + value + " is not a boolean True string.")
		case kind == "SSL_VERIFY_RESULT" && (err != nil || number < 0):
			return invalidRule("L7rule type " + kind + " needs a int value, which is >= 0")
		case !equal:
			return invalidRule("L7rule type " + kind + " only supports the EQUAL_TO compare type.")
		}
		return ""
	}
	if rule.text("compare_type") == "REGEX" {
		if why := regexFault(value); why != "" {
			return why
		}
	}
	switch {
	case key == "":
		return invalidRule("L7rule type SSL_DN_FIELD needs to specify a key and a value.")
	case !distinguishedField().MatchString(key):
		return invalidRule("Invalid L7rule distinguished name field.")
	}
	return ""
}

// What RFC 7230 and 6265 allow in headers and cookies, as Octavia reads them.
func headerName() *regexp.Regexp { return regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+-.^_`|~]+$") }
func cookieValue() *regexp.Regexp {
	return regexp.MustCompile("^[a-zA-Z0-9!#$%&'()*+-./:<=>?@[\\]^_`{|}~]+$")
}
func headerValue() *regexp.Regexp {
	return regexp.MustCompile("^[a-zA-Z0-9!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\\\\]+$")
}

func quotedHeaderValue() *regexp.Regexp {
	return regexp.MustCompile("^\"[a-zA-Z0-9 \\t!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\\\\]*\"$")
}

func distinguishedField() *regexp.Regexp { return regexp.MustCompile("^[a-zA-Z][A-Za-z0-9-]*$") }

// regexFault words the mistakes that people make in expressions as Python
// does.
func regexFault(expression string) string {
	_, err := syntax.Parse(expression, syntax.Perl)
	var failure *syntax.Error
	if !errors.As(err, &failure) {
		return ""
	}
	what := string(failure.Code)
	switch failure.Code {
	case syntax.ErrMissingBracket:
		what = "unterminated character set at position " + strconv.Itoa(strings.LastIndexByte(expression, '['))
	case syntax.ErrMissingParen:
		what = "missing ), unterminated subpattern at position " + strconv.Itoa(openParenthesis(expression))
	case syntax.ErrUnexpectedParen:
		what = "unbalanced parenthesis at position " + strconv.Itoa(strings.LastIndexByte(expression, ')'))
	case syntax.ErrMissingRepeatArgument:
		what = "nothing to repeat at position " + strconv.Itoa(max(0, strings.Index(expression, failure.Expr)))
	case syntax.ErrTrailingBackslash:
		what = "bad escape (end of pattern) at position " + strconv.Itoa(len(expression)-1)
	default: // in Go's words
	}
	return "Unable to parse regular expression: " + what
}

// openParenthesis finds the one that is never closed.
func openParenthesis(expression string) int {
	var open []int
	for i, char := range []byte(expression) {
		switch char {
		case '(':
			open = append(open, i)
		case ')':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return 0
	}
	return slices.Max(open)
}
