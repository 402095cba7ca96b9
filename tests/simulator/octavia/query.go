package octavia

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// parseQuery reads a query as Octavia's framework does: & and ; separate, a
// name without = has the value "", and a % that begins no escape is itself.
func parseQuery(raw string) url.Values {
	values := url.Values{}
	for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(part, "=")
		key = unescape(key)
		values[key] = append(values[key], unescape(value))
	}
	return values
}

func unescape(text string) string {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '+':
			plain.WriteByte(' ')
		case text[i] == '%' && i+2 < len(text):
			code, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				plain.WriteByte('%')
				continue
			}
			plain.WriteByte(byte(code))
			i += 2
		default:
			plain.WriteByte(text[i])
		}
	}
	return strings.ToValidUTF8(plain.String(), "\uFFFD")
}

// pythonInt reads a number as Python's int does: spaces around it, digits of
// any script, and single underscores between them.
func pythonInt(text string) (int, bool) {
	var digits strings.Builder
	text = strings.TrimSpace(text)
	before := '_'
	for i, r := range text {
		switch {
		case i == 0 && (r == '+' || r == '-'):
			digits.WriteRune(r)
			continue
		case r == '_' && before == '_':
			return 0, false
		case r == '_':
		case !unicode.Is(unicode.Nd, r):
			return 0, false
		default:
			digits.WriteByte('0' + byte(digitOf(r)))
		}
		before = r
	}
	number, err := strconv.Atoi(digits.String())
	return number, err == nil && before != '_'
}

// digitOf is the value of a decimal digit: those of a script stand together,
// in order.
func digitOf(r rune) int {
	value := 0
	for value < 9 && unicode.Is(unicode.Nd, r-rune(value)-1) {
		value++
	}
	return value % 10
}

// pythonQuote is the text as Python writes it in an error: in single quotes,
// unless these would have to be escaped and double ones not.
func pythonQuote(text string) string {
	quote := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var quoted strings.Builder
	quoted.WriteByte(quote)
	for _, r := range text {
		switch {
		case r == rune(quote) || r == '\\':
			quoted.WriteByte('\\')
			quoted.WriteRune(r)
		case r == '\n':
			quoted.WriteString(`\n`)
		case r == '\r':
			quoted.WriteString(`\r`)
		case r == '\t':
			quoted.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xad:
			quoted.WriteString(`\x` + hex(r, 2))
		case !unicode.IsPrint(r) && r > 0xffff:
			quoted.WriteString(`\U` + hex(r, 8))
		case !unicode.IsPrint(r):
			quoted.WriteString(`\u` + hex(r, 4))
		default:
			quoted.WriteRune(r)
		}
	}
	quoted.WriteByte(quote)
	return quoted.String()
}

func hex(r rune, width int) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, width-len(text))) + text
}

// isTrue reads a boolean of a query: any other value is false. Booleans of bodies are
// read more strictly.
func isTrue(text string) bool {
	return slices.Contains([]string{"true", "1", "t", "on", "yes", "y"}, strings.ToLower(strings.TrimSpace(text)))
}
