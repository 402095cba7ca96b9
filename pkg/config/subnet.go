package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// SubnetMatcher selects subnets by name and tags. The zero value selects all.
type SubnetMatcher struct {
	name    *regexp.Regexp
	notName bool
	tags    []string
	allTags bool
	notTags bool
}

// NewSubnetMatcher parses the settings floating-subnet and floating-subnet-tags, or the annotations
// of these names. An empty text selects all.
//
// The pattern matches the whole name: a glob (`*` any text, `?` one character, `[a-z]` a class,
// `{a,b}` a choice), or a regular expression after `~`. The tags are separated by commas: the
// subnet has any of them, or all of them after `&`. A leading `!` negates either.
func NewSubnetMatcher(pattern, tags string) (SubnetMatcher, error) {
	var m SubnetMatcher
	if err := m.setName(pattern); err != nil {
		return SubnetMatcher{}, fmt.Errorf("reading subnet pattern %q: %w", pattern, err)
	}
	if err := m.setTags(tags); err != nil {
		return SubnetMatcher{}, fmt.Errorf("reading subnet tags %q: %w", tags, err)
	}
	return m, nil
}

// Match reports whether a subnet with this name and these tags is selected.
func (m SubnetMatcher) Match(name string, tags []string) bool {
	return m.matchName(name) && m.matchTags(tags)
}

func (m SubnetMatcher) matchName(name string) bool {
	return m.name == nil || m.name.MatchString(name) != m.notName
}

func (m SubnetMatcher) matchTags(tags []string) bool {
	if len(m.tags) == 0 {
		return true
	}
	found := 0
	for _, tag := range m.tags {
		if slices.Contains(tags, tag) {
			found++
		}
	}
	if m.allTags {
		return (found == len(m.tags)) != m.notTags
	}
	return (found > 0) != m.notTags
}

func (m *SubnetMatcher) setName(pattern string) error {
	if pattern == "" {
		return nil
	}
	pattern, m.notName = strings.CutPrefix(pattern, "!")
	expression, isRegexp := strings.CutPrefix(pattern, "~")
	if expression == "" {
		return errors.New("the pattern is empty")
	}
	if isRegexp {
		// Compile it alone first: an unmatched bracket must not pair with those added below.
		if _, err := regexp.Compile(expression); err != nil {
			return err
		}
	} else {
		expression = globExpression(expression)
	}
	name, err := regexp.Compile(`^(?:` + expression + `)$`)
	m.name = name
	return err
}

func (m *SubnetMatcher) setTags(tags string) error {
	if tags == "" {
		return nil
	}
	tags, m.notTags = strings.CutPrefix(tags, "!")
	tags, m.allTags = strings.CutPrefix(tags, "&")
	for _, tag := range strings.Split(tags, ",") {
		tag = strings.TrimSpace(tag)
		if tag != "" { // empty items are ignored, as in all lists
			m.tags = append(m.tags, tag)
		}
	}
	if len(m.tags) == 0 {
		return errors.New("a tag is empty")
	}
	return nil
}

// globExpression returns the regular expression of a glob. A malformed glob gives a malformed
// expression.
func globExpression(glob string) string {
	var out strings.Builder
	choices := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '*':
			out.WriteString(`.*`)
		case c == '?':
			out.WriteString(`.`)
		case c == '[':
			class, rest := cutClass(glob[i:])
			out.WriteString(class)
			i = len(glob) - len(rest) - 1
		case c == '{':
			choices++
			out.WriteString(`(?:`)
		case c == '}':
			choices--
			out.WriteString(`)`)
		case c == ',' && choices > 0:
			out.WriteString(`|`)
		case c < 0x80:
			out.WriteString(regexp.QuoteMeta(string(c)))
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// cutClass splits a glob that starts with [ after the class, and returns the class as a regular
// expression. If the class is not closed, it is the whole rest, which is not a valid expression.
func cutClass(glob string) (class, rest string) {
	end := strings.IndexByte(glob, ']')
	if end < 0 {
		return glob, ""
	}
	inside, negated := strings.CutPrefix(glob[1:end], "!")
	inside = strings.ReplaceAll(inside, `\`, `\\`)
	inside = strings.ReplaceAll(inside, `[`, `\[`)
	if negated {
		inside = "^" + inside
	}
	return "[" + inside + "]", glob[end+1:]
}
