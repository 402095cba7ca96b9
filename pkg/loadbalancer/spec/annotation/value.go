package annotation

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	netutils "k8s.io/utils/net"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// written accepts the values that the controller itself has written.
func written() Value {
	return value("text", "written by the controller", "", func(*Values, string) bool { return true })
}

// value returns a type of value with refusal of invalid ones.
func value(kind, allowed, rule string, read func(*Values, string) bool) Value {
	return Value{Type: kind, Allowed: allowed, Rule: rule, read: read}
}

// text parses an ID or a name. It accepts no characters that would change the path of a URL.
func text(allowed string, at func(*Values) **string) Value {
	return value("text", allowed, shorter(255)+` && !v.matches('[\\r\\n\\t/?#]') && !(v in ['.', '..'])`, func(v *Values, value string) bool {
		if len(value) > 255 || strings.ContainsAny(value, "\r\n\t/?#") || value == "." || value == ".." {
			return false
		}
		*at(v) = &value
		return true
	})
}

// line accepts any text of one line, which package settings parses.
func line(allowed string, at func(*Values) **string) Value {
	return value("text", allowed, shorter(255)+` && !v.matches('[\\r\\n]')`, func(v *Values, value string) bool {
		if len(value) > 255 || strings.ContainsAny(value, "\r\n") {
			return false
		}
		*at(v) = &value
		return true
	})
}

// shareName accepts the name of a share: a word of written-for.
func shareName(at func(*Values) **string) Value {
	const pattern = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	is := regexp.MustCompile(pattern)
	return value("text", "1 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or a digit", matching(pattern, 63), func(v *Values, value string) bool {
		if !is.MatchString(value) {
			return false
		}
		*at(v) = &value
		return true
	})
}

// MaxSelector is the maximum length of a node selector in bytes.
const MaxSelector = 1024

// selector accepts any text, which package settings parses. Keys of labels contain slashes.
func selector(at func(*Values) **string) Value {
	return value("list", config.SelectorAllowed, shorter(MaxSelector), func(v *Values, value string) bool {
		if len(value) > MaxSelector {
			return false
		}
		*at(v) = &value
		return true
	})
}

func boolean(at func(*Values) **bool) Value {
	return value("boolean", `"true" or "false"`, `v in ['true', 'false']`, func(v *Values, value string) bool {
		parsed := value == "true"
		if !parsed && value != "false" {
			return false
		}
		*at(v) = &parsed
		return true
	})
}

// seconds parses the delay and timeout of a monitor, in Octavia's range.
func seconds(at func(*Values) **int) Value {
	v := cpoNumber(from(1, 3600, at))
	v.Allowed += " (seconds)"
	return v
}

// retries parses the retries of a monitor, in Octavia's range.
func retries(at func(*Values) **int) Value { return cpoNumber(from(1, 10, at)) }

// from parses a number in a range.
func from(lowest, highest int, at func(*Values) **int) Value {
	return value("number", fmt.Sprintf("%d to %d", lowest, highest), between(lowest, highest), func(v *Values, value string) bool {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < lowest || parsed > highest {
			return false
		}
		*at(v) = &parsed
		return true
	})
}

// oneOf parses one of some words, in any case.
func oneOf(at func(*Values) **string, allowed ...string) Value {
	return value("choice", strings.Join(allowed, ", "), among(allowed...), func(v *Values, value string) bool {
		for _, a := range allowed {
			if strings.EqualFold(a, value) {
				*at(v) = &a
				return true
			}
		}
		return false
	})
}

// ParseRange parses a CIDR as Kubernetes does, which accepts leading zeros and IPv4-mapped IPv6. It
// returns it in Octavia's form: without either, and without host bits.
func ParseRange(text string) (netip.Prefix, error) {
	_, parsed, err := netutils.ParseCIDRSloppy(strings.TrimSpace(text))
	if err != nil {
		return netip.Prefix{}, err
	}
	address, _ := netip.AddrFromSlice(parsed.IP)
	bits, of := parsed.Mask.Size()
	if address = address.Unmap(); address.Is4() {
		bits -= of - 32
	}
	return netip.PrefixFrom(address, bits), nil
}

// cidrs parses ranges that are separated by commas or spaces.
func cidrs(at func(*Values) *[]string) Value {
	return value("list", "comma-separated CIDRs", ruleOfCIDRs, func(v *Values, value string) bool {
		var ranges []string
		for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
			prefix, err := ParseRange(part)
			if err != nil {
				return false
			}
			ranges = append(ranges, prefix.String())
		}
		*at(v) = ranges
		return true
	})
}

// tags parses the tags of parts of load balancers. An empty text means no tags, regardless of
// cloud.conf.
func tags(at func(*Values) *[]string) Value {
	return value("list", config.TagsAllowed, ruleOfTags, func(v *Values, value string) bool {
		parsed, err := config.ParseTags(value)
		if err != nil {
			return false
		}
		*at(v) = append([]string{}, parsed...)
		return true
	})
}

// path parses the path of a URL.
func path(at func(*Values) **string) Value {
	return value("text", "a path that begins with /, such as /healthz", ruleOfPath, func(v *Values, value string) bool {
		parsed, err := url.Parse(value)
		if err != nil || !strings.HasPrefix(value, "/") || len(value) > 255 || parsed.Host != "" || strings.ContainsAny(value, " ?#") {
			return false
		}
		*at(v) = &value
		return true
	})
}

// codes parses HTTP statuses in Octavia's format.
func codes(at func(*Values) **string) Value {
	const status, commas = `[1-5][0-9]{2}`, `[ ,]*`
	expression := "^" + commas + "(" + status + "(" + " *," + commas + status + ")*|" + status + "-" + status + ")" + commas + "$"
	form := regexp.MustCompile(expression)
	return value("text", "one status, such as 200, a list, such as 200,204, or a range, such as 200-299", matching(expression, 64), func(v *Values, value string) bool {
		if !form.MatchString(value) || len(value) > 64 {
			return false
		}
		if parts := listed(value); strings.Count(value, ",") >= len(parts) { // Octavia accepts no superfluous commas
			value = strings.Join(parts, ",")
		}
		*at(v) = &value
		return true
	})
}

// domain parses the name of a host.
func domain(at func(*Values) **string) Value {
	const expression = `^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?)+$`
	form := regexp.MustCompile(expression)
	return value("text", "the name of a host, such as www.example.com", matching(expression, 255), func(v *Values, value string) bool {
		if !form.MatchString(value) || len(value) > 255 {
			return false
		}
		*at(v) = &value
		return true
	})
}
