package octavia

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

// isURLPath reports whether Octavia accepts a text as the path of a URL. A query
// may follow; only white space, brackets and a host are refused.
func isURLPath(text string) bool {
	if !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, unicode.IsSpace) {
		return false
	}
	path := text
	if after, two := strings.CutPrefix(text, "//"); two {
		if !strings.HasPrefix(after, "/") {
			return false
		}
		path = after
	}
	return !strings.ContainsAny(beforeQuery(path), "[]")
}

func beforeQuery(text string) string {
	if end := strings.IndexAny(text, "?#"); end >= 0 {
		return text[:end]
	}
	return text
}

// isWholeURL reports whether Octavia redirects to a URL: http or https, in lower
// case, and a host. Most characters that are invalid in a path are accepted.
func isWholeURL(text string) bool {
	rest, is := strings.CutPrefix(text, "http://")
	if !is {
		if rest, is = strings.CutPrefix(text, "https://"); !is {
			return false
		}
	}
	authority, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	return isHostAndPort(authority) && !strings.ContainsAny(beforeQuery(path), "[]")
}

func isHostAndPort(authority string) bool {
	if inside, is := strings.CutPrefix(authority, "["); is {
		address, port, closed := strings.Cut(inside, "]")
		_, err := netip.ParseAddr(address)
		return closed && err == nil && regexp.MustCompile(`^(:\d{0,5})?$`).MatchString(port)
	}
	parts := regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=%-]+)(:\d{0,5})?$`).FindStringSubmatch(authority)
	if parts == nil {
		return false
	}
	if regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`).MatchString(parts[1]) {
		address, err := netip.ParseAddr(parts[1])
		return err == nil && address.Is4()
	}
	return true
}

// hasControls finds characters that must not get into the configuration of a
// proxy. Only releases with HardenedTexts look for them.
func hasControls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f })
}
