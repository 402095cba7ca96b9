package config

import (
	"fmt"
	"strings"
)

// syntaxError returns where gcfg stopped: the line and column, with which err begins, and the
// section or key at the beginning of the line. It omits the rest of the line and unknown words,
// which may be a secret or a part of one.
func syntaxError(content string, err error) error {
	text := fmt.Errorf("cloud.conf: syntax error at line:column %w", err)
	var number int
	if _, err := fmt.Sscanf(err.Error(), "%d:", &number); err != nil {
		return text
	}
	lines := strings.Split(content, "\n")
	if number < 1 || number > len(lines) {
		return text
	}
	if word := knownWord(lines[number-1]); word != "" {
		return fmt.Errorf("%w, in the line of %q", text, word)
	}
	return text
}

// knownWord returns the section, with its bracket, or the key at the beginning of a line, as
// spelled there; "" if it is unknown. It treats underscores, which gcfg rejects, as hyphens.
func knownWord(line string) string {
	line = strings.TrimSpace(line)
	rest, isHeader := strings.CutPrefix(line, "[")
	word := strings.TrimSpace(rest)
	if end := strings.IndexFunc(word, endsWord); end >= 0 {
		word = word[:end]
	}
	for _, s := range sections() {
		switch {
		case isHeader && strings.EqualFold(word, s.name):
			return "[" + word
		case !isHeader && s.has(strings.ReplaceAll(strings.ToLower(word), "_", "-")):
			return word
		}
	}
	return ""
}

func endsWord(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
