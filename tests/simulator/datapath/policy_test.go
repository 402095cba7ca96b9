package datapath

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestPolicies_MatchRequestsByRules(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest(http.MethodGet, "/shop/cart.jpg?x=1", nil)
	request.Host = "WWW.Example.com:8080"
	request.Header.Add("Accept", "text/html, image/png")
	request.Header.Add("Accept", "image/jpeg")
	request.Header.Add("Cookie", "user=anna; theme=dark")
	tests := []struct {
		rule Rule
		want bool
	}{
		{Rule{Type: RuleHostName, Compare: CompareEqualTo, Value: "www.example.com"}, true},
		{Rule{Type: RuleHostName, Compare: CompareEndsWith, Value: ".EXAMPLE.com"}, true},
		{Rule{Type: RuleHostName, Compare: CompareEqualTo, Value: "example.com"}, false},
		{Rule{Type: RulePath, Compare: CompareStartsWith, Value: "/shop"}, true},
		{Rule{Type: RulePath, Compare: CompareEqualTo, Value: "/shop"}, false},
		{Rule{Type: RulePath, Compare: CompareContains, Value: "CART"}, false},
		{Rule{Type: RulePath, Compare: CompareRegex, Value: `^/(shop|store)/.*\.jpg$`}, true},
		{Rule{Type: RulePath, Compare: CompareRegex, Value: `(unclosed`}, false},
		{Rule{Type: RulePath, Compare: CompareStartsWith, Value: "/shop", Invert: true}, false},
		{Rule{Type: RulePath, Compare: CompareStartsWith, Value: "/admin", Invert: true}, true},
		{Rule{Type: RuleFileType, Compare: CompareEqualTo, Value: "jpg"}, true},
		{Rule{Type: RuleFileType, Compare: CompareRegex, Value: "png|gif"}, false},
		{Rule{Type: RuleHeader, Key: "accept", Compare: CompareEqualTo, Value: "image/png"}, true},
		{Rule{Type: RuleHeader, Key: "accept", Compare: CompareStartsWith, Value: "image/j"}, true},
		{Rule{Type: RuleHeader, Key: "accept", Compare: CompareEqualTo, Value: "video/mp4"}, false},
		{Rule{Type: RuleHeader, Key: "host", Compare: CompareContains, Value: "8080"}, true},
		{Rule{Type: RuleHeader, Key: "x-absent", Compare: CompareContains, Value: ""}, false},
		{Rule{Type: RuleCookie, Key: "theme", Compare: CompareEqualTo, Value: "dark"}, true},
		{Rule{Type: RuleCookie, Key: "theme", Compare: CompareEqualTo, Value: "light"}, false},
		{Rule{Type: RuleClientHasCert, Compare: CompareEqualTo, Value: "True"}, false},
		{Rule{Type: RuleClientCertField, Key: "CN", Compare: CompareEqualTo, Value: ""}, false},
	}
	for _, test := range tests {
		if got := test.rule.compile()(request); got != test.want {
			t.Errorf("%+v: %v, want %v", test.rule, got, test.want)
		}
	}
}

func TestPolicies_AreAskedInOrderOnlyWhenTheyAct(t *testing.T) {
	t.Parallel()
	rule := Rule{Type: RulePath, Compare: CompareStartsWith, Value: "/", AdminUp: true}
	off := rule
	off.AdminUp = false
	all := []Policy{
		{ID: "pool-1", Action: ActionRedirectToPool, Position: 1, AdminUp: true, Rules: []Rule{rule}},
		{ID: "url-3", Action: ActionRedirectToURL, Position: 3, AdminUp: true, Rules: []Rule{rule}},
		{ID: "prefix-2", Action: ActionRedirectToPrefix, Position: 2, AdminUp: true, Rules: []Rule{rule}},
		{ID: "reject-5", Action: ActionReject, Position: 5, AdminUp: true, Rules: []Rule{off, rule}},
		{ID: "reject-4", Action: ActionReject, Position: 4, AdminUp: true, Rules: []Rule{rule}},
		{ID: "down", Action: ActionReject, AdminUp: false, Rules: []Rule{rule}},
		{ID: "without-rules", Action: ActionReject, AdminUp: true},
		{ID: "rules-down", Action: ActionReject, AdminUp: true, Rules: []Rule{off}},
	}
	var got []string
	for _, policy := range compilePolicies(all, nil) {
		got = append(got, policy.ID)
	}
	if want := "[reject-4 reject-5 prefix-2 url-3 pool-1]"; fmt.Sprint(got) != want {
		t.Errorf("asked in the order %v, want %s", got, want)
	}
}

func onPath(prefix string) []Rule {
	return []Rule{{Type: RulePath, Compare: CompareStartsWith, Value: prefix, AdminUp: true}}
}

func TestPolicies_RejectAndRedirect(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	lb.Pools = append(lb.Pools,
		Pool{ID: "images", AdminUp: true, Members: []Member{webMember(t, "images")}},
		Pool{ID: "closed", AdminUp: false, Members: []Member{webMember(t, "closed")}})
	both := append(onPath("/both"), Rule{Type: RuleHeader, Key: "X-Yes", Compare: CompareEqualTo, Value: "1", AdminUp: true})
	lb.Listeners[0].Policies = []Policy{
		{ID: "1", AdminUp: true, Action: ActionReject, Rules: onPath("/secret")},
		{ID: "2", AdminUp: true, Action: ActionRedirectToURL, RedirectURL: "https://example.com/new", RedirectCode: 301, Rules: onPath("/old")},
		{ID: "3", AdminUp: true, Action: ActionRedirectToPrefix, RedirectPrefix: "https://example.com", Rules: onPath("/moved")},
		{ID: "4", AdminUp: true, Action: ActionRedirectToPool, RedirectPoolID: "images", Rules: onPath("/images")},
		{ID: "5", AdminUp: true, Action: ActionRedirectToPool, RedirectPoolID: "closed", Rules: onPath("/closed")},
		{ID: "6", AdminUp: true, Action: ActionRedirectToPool, RedirectPoolID: "absent", Rules: onPath("/absent")},
		{ID: "7", AdminUp: true, Action: ActionReject, Rules: both},
	}
	serveWeb(t, lb)
	tests := []struct{ path, want, location string }{
		{"/", "a", ""},
		{"/secret/plans", "403", ""},
		{"/old/page", "301", "https://example.com/new"},
		{"/moved/page?x=1", "302", "https://example.com/moved/page?x=1"},
		{"/images/1", "images", ""},
		{"/closed", "a", ""},
		{"/absent", "a", ""},
		{"/both", "a", ""},
	}
	client := webClient(t)
	for _, test := range tests {
		got := mustGet(t, client, vip(lb), test.path)
		if got.member() != test.want || got.Header.Get("Location") != test.location {
			t.Errorf("%s: %s to %q, want %s to %q", test.path, got.member(), got.Header.Get("Location"), test.want, test.location)
		}
	}
	if got := mustGet(t, client, vip(lb), "/both", withHeader("X-Yes", "1")); got.StatusCode != http.StatusForbidden {
		t.Errorf("both rules of a policy match: %d, want 403", got.StatusCode)
	}
}

func TestPolicies_LeadToPoolWithoutDefaultPool(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	lb.Listeners[0].PoolID = ""
	lb.Listeners[0].Policies = []Policy{{ID: "1", AdminUp: true, Action: ActionRedirectToPool, RedirectPoolID: "pool", Rules: onPath("/a")}}
	serveWeb(t, lb)
	for path, want := range map[string]string{"/a": "a", "/b": "503"} {
		if got := mustGet(t, webClient(t), vip(lb), path); got.member() != want {
			t.Errorf("%s: %s, want %s", path, got.member(), want)
		}
	}
}

func TestPolicies_CompareHostWithoutPort(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"example.com": "example.com", "example.com:80": "example.com",
		netip.MustParseAddrPort("[::1]:80").String(): "[::1]", "[::1]": "[::1]", "": "",
	} {
		if got := hostOf(&http.Request{Host: given}); got != want {
			t.Errorf("host of %q: %q, want %q", given, got, want)
		}
	}
}
