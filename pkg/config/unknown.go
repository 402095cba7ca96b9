package config

import (
	"fmt"
	"regexp"
	"strings"
)

// unknownData is a section or key of cloud.conf for which gcfg found no field.
type unknownData struct {
	section string
	name    string // of a section that may occur several times
	key     string // "" when the section itself is unknown
	// line is that of a key that must not be repeated, see possibleSecrets; else 0.
	line int
}

// unknownWarnings converts gcfg's warnings, and suggests the nearest known section or key.
func unknownWarnings(content string, found []error) []Warning {
	var all []Warning
	unnamed := possibleSecrets(content)
	for _, err := range found {
		u, ok := parseUnknown(err.Error())
		if !ok {
			all = append(all, warning("cloud.conf: %v", err))
			continue
		}
		u.line = unnamed[strings.ToLower(u.key)]
		if text := u.message(); text != "" {
			all = append(all, Warning{Text: text, Place: string(confPlace(sectionNamed(u.section), u.name, u.key))})
		}
	}
	return all
}

// parseUnknown parses the text of gcfg's warning, since its type is not exported. A test covers the
// format.
func parseUnknown(text string) (unknownData, bool) {
	form := regexp.MustCompile(`(?s)^can't store data at section "([^"]*)"(?:, subsection "(.*?)")?(?:, variable "([^"]*)")?$`)
	m := form.FindStringSubmatch(text)
	if m == nil {
		return unknownData{}, false
	}
	return unknownData{section: m[1], name: m[2], key: m[3]}, true
}

// message returns the warning, "" for data that is ignored silently.
func (u unknownData) message() string {
	known := sections()
	var names []string
	for _, s := range known {
		if !strings.EqualFold(s.name, u.section) {
			names = append(names, s.name)
			continue
		}
		if u.key == "" {
			return fmt.Sprintf("cloud.conf [%s] takes no name: a section with one is ignored", s.name)
		}
		return u.keyMessage(s, known)
	}
	if strings.EqualFold(u.section, "BlockStorage") {
		return ""
	}
	return fmt.Sprintf("cloud.conf unknown section [%s] is ignored%s", u.section, didYouMean(u.section, names, "[%s]"))
}

// sectionNamed returns a section's name as spelled in the table, or the name itself if it is
// unknown.
func sectionNamed(name string) string {
	for _, s := range sections() {
		if strings.EqualFold(s.name, name) {
			return s.name
		}
	}
	return name
}

func (u unknownData) keyMessage(s section, known []section) string {
	where, named := strings.TrimSpace(string(confPlace(s.name, u.name, ""))), fmt.Sprintf("%q", u.key)
	if u.line > 0 {
		named = fmt.Sprintf("in line %d, which may be a part of a secret and is not repeated", u.line)
	}
	if s.name == "LoadBalancer" && strings.EqualFold(u.key, "use-octavia") {
		return fmt.Sprintf("%s key %q has no effect any more: Octavia is always used", where, u.key)
	}
	if renamed := strings.Replace(strings.ToLower(u.key), "project", "tenant", 1); s.has(renamed) {
		return fmt.Sprintf("%s unknown key %s: did you mean %q?", where, named, renamed)
	}
	for _, other := range known {
		if other.has(u.key) {
			return fmt.Sprintf("%s unknown key %s: it belongs into [%s]", where, named, other.name)
		}
	}
	return fmt.Sprintf("%s unknown key %s%s", where, named, didYouMean(u.key, s.keys(), "%q"))
}

// didYouMean suggests the nearest known word, if it is near enough.
func didYouMean(word string, known []string, format string) string {
	nearest, ok := Nearest(word, known)
	if !ok {
		return ": it has no effect"
	}
	return fmt.Sprintf(": did you mean "+format+"?", nearest)
}
