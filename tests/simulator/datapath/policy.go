package datapath

import (
	"cmp"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Actions of L7 policies, as Octavia names them.
const (
	ActionReject           = "REJECT"
	ActionRedirectToURL    = "REDIRECT_TO_URL"
	ActionRedirectToPrefix = "REDIRECT_PREFIX"
	ActionRedirectToPool   = "REDIRECT_TO_POOL"
)

// Types of L7 rules, as Octavia names them.
const (
	RuleHostName         = "HOST_NAME"
	RulePath             = "PATH"
	RuleFileType         = "FILE_TYPE"
	RuleHeader           = "HEADER"
	RuleCookie           = "COOKIE"
	RuleClientHasCert    = "SSL_CONN_HAS_CERT"
	RuleClientCertResult = "SSL_VERIFY_RESULT"
	RuleClientCertField  = "SSL_DN_FIELD"
)

// Ways in which an L7 rule compares, as Octavia names them.
const (
	CompareEqualTo    = "EQUAL_TO"
	CompareStartsWith = "STARTS_WITH"
	CompareEndsWith   = "ENDS_WITH"
	CompareContains   = "CONTAINS"
	CompareRegex      = "REGEX"
)

// Policy is an L7 policy: what to do with the requests that match all of its rules.
type Policy struct {
	ID       string
	Action   string
	Position int
	AdminUp  bool
	// RedirectPoolID, RedirectURL and RedirectPrefix are for the action that they are
	// named after.
	RedirectPoolID, RedirectURL, RedirectPrefix string
	// RedirectCode is the status of a redirection; 0 means 302.
	RedirectCode int
	Rules        []Rule
}

// Rule is an L7 rule: one condition on a request.
type Rule struct {
	Type    string
	Compare string
	// Key names the header, cookie or field of the subject.
	Key    string
	Value  string
	Invert bool
	// AdminUp is false for a rule that does not count.
	AdminUp bool
}

// policy is a Policy that is ready to be applied.
type policy struct {
	Policy
	conditions []condition
	// pool is where ActionRedirectToPool leads, nil when there is no such pool.
	pool *pool
}

// condition reports whether a request fulfils one rule.
type condition func(*http.Request) bool

// compilePolicies returns the policies that act, in the order in which haproxy applies them:
// rejections before redirections before choices of a pool, and each kind by position. A
// policy without rules does not act.
func compilePolicies(policies []Policy, pools map[string]*pool) []policy {
	var compiled []policy
	for _, given := range policies {
		ready := policy{Policy: given, pool: pools[given.RedirectPoolID]}
		for _, rule := range given.Rules {
			if rule.AdminUp {
				ready.conditions = append(ready.conditions, rule.compile())
			}
		}
		if given.AdminUp && len(ready.conditions) > 0 {
			compiled = append(compiled, ready)
		}
	}
	slices.SortStableFunc(compiled, func(a, b policy) int {
		if byAction := rank(a.Action) - rank(b.Action); byAction != 0 {
			return byAction
		}
		return a.Position - b.Position
	})
	return compiled
}

// rank is smaller for actions that haproxy applies earlier.
func rank(action string) int {
	switch action {
	case ActionReject:
		return 0
	case ActionRedirectToPool:
		return 2
	default:
		return 1
	}
}

// code is the status of a redirection.
func (p policy) code() int { return cmp.Or(p.RedirectCode, http.StatusFound) }

func (p policy) matches(request *http.Request) bool {
	for _, fulfilled := range p.conditions {
		if !fulfilled(request) {
			return false
		}
	}
	return true
}

// location is where a redirection leads. A prefix is put before the path and query.
func (p policy) location(request *http.Request) string {
	if p.Action == ActionRedirectToPrefix {
		return p.RedirectPrefix + request.URL.RequestURI()
	}
	return p.RedirectURL
}

// compile makes the rule a condition: one of the request's values compares, or none when
// inverted.
func (r Rule) compile() condition {
	compare := r.comparison()
	return func(request *http.Request) bool {
		return slices.ContainsFunc(r.values(request), compare) != r.Invert
	}
}

// comparison compares a value of a request with the rule's. A regular expression that Go
// cannot read matches nothing.
func (r Rule) comparison() func(value string) bool {
	want, fold := r.Value, func(value string) string { return value }
	if r.Type == RuleHostName {
		want, fold = strings.ToLower(want), strings.ToLower
	}
	switch r.Compare {
	case CompareStartsWith:
		return func(value string) bool { return strings.HasPrefix(fold(value), want) }
	case CompareEndsWith:
		return func(value string) bool { return strings.HasSuffix(fold(value), want) }
	case CompareContains:
		return func(value string) bool { return strings.Contains(fold(value), want) }
	case CompareRegex:
		pattern, err := regexp.Compile(r.Value)
		if err != nil {
			return func(string) bool { return false }
		}
		return pattern.MatchString
	default:
		return func(value string) bool { return fold(value) == want }
	}
}

// values are what the rule looks at in a request.
func (r Rule) values(request *http.Request) []string {
	switch r.Type {
	case RuleHostName:
		return []string{hostOf(request)}
	case RulePath:
		return []string{request.URL.EscapedPath()}
	case RuleFileType:
		return []string{strings.TrimPrefix(path.Ext(request.URL.EscapedPath()), ".")}
	case RuleHeader:
		return headerValues(request, r.Key)
	case RuleCookie:
		return cookieValues(request, r.Key)
	default:
		return r.certificateValues(request)
	}
}

// headerValues lists a header's values, those that share a line by commas one by one.
func headerValues(request *http.Request, key string) []string {
	if http.CanonicalHeaderKey(key) == "Host" {
		return []string{request.Host}
	}
	var values []string
	for _, line := range request.Header.Values(key) {
		for _, value := range strings.Split(line, ",") {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

func cookieValues(request *http.Request, name string) []string {
	var values []string
	for _, cookie := range request.CookiesNamed(name) {
		values = append(values, cookie.Value)
	}
	return values
}

// hostOf is the host that the request is for, without a port.
func hostOf(request *http.Request) string {
	host := request.Host
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return host
}
