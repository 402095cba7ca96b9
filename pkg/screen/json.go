package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// apiVersion is the version of the JSON of all commands. It changes when a field is removed or
// changes its meaning, but not when fields are added.
const apiVersion = "openstack-ccm/v1"

// WriteJSON writes the fields of objects as one JSON object for programs, preceded by the version
// of its fields and its kind: indented for people, and without the escapes that only HTML needs.
// Characters that control a terminal are escaped, because other users of the project choose names.
func WriteJSON(out io.Writer, kind string, objects ...any) error {
	head := struct {
		Version string `json:"apiVersion"`
		Kind    string `json:"kind"`
	}{apiVersion, kind}
	var all [][]byte
	for _, object := range append([]any{head}, objects...) {
		fields, err := marshal(object)
		if err != nil {
			return err
		}
		if len(fields) < len("{}") || fields[0] != '{' {
			return fmt.Errorf("a %s is no JSON object", kind)
		}
		if fields = fields[1 : len(fields)-1]; len(fields) > 0 {
			all = append(all, fields)
		}
	}
	var text bytes.Buffer
	if err := json.Indent(&text, slices.Concat([]byte("{"), bytes.Join(all, []byte(",")), []byte("}")), "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	_, err := out.Write(escaped(text.Bytes()))
	return err
}

// marshal returns a value as JSON, without the escapes that only HTML needs.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// escaped returns JSON with unprintable characters escaped. Outside of strings JSON is ASCII;
// within them encoding/json has escaped control characters already.
func escaped(text []byte) []byte {
	safe := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || unicode.IsPrint(r):
			safe = append(safe, text[:size]...)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
		text = text[size:]
	}
	return safe
}
