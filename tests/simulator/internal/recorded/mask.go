package recorded

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

type masker struct {
	without  map[string]bool
	patterns []*regexp.Regexp
	texts    []string
}

func (m *masker) mask(value any) any {
	switch value := value.(type) {
	case string:
		return m.text(value)
	case []any:
		return m.list(value)
	case map[string]any:
		masked := map[string]any{}
		for key, inside := range value {
			masked[m.text(key)] = m.mask(inside)
			if m.without[key] {
				masked[key] = "<left out>"
			}
		}
		return masked
	}
	return value
}

func (m *masker) text(text string) string {
	for i, pattern := range m.patterns {
		text = pattern.ReplaceAllString(text, m.texts[i])
	}
	return text
}

func (m *masker) list(values []any) []any {
	masked := make([]any, len(values))
	for i, value := range values {
		masked[i] = m.mask(value)
	}
	slices.SortStableFunc(masked, func(a, b any) int { return strings.Compare(spell(a), spell(b)) })
	return masked
}

// spell returns a value as JSON with sorted keys.
func spell(value any) string {
	text, _ := json.Marshal(value) // came from JSON
	return string(text)
}
