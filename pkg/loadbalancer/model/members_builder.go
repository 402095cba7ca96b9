package model

import (
	"encoding/hex"
	"slices"
	"strings"
	"unique"

	"github.com/google/uuid"
)

// builder builds Members from the members that are added to it.
type builder struct {
	room  int     // the number of members that will be added at most
	like  Members // shares with the result the columns that are equal
	hosts []unique.Handle[Host]
	made  Members // without hosts
	// unsorted is set when members were not added in the order of their keys.
	unsorted bool
}

// add adds a member.
func (b *builder) add(m *Member) {
	at, host := len(b.hosts), Host{m.Name, m.Address}
	if at < b.like.Len() && b.like.hosts.list[at].Value() == host { // takes a tenth of the time of unique.Make
		b.append(b.like.hosts.list[at], m.kind())
	} else {
		b.append(unique.Make(host), m.kind())
	}
	b.made.ids.set(at, m.ID, b.room)
}

// copy adds member i of others.
func (b *builder) copy(others Members, i int) {
	at := len(b.hosts)
	b.append(others.hosts.list[i], others.Kind(i))
	b.made.ids.copy(at, others.ids, i, b.room)
}

func (b *builder) append(host unique.Handle[Host], kind Member) {
	if b.hosts == nil {
		b.hosts = make([]unique.Handle[Host], 0, b.room)
	}
	at, index := len(b.hosts), slices.Index(b.made.kinds, kind)
	b.hosts = append(b.hosts, host)
	if index < 0 {
		index, b.made.kinds = len(b.made.kinds), append(b.made.kinds, kind)
	}
	if index > 0 && b.made.kind == nil {
		b.made.kind = make([]uint16, at, b.room)
	}
	if b.made.kind != nil {
		b.made.kind = append(b.made.kind, uint16(index)) // no pool has 65,536 kinds of members
	}
	if at > 0 {
		before := MemberKey{b.hosts[at-1].Value().Address, b.made.kindOf(at - 1).Port}
		b.unsorted = b.unsorted || before.Compare(MemberKey{host.Value().Address, kind.Port}) > 0
	}
}

// members returns the members that were added.
func (b *builder) members() Members {
	if len(b.hosts) == 0 {
		return Members{}
	}
	made, like := b.made, b.like
	if made.hosts = like.hosts; !slices.Equal(b.hosts, like.hosts.handles()) {
		made.hosts = intern(fit(b.hosts, nil))
	}
	made.kinds, made.kind = fit(made.kinds, like.kinds), fit(made.kind, like.kind)
	made.ids = ids{fit(made.ids.compact, like.ids.compact), fit(made.ids.texts, like.ids.texts)}
	if !b.unsorted {
		return made
	}
	all := make([]Member, 0, made.Len())
	for _, m := range made.All() {
		all = append(all, m)
	}
	return MembersOf(all...)
}

// fit returns a column without spare capacity: the column of other members if it is equal.
func fit[T comparable](column, like []T) []T {
	switch {
	case slices.Equal(column, like):
		return like
	case cap(column) > len(column):
		return slices.Clone(column)
	}
	return column
}

// ids are the IDs of members: as UUIDs or, if one of them is not a UUID, as texts. Both are nil if no member has
// an ID, else one of them has an element for each member.
type ids struct {
	compact []uuid.UUID // the nil UUID for a member without an ID
	texts   []string
}

// at returns the ID of member i, "" for none.
func (c *ids) at(i int) string {
	switch {
	case i < len(c.texts):
		return c.texts[i]
	case i < len(c.compact) && c.compact[i] != uuid.Nil:
		return c.compact[i].String()
	}
	return ""
}

// all returns a function that returns the ID of member i. It makes one text of all UUIDs, as one for each would be most
// of the work of a walk.
func (c *ids) all() func(i int) string {
	const length = len("01234567-89ab-cdef-0123-456789abcdef")
	text := make([]byte, 0, length*len(c.compact))
	for _, id := range c.compact {
		text = append(hex.AppendEncode(text, id[:4]), '-')
		text = append(hex.AppendEncode(text, id[4:6]), '-')
		text = append(hex.AppendEncode(text, id[6:8]), '-')
		text = append(hex.AppendEncode(text, id[8:10]), '-')
		text = hex.AppendEncode(text, id[10:])
	}
	all := string(text)
	return func(i int) string {
		if i < len(c.compact) && c.compact[i] != uuid.Nil {
			return all[i*length : (i+1)*length]
		}
		return c.at(i)
	}
}

// is reports whether member i has this ID.
func (c *ids) is(i int, id string) bool {
	if i < len(c.compact) {
		packed, ok := packID(id)
		return ok && packed == c.compact[i]
	}
	return c.at(i) == id
}

func (c *ids) equal(other ids) bool {
	return slices.Equal(c.compact, other.compact) && slices.Equal(c.texts, other.texts)
}

// set sets the ID of member i, the first one without. Room is the number of members.
func (c *ids) set(i int, id string, room int) {
	if packed, ok := packID(id); ok && c.texts == nil {
		c.setCompact(i, packed, room)
		return
	}
	if c.texts == nil {
		c.texts = make([]string, 0, room)
		for at := range i {
			c.texts = append(c.texts, (&ids{compact: c.compact}).at(at))
		}
		c.compact = nil
	}
	c.texts = append(c.texts, id)
}

func (c *ids) setCompact(i int, id uuid.UUID, room int) {
	if c.compact == nil && id == uuid.Nil {
		return
	}
	if c.compact == nil {
		c.compact = make([]uuid.UUID, i, room)
	}
	c.compact = append(c.compact, id)
}

// copy sets the ID of member i to that of another member.
func (c *ids) copy(i int, others ids, other, room int) {
	switch {
	case c.texts != nil || others.texts != nil:
		c.set(i, others.at(other), room)
	case others.compact != nil:
		c.setCompact(i, others.compact[other], room)
	default:
		c.setCompact(i, uuid.Nil, room)
	}
}

// packID returns the nil UUID for an ID that is not known. It returns false for an ID that is not a UUID in its
// usual form in lower case, which would not come back as it was.
func packID(id string) (packed uuid.UUID, ok bool) {
	if id == "" {
		return uuid.Nil, true
	}
	packed, err := uuid.Parse(id)
	return packed, err == nil && len(id) == len(uuid.Nil.String()) && packed != uuid.Nil && strings.ToLower(id) == id
}
