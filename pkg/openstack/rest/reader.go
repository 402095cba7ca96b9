package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader decodes an answer that can have thousands of objects, one value after the other. Each
// value must be read exactly once, by one of its methods. Reflection would take three times as
// long, with one allocation for each text and more memory; here texts share a few allocations.
// Every method returns an error for invalid JSON and for a value of another kind; the values read
// so far are then undefined. Null is valid for every kind, and leaves the target unchanged. Bytes
// that are not UTF-8 become replacement characters, and the last of several fields with one name
// applies, as in all decoding of answers.
type Reader struct {
	// rest is the unread part. If plain is set, no string contains escapes; otherwise the text was
	// validated as JSON.
	rest  []byte
	plain bool
	word  []byte
	// texts holds the kept texts, with room for more.
	texts *strings.Builder
}

// decoder is a type that decodes itself with a Reader, without reflection.
type decoder interface {
	DecodeFrom(r *Reader) error
}

// readAll decodes a text that must be a single value.
func readAll(text []byte, value func(*Reader) error) error {
	r := Reader{rest: text, plain: isPlain(text)}
	if !r.plain && !jsontext.Value(text).IsValid(lenient()) {
		return errNoJSON
	}
	if err := value(&r); err != nil {
		return err
	}
	if r.space(); len(r.rest) > 0 {
		return errNoJSON
	}
	return nil
}

var errNoJSON = errors.New("the answer is not valid JSON")

// isPlain reports whether a text has only printable ASCII without backslashes.
func isPlain(text []byte) bool {
	for _, char := range text {
		if char < ' ' || char >= utf8.RuneSelf || char == '\\' {
			return false
		}
	}
	return true
}

// Object decodes an object, and calls field for the value of each field. The name is valid until
// field reads.
func (r *Reader) Object(field func(name []byte) error) error {
	return r.each('{', '}', func() error {
		name, err := r.text()
		if err != nil {
			return err
		}
		if r.next() != ':' {
			return r.unexpected(`":"`)
		}
		r.rest = r.rest[1:]
		return field(name)
	})
}

// ReadList decodes an array, and calls object for each element. It returns nil for null.
func ReadList[T any](r *Reader, object func(one *T, r *Reader) error) ([]T, error) {
	if r.next() == 'n' {
		return nil, r.Skip()
	}
	all := make([]T, 0, r.mostObjects())
	err := r.each('[', ']', func() error {
		var one T
		all = append(all, one)
		return object(&all[len(all)-1], r)
	})
	return all, err
}

// mostObjects returns the capacity to allocate for the next array: the number of objects that begin
// before its end, unless they contain arrays. No object with an ID is shorter than smallest.
func (r *Reader) mostObjects() int {
	const smallest = 32
	text := r.rest[:bytes.IndexByte(r.rest, ']')+1]
	if nested := len(text) > 0 && bytes.IndexByte(text[1:], '[') >= 0; nested {
		return 0
	}
	return min(bytes.Count(text, []byte{'{'}), len(text)/smallest+1)
}

// each calls one for each element between two brackets, and reads the commas.
func (r *Reader) each(opens, closes byte, one func() error) error {
	switch r.next() {
	case opens:
	case 'n':
		return r.Skip()
	default:
		return r.unexpected(strconv.QuoteRune(rune(opens)))
	}
	r.rest = r.rest[1:]
	if r.next() == closes {
		r.rest = r.rest[1:]
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.rest = r.rest[1:]
		case closes:
			r.rest = r.rest[1:]
			return nil
		default:
			return r.unexpected(strconv.QuoteRune(rune(closes)))
		}
	}
}

// space skips white space.
func (r *Reader) space() {
	for i, char := range r.rest {
		if char != ' ' && char != '\n' && char != '\t' && char != '\r' {
			r.rest = r.rest[i:]
			return
		}
	}
	r.rest = nil
}

// next returns the next byte after white space; 0 at the end.
func (r *Reader) next() byte {
	if len(r.rest) > 0 && r.rest[0] > ' ' {
		return r.rest[0]
	}
	if r.space(); len(r.rest) > 0 {
		return r.rest[0]
	}
	return 0
}

func (r *Reader) unexpected(want string) error {
	if r.next() == 0 {
		return fmt.Errorf("the answer ends where %s is expected: %w", want, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("got %.20q, want %s", r.rest, want)
}

// text returns the content of the next string, which is valid until the next call.
func (r *Reader) text() ([]byte, error) {
	if r.next() != '"' {
		return nil, r.unexpected("a string")
	}
	length := r.lengthOfString(r.rest)
	if length == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	quoted := r.rest[:length]
	r.rest = r.rest[length:]
	if r.plain {
		return quoted[1 : length-1], nil
	}
	r.word, _ = jsontext.AppendUnquote(r.word[:0], quoted) // valid, except for bytes that are not UTF-8
	return r.word, nil
}

// lengthOfString returns the length of the string at the beginning of a text, 0 if it is not
// terminated.
func (r *Reader) lengthOfString(text []byte) int {
	if r.plain {
		end := bytes.IndexByte(text[1:], '"')
		if end < 0 {
			return 0
		}
		return end + 2
	}
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return 0
}

// Decode reads a value by reflection.
func (r *Reader) Decode(into any) error {
	before := r.rest
	if err := r.Skip(); err != nil {
		return err
	}
	return json.Unmarshal(before[:len(before)-len(r.rest)], into, lenient())
}

// Skip reads over a value.
func (r *Reader) Skip() error {
	switch r.next() {
	case '"':
		_, err := r.text()
		return err
	case '{', '[':
		nested := r.rest[:r.lengthOfNested()]
		r.rest = r.rest[len(nested):]
		if !jsontext.Value(nested).IsValid(lenient()) {
			return errNoJSON
		}
		return nil
	default:
		_, err := r.number()
		return err
	}
}

// lengthOfNested returns the length of the next array or object; if it is not terminated, that of
// the rest.
func (r *Reader) lengthOfNested() int {
	depth := 0
	for at := 0; at < len(r.rest); at++ {
		switch r.rest[at] {
		case '"':
			length := r.lengthOfString(r.rest[at:])
			if length == 0 {
				return len(r.rest)
			}
			at += length - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(r.rest)
}

// number returns the next number, boolean or null.
func (r *Reader) number() ([]byte, error) {
	r.next()
	length := 0
	for length < len(r.rest) && !ends(r.rest[length]) {
		length++
	}
	word := r.rest[:length]
	if !isWholeNumber(word) && !jsontext.Value(word).IsValid() {
		return nil, r.unexpected("a value")
	}
	r.rest = r.rest[length:]
	return word, nil
}

// ends reports whether a byte ends a number, boolean or null.
func ends(char byte) bool {
	switch char {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

// isWholeNumber reports whether a word is a whole number of JSON.
func isWholeNumber(word []byte) bool {
	for _, char := range word {
		if char < '0' || char > '9' {
			return false
		}
	}
	return len(word) > 0 && (word[0] != '0' || len(word) == 1)
}

// Text decodes a string. If it is equal to one of the constants, it stores the constant instead of a copy.
func (r *Reader) Text(into *string, constants ...string) error {
	if r.next() == 'n' {
		return r.Skip()
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	for _, constant := range constants {
		if string(text) == constant {
			*into = constant
			return nil
		}
	}
	*into = r.keep(text)
	return nil
}

// Int decodes a whole number.
func (r *Reader) Int(into *int) error {
	if r.next() == 'n' {
		return r.Skip()
	}
	word, err := r.number()
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(string(word))
	if err != nil {
		return fmt.Errorf("got %q, want a whole number", word)
	}
	*into = number
	return nil
}

// Size of the allocations for texts: a reference to one text keeps the whole allocation. Each is
// twice as large as the previous one, because most answers keep few texts.
const firstPiece, mostOfPiece = 512, 4 << 10

// keep copies a text into the shared allocation.
func (r *Reader) keep(text []byte) string {
	if r.texts == nil || r.texts.Cap()-r.texts.Len() < len(text) {
		size := firstPiece
		if r.texts != nil {
			size = min(2*r.texts.Cap(), mostOfPiece)
		}
		r.texts = &strings.Builder{}
		r.texts.Grow(max(min(len(r.rest), size), len(text)))
	}
	at := r.texts.Len()
	r.texts.Write(text)
	return r.texts.String()[at:]
}
