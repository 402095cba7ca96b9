package response

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// List decodes a list of objects that can have thousands, all of a few texts and numbers; nil of
// null. Set is called for each field of each object, with the object before it, and takes the
// value with a method of Fields. By reflection it would take longer, an allocation for each text, and
// twice the memory: here texts are parts of few, and the list grows once.
func List[T any](dec *jsontext.Decoder, set func(f *Fields, object, before *T) error) ([]T, error) {
	if dec.PeekKind() == 'n' {
		return nil, dec.SkipValue()
	}
	if err := begin(dec, '['); err != nil {
		return nil, err
	}
	text := dec.UnreadBuffer()
	if end := bytes.IndexByte(text, ']'); end >= 0 {
		text = text[:end]
	}
	f := Fields{dec: dec, piece: min(len(text), mostOfPiece)}
	all, before := make([]T, 0, mostObjects(text)), new(T)
	for dec.PeekKind() != ']' {
		var object T
		all = append(all, object)
		if err := f.object(func() error { return set(&f, &all[len(all)-1], before) }); err != nil {
			return nil, err
		}
		before = &all[len(all)-1]
	}
	_, err := dec.ReadToken()
	return all, err
}

// mostObjects returns for how many objects a list with a text is to have room. No object that
// names something by its ID is shorter than smallest.
func mostObjects(text []byte) int {
	const smallest = 32
	return min(bytes.Count(text, []byte{'{'}), len(text)/smallest+1)
}

// begin reads what a list or an object begins with.
func begin(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("got a JSON %s, want %s", token.Kind(), kind)
	}
	return err
}

// Fields are those of the objects of a list, one after the other.
type Fields struct {
	dec        *jsontext.Decoder
	name, word []byte
	// texts has what is kept, and room for piece bytes.
	texts *strings.Builder
	piece int
}

// object calls set for each field of the next object; null has none.
func (f *Fields) object(set func() error) error {
	if f.dec.PeekKind() == 'n' {
		return f.dec.SkipValue()
	}
	if err := begin(f.dec, '{'); err != nil {
		return err
	}
	for f.dec.PeekKind() != '}' {
		name, err := f.dec.ReadValue()
		if err != nil {
			return err
		}
		f.name = unquoted(f.name[:0], name)
		if err := set(); err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

// unquoted appends a JSON string to text without its quotes. Bytes that are no text become
// replacement characters, as elsewhere in an answer.
func unquoted(text []byte, value jsontext.Value) []byte {
	text, _ = jsontext.AppendUnquote(text, value)
	return text
}

// Name returns the name of the field, until the next.
func (f *Fields) Name() []byte { return f.name }

// Skip reads over the value of the field.
func (f *Fields) Skip() error { return f.dec.SkipValue() }

// value reads the value of the field, which must be of a kind; nil of null.
func (f *Fields) value(kind jsontext.Kind) (jsontext.Value, error) {
	value, err := f.dec.ReadValue()
	switch {
	case err != nil || value.Kind() == 'n':
		return nil, err
	case value.Kind() != kind:
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
	if f.word = unquoted(f.word[:0], value); string(f.word) == like {
		*into = like
	} else {
		*into = f.keep(f.word)
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
