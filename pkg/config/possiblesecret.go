package config

import (
	"strings"
	"unicode"
)

// possibleSecrets returns the unknown keys of a cloud.conf that may be parts of a secret, in lower
// case, each with its first line. These are keys without a value (a password on its own line), keys
// with only "=" as value (the end of a base64 text), and keys on the lines after a secret, where it
// may continue. Warnings do not repeat them.
func possibleSecrets(content string) map[string]int {
	found := map[string]int{}
	number, behindSecret := 0, false
	for line := range strings.SplitSeq(content, "\n") {
		number++
		line = strings.TrimSpace(line)
		switch {
		case line == "", isComment(line):
			continue
		case strings.HasPrefix(line, "["):
			behindSecret = false
			continue
		}
		key, value := line, ""
		if end := strings.IndexFunc(line, endsKey); end >= 0 {
			key, value = line[:end], strings.Trim(line[end:], "= \t\"")
		}
		key = strings.ToLower(key)
		known, secret := knownKey(key)
		if _, there := found[key]; !there && !known && (behindSecret || value == "" || isComment(value)) {
			found[key] = number
		}
		behindSecret = secret || behindSecret && !known
	}
	return found
}

// knownKey reports whether any section has a key, and whether its value is a secret.
func knownKey(key string) (known, secret bool) {
	for _, s := range sections() {
		for _, o := range s.options {
			if strings.EqualFold(o.key, key) {
				known, secret = true, secret || o.secret
			}
		}
	}
	return known, secret
}

func isComment(text string) bool { return strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";") }

// endsKey reports whether a character ends a key of gcfg.
func endsKey(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
