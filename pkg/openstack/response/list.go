package response

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// List decodes a list of objects that can have thousands, all of a few texts and numbers; nil of
// null. Set is called for each field of each object, with the object before it, and takes the
// value with a method of Fields. By reflection it would take twice as long, an allocation for each
// text, and more memory: here texts are parts of few, and the list grows once. One token after the
// other would take nearly as long as that.
func List[T any](dec *jsontext.Decoder, set func(f *Fields, object, before *T) error) ([]T, error) {
	list, err := dec.ReadValue() // what follows relies on that it is valid
	if err != nil || list.Kind() == 'n' {
		return nil, err
	}
	if list.Kind() != '[' {
		return nil, fmt.Errorf("got a JSON %s, want an array", list.Kind())
	}
	f := Fields{rest: list[1:], piece: min(len(list), mostOfPiece)}
	f.plain = bytes.IndexByte(list, '\\') < 0 && utf8.Valid(list)
	all, before := make([]T, 0, mostObjects(list)), new(T)
	for f.next() != ']' {
		var object T
		all = append(all, object)
		if err := f.object(func() error { return set(&f, &all[len(all)-1], before) }); err != nil {
			return nil, err
		}
		before = &all[len(all)-1]
	}
	return all, nil
}

// mostObjects returns for how many objects a list with a text is to have room. No object that
// names something by its ID is shorter than smallest.
func mostObjects(text []byte) int {
	const smallest = 32
	return min(bytes.Count(text, []byte{'{'}), len(text)/smallest+1)
}

// Fields are those of the objects of a list, one after the other.
type Fields struct {
	// rest is what is not read yet of the list, which is valid JSON. Plain says that each of its
	// strings says what stands between its quotes.
	rest       jsontext.Value
	plain      bool
	name, word []byte
	// texts has what is kept, and room for piece bytes.
	texts *strings.Builder
	piece int
}

// object calls set for each field of the next object; null has none.
func (f *Fields) object(set func() error) error {
	switch f.next() {
	case 'n':
		return f.Skip()
	case '{':
		f.rest = f.rest[1:]
	default:
		return fmt.Errorf("got a JSON %s, want an object", f.take().Kind())
	}
	for f.next() != '}' {
		f.name = f.unquoted(f.take())
		if err := set(); err != nil {
			return err
		}
	}
	f.rest = f.rest[1:]
	return nil
}

// next returns what the next value begins with, or what ends the array or object.
func (f *Fields) next() byte {
	for i, char := range f.rest {
		switch char {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			f.rest = f.rest[i:]
			return char
		}
	}
	return ']' // which is not reached, as the list ends with one
}

// take reads the next value.
func (f *Fields) take() jsontext.Value {
	var length int
	switch f.next() {
	case '"':
		length = f.lengthOfString(f.rest)
	case '{', '[':
		length = f.lengthOfNested(f.rest)
	default:
		length = lengthOfWord(f.rest)
	}
	value := f.rest[:length]
	f.rest = f.rest[length:]
	return value
}

// lengthOfWord returns the length of the number, boolean or null that is followed by more.
func lengthOfWord(text jsontext.Value) int {
	for i, char := range text {
		switch char {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(text)
}

// lengthOfString returns the length of the string that text begins with.
func (f *Fields) lengthOfString(text jsontext.Value) int {
	at := 1
	if f.plain {
		return at + bytes.IndexByte(text[at:], '"') + 1
	}
	for ; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// lengthOfNested returns the length of the array or object that text begins with.
func (f *Fields) lengthOfNested(text jsontext.Value) int {
	at := 0
	for depth := 0; ; {
		switch text[at] {
		case '"':
			at += f.lengthOfString(text[at:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}

// unquoted returns what a JSON string says, until another one is asked for. Bytes that are no text
// become replacement characters, as elsewhere in an answer.
func (f *Fields) unquoted(value jsontext.Value) []byte {
	if f.plain {
		return value[1 : len(value)-1]
	}
	f.word, _ = jsontext.AppendUnquote(f.word[:0], value)
	return f.word
}

// Name returns the name of the field, until its value is read.
func (f *Fields) Name() []byte { return f.name }

// Skip reads over the value of the field.
func (f *Fields) Skip() error {
	f.take()
	return nil
}

// value reads the value of the field, which must be of a kind; nil of null.
func (f *Fields) value(kind jsontext.Kind) (jsontext.Value, error) {
	value := f.take()
	if value.Kind() == 'n' {
		return nil, nil
	}
	if value.Kind() != kind {
		return nil, fmt.Errorf("%s is a JSON %s, want a %s", f.name, value.Kind(), kind)
	}
	return value, nil
}

// Text reads the value of the field, and stores it unless it is null. Like is what it most likely
// says: then that is stored.
func (f *Fields) Text(into *string, like string) error {
	value, err := f.value('"')
	if value == nil || err != nil {
		return err
	}
	if word := f.unquoted(value); string(word) == like {
		*into = like
	} else {
		*into = f.keep(word)
	}
	return nil
}

// mostOfPiece is how many bytes of texts are kept together at most: who keeps one of them, keeps
// all.
const mostOfPiece = 4 << 10

// keep returns a text as a part of a longer one.
func (f *Fields) keep(text []byte) string {
	if f.texts == nil || f.texts.Cap()-f.texts.Len() < len(text) {
		f.texts = &strings.Builder{}
		f.texts.Grow(max(f.piece, len(text)))
	}
	at := f.texts.Len()
	f.texts.Write(text)
	return f.texts.String()[at:]
}

// Int reads the value of the field, and stores it unless it is null.
func (f *Fields) Int(into *int) error {
	value, err := f.value('0')
	if value == nil || err != nil {
		return err
	}
	number, err := strconv.Atoi(string(value))
	if err != nil {
		return fmt.Errorf("%s is %s, want a whole number", f.name, value)
	}
	*into = number
	return nil
}
