package annotation

import (
	"fmt"
	"strings"
)

// The rules are for a ValidatingAdmissionPolicy (manifests/admission): CEL expressions for
// Kubernetes 1.31 that are true for a text v that is a valid value of an annotation. A test
// compares each with its read function on a real API server. A rule must accept every value that
// read accepts. The few invalid values that CEL cannot detect are accepted:
//
//	tags               of which two differ in the case of letters that are not ASCII
//	listener-protocols more than a hundred, with a duplicate port
//	a selector         any text: package settings parses it
//
// In CEL an expression that is too expensive is an error, which must not occur: expressions limit
// the number of parts before they examine each of them.

// shorter accepts a text up to a number of bytes; size counts characters.
func shorter(most int) string { return fmt.Sprintf("size(bytes(v)) <= %d", most) }

// matching accepts texts that match a regular expression, up to a number of bytes. CEL uses Go's
// regexp syntax.
func matching(expression string, most int) string {
	return shorter(most) + " && v.matches(" + quoted(expression) + ")"
}

// quoted returns a text as a CEL literal.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// between accepts whole numbers as strconv.Atoi parses them.
func between(lowest, highest int) string {
	return fmt.Sprintf(`v.matches('^[+-]?0*[0-9]{1,18}$') && int(v) >= %d && int(v) <= %d`, lowest, highest)
}

// ruleOfInt64 accepts the numbers that strconv.Atoi parses.
const ruleOfInt64 = `v.matches('^([+]?0*([0-9]{1,18}|[0-8][0-9]{18})|[-]0*([0-9]{1,18}|[0-8][0-9]{18}))$')` +
	` || v.matches('^[+-]?0*9[0-9]{18}$') && (v.matches('^-0*9223372036854775808$') || v.replace('+', '').replace('-', '').substring(size(v.replace('+', '').replace('-', '')) - 19) <= '9223372036854775807')`

// among accepts one of some words, in any case.
func among(words ...string) string {
	return "v.matches(" + quoted("(?i)^("+strings.ReplaceAll(strings.Join(words, "|"), ".", `\.`)+")$") + ")"
}

// exactly accepts one of some words.
func exactly(words ...string) string {
	quotes := make([]string, len(words))
	for i, word := range words {
		quotes[i] = quoted(word)
	}
	return "v in [" + strings.Join(quotes, ", ") + "]"
}

// ruleOfCIDRs accepts ranges that are separated by commas or spaces. CEL does not support
// IPv4-mapped IPv6 (::ffff:), which ParseRange accepts and which looks like other IPv6; nor leading
// zeros, with which IPv6 is accepted unchecked.
const ruleOfCIDRs = `v.findAll('[^,\\s\\v\\x{85}\\p{Z}]+').all(p, isCIDR(p.lowerAscii().replace(':ffff:', ':fffe:'))` +
	` || p.matches('^(0*(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[0-9]{1,2})\\.){3}0*(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[0-9]{1,2})/0*(3[0-2]|[12]?[0-9])$')` +
	` || p.matches('^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/[0-9]+$') && p.matches('(^|:)0+[0-9A-Fa-f]{4}|[:.]0[0-9]+\\.|\\.0[0-9]+/|/0[0-9]'))`

// listedParts matches each item of a comma-separated list, from its first letter: superfluous
// commas produce none.
const listedParts = `[^,\\s\\v\\x{85}\\p{Z}][^,]*`

// ruleOfTags is equivalent to config.ParseTags.
const ruleOfTags = `v.findAll('` + listedParts + `', 21).size() <= 20 && v.findAll('` + listedParts + `', 21).all(t, size(bytes(t.trim())) <= 255` +
	` && !t.trim().matches('\\p{Cc}') && !t.trim().matches('(?i)^kube_') && v.findAll('` + listedParts + `', 21).exists_one(u, u.trim().lowerAscii() == t.trim().lowerAscii()))`

// ruleOfPath accepts texts that url.Parse parses as a path without a host.
const ruleOfPath = `size(bytes(v)) <= 255 && v.startsWith('/') && !v.matches('^//([^/]*@)?[^/@]+(/|$)') && !v.matches('[\\x00-\\x20\\x7f?#]')` +
	` && !v.matches('%([^0-9A-Fa-f]|$|[0-9A-Fa-f]([^0-9A-Fa-f]|$))')`

// ruleOfIDs accepts up to a number of IDs, or "none".
func ruleOfIDs(most int) string { return "v == 'none' || " + ruleOfSubnets(most) }

// ruleOfSubnets accepts one ID up to a number of them.
func ruleOfSubnets(most int) string {
	const id = `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	parts := fmt.Sprintf("v.findAll('%s', %d)", listedParts, most+1)
	return fmt.Sprintf("%[1]s.size() > 0 && %[1]s.size() <= %[2]d && %[1]s.all(p, p.trim().matches('%[3]s'))", parts, most, id)
}

// ruleOfPortProtocols accepts pairs of a port and its protocol.
func ruleOfPortProtocols() string {
	const parts = `v.findAll('` + listedParts + `')`
	return parts + `.size() > 0 && ` + parts + `.all(p, p.contains('=') && p.split('=')[0].trim() != ''` +
		` && p.substring(p.indexOf('=') + 1).trim().replace('-', '_').matches('(?i)^(` + strings.Join(ListenerProtocols(), "|") + `)$'))` +
		` && (v.findAll('` + listedParts + `', 102).size() > 100 || ` + parts + `.all(p, ` + parts + `.exists_one(q, q.split('=')[0].trim() == p.split('=')[0].trim())))`
}
