package annotation

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PortProtocol is the listener protocol of one port.
type PortProtocol struct {
	// Port is the port's name or number.
	Port string
	// Protocol is in Octavia's spelling.
	Protocol string
}

// ListenerProtocols returns the protocols that a listener of a TCP port can have.
func ListenerProtocols() []string { return []string{"TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS"} }

// ListenerProtocol parses a protocol in any case, with words joined by _ or -.
func ListenerProtocol(text string) (protocol string, ok bool) {
	protocol = strings.ToUpper(strings.ReplaceAll(text, "-", "_"))
	return protocol, slices.Contains(ListenerProtocols(), protocol)
}

// portProtocols parses pairs such as "web=HTTP,443=TERMINATED_HTTPS".
func portProtocols(at func(*Values) *[]PortProtocol) Value {
	allowed := "comma-separated port=protocol, of " + strings.Join(ListenerProtocols(), ", ") + "; each port once"
	return value("list", allowed, ruleOfPortProtocols(), func(v *Values, value string) bool {
		var pairs []PortProtocol
		seen := map[string]bool{}
		for _, part := range listed(value) {
			port, text, found := strings.Cut(part, "=")
			port = strings.TrimSpace(port)
			protocol, ok := ListenerProtocol(strings.TrimSpace(text))
			if !found || !ok || port == "" || seen[port] {
				return false
			}
			seen[port] = true
			pairs = append(pairs, PortProtocol{port, protocol})
		}
		*at(v) = pairs
		return len(pairs) > 0
	})
}

// reference parses the reference of a secret.
func reference(at func(*Values) **string) Value {
	return value("text", "the reference of a container or secret of Barbican, such as https://barbican.example.com/v1/secrets/ID", shorter(255)+` && !v.matches('[ \\r\\n\\t]')`, func(v *Values, value string) bool {
		if len(value) > 255 || strings.ContainsAny(value, " \r\n\t") {
			return false
		}
		*at(v) = &value
		return true
	})
}

// cookieName parses the name of a cookie. Octavia does not validate it in a request that creates a
// whole load balancer. The rule has only characters that HAProxy and all browsers accept.
func cookieName(at func(*Values) **string) Value {
	const expression = `^[A-Za-z0-9_.-]+$`
	form := regexp.MustCompile(expression)
	return value("text", "the name of a cookie, of letters, digits, _, . and -, such as JSESSIONID", matching(expression, 255), func(v *Values, value string) bool {
		if !form.MatchString(value) || len(value) > 255 {
			return false
		}
		*at(v) = &value
		return true
	})
}

const maxInt32 = math.MaxInt32

// milliseconds parses the timeouts of listeners, in Octavia's range: up to a year.
func milliseconds(at func(*Values) **int) Value {
	const year = 365 * 24 * 3600 * 1000
	return cpoNumber(value("number", "0 to 31536000000 (milliseconds)", between(0, year), func(v *Values, value string) bool {
		parsed, err := strconv.ParseInt(value, 10, 64)
		if err != nil || parsed < 0 || parsed > year {
			return false
		}
		number := int(parsed)
		*at(v) = &number
		return true
	}))
}
