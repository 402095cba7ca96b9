package instances

import (
	"regexp"
	"strings"
)

// maxLabelValue is the maximum length of a label value in Kubernetes.
const maxLabelValue = 63

// badRun matches characters that a label value must not contain.
var badRun = regexp.MustCompile(`[^-a-zA-Z0-9_.]+`)

// labelValue converts a name of OpenStack (of a zone or region), which may be any text, to a label
// value: it replaces each run of characters other than letters, digits, "-", "_" and "." by one
// "-", and trims the ends to letters or digits. If cloud-provider-openstack produces a valid label
// value, it is the same: labels are written once, and a zone must have one name in a cluster.
func labelValue(name string) string {
	value := strings.Trim(badRun.ReplaceAllString(name, "-"), "-_.")
	if len(value) > maxLabelValue {
		value = strings.TrimRight(value[:maxLabelValue], "-_.")
	}
	return value
}
