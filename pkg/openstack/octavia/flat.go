package octavia

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Most bytes of an answer about a load balancer are its members: a list of flat objects of a few
// short texts each. encoding/json makes a text of its own of each, and takes most of the time of a
// change of nodes for that. Here all texts of a list are parts of one.

// MemberStatuses are members of a status tree. All their texts are parts of one, which each of
// them keeps.
type MemberStatuses []MemberStatus

// UnmarshalJSON implements json.Unmarshaler.
func (all *MemberStatuses) UnmarshalJSON(text []byte) error {
	return unmarshalFlat(text, (*[]MemberStatus)(all), func(m *MemberStatus, key string, v scalar) bool {
		switch key {
		case "id":
			return v.setText(&m.ID)
		case "name":
			return v.setText(&m.Name)
		case "provisioning_status":
			return v.setText(&m.ProvisioningStatus)
		case "operating_status":
			return v.setText(&m.OperatingStatus)
		case "address":
			return v.setText(&m.Address)
		case "protocol_port":
			return v.setNumber(&m.Port)
		}
		return true
	})
}

// ObjectID names an object that belongs to another one.
type ObjectID struct {
	ID string `json:"id"`
}

// ObjectIDs name objects. All their texts are parts of one, which each of them keeps.
type ObjectIDs []ObjectID

// UnmarshalJSON implements json.Unmarshaler.
func (all *ObjectIDs) UnmarshalJSON(text []byte) error {
	return unmarshalFlat(text, (*[]ObjectID)(all), func(o *ObjectID, key string, v scalar) bool {
		return key != "id" || v.setText(&o.ID)
	})
}

// unmarshalFlat decodes a list of objects, each of whose values set is given. Where set reports
// false for one, or the list is not as plain as it usually is, encoding/json decodes it.
func unmarshalFlat[T any](text []byte, into *[]T, set func(object *T, key string, v scalar) bool) error {
	list := flatList{text: string(text)}
	all := make([]T, 0, strings.Count(list.text, "{"))
	ok := list.each(func(i int, key string, v scalar) bool {
		if i == len(all) {
			all = append(all, *new(T))
		}
		return key == "" || set(&all[i], key, v)
	})
	if !ok {
		return json.Unmarshal(text, into)
	}
	*into = all
	return nil
}

// scalar is a value that is neither a list nor an object.
type scalar struct {
	text string
	// quoted is set for a text, whose quotes are gone.
	quoted bool
}

// setText sets a text, and leaves it as it is for null. It is false for another value.
func (v scalar) setText(to *string) bool {
	if v.quoted {
		*to = v.text
	}
	return v.quoted || v.text == "null"
}

// setNumber is setText for a whole number.
func (v scalar) setNumber(to *int) bool {
	if !v.quoted && v.text == "null" {
		return true
	}
	n, err := strconv.Atoi(v.text)
	if v.quoted || err != nil {
		return false
	}
	*to = n
	return true
}

// flatList goes through a list of flat objects.
type flatList struct {
	text string
	at   int
}

// each calls set with each key and value of the objects, which count from 0; for an object without
// any, with the key "". It is false where set is, or the text is anything else than a list of
// objects without lists, objects, and texts with escapes in them.
func (l *flatList) each(set func(i int, key string, v scalar) bool) bool {
	if !l.take('[') {
		return false
	}
	if l.take(']') {
		return l.ends()
	}
	for i := 0; ; i++ {
		if !l.object(func(key string, v scalar) bool { return set(i, key, v) }) {
			return false
		}
		if !l.take(',') {
			return l.take(']') && l.ends()
		}
	}
}

func (l *flatList) object(set func(key string, v scalar) bool) bool {
	if !l.take('{') {
		return false
	}
	if l.take('}') {
		return set("", scalar{})
	}
	for {
		key, ok := l.scalar()
		if !ok || !key.quoted || key.text == "" || !l.take(':') {
			return false
		}
		value, ok := l.scalar()
		if !ok || !set(key.text, value) {
			return false
		}
		if !l.take(',') {
			return l.take('}')
		}
	}
}

// scalar takes a value. It is false for a list, an object and a text that has to be unquoted.
func (l *flatList) scalar() (scalar, bool) {
	if l.take('"') {
		rest := l.text[l.at:]
		end := strings.IndexByte(rest, '"')
		if end < 0 || strings.IndexByte(rest[:end], '\\') >= 0 || !utf8.ValidString(rest[:end]) {
			return scalar{}, false
		}
		l.at += end + 1
		return scalar{text: rest[:end], quoted: true}, true
	}
	rest := l.text[l.at:]
	end := strings.IndexAny(rest, ",:]}{[\" \t\r\n")
	if end <= 0 {
		return scalar{}, false
	}
	l.at += end
	return scalar{text: rest[:end]}, true
}

// take skips white space and then a character. It is false where another one comes.
func (l *flatList) take(c byte) bool {
	for l.at < len(l.text) {
		switch l.text[l.at] {
		case ' ', '\t', '\r', '\n':
			l.at++
			continue
		case c:
			l.at++
			return true
		}
		return false
	}
	return false
}

// ends reports whether nothing but white space is left.
func (l *flatList) ends() bool { return strings.TrimSpace(l.text[l.at:]) == "" }
