package instance

import "strings"

// maxLabelValue is the length of the longest label value of Kubernetes.
const maxLabelValue = 63

// labelValue makes a name of OpenStack (of a flavor, a zone, a region), which may
// be any text, a label value: other characters than letters, digits, "-", "_" and
// "." become "-", and it starts and ends with a letter or digit.
func labelValue(name string) string {
	value := strings.Map(func(r rune) rune {
		if alphanumeric(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
	value = strings.TrimFunc(value, func(r rune) bool { return !alphanumeric(r) })
	if len(value) > maxLabelValue {
		value = strings.TrimRightFunc(value[:maxLabelValue], func(r rune) bool { return !alphanumeric(r) })
	}
	return value
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
