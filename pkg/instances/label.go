package instances

import (
	"regexp"
	"strings"
)

// maxLabelValue is the length of the longest label value of Kubernetes.
const maxLabelValue = 63

// badRun is what a label value cannot have in it.
var badRun = regexp.MustCompile(`[^-a-zA-Z0-9_.]+`)

// labelValue turns a name of OpenStack (of a zone, a region), which may be any text,
// into a label value: a run of other characters than letters, digits, "-", "_" and "." becomes
// one "-", and it starts and ends with a letter or digit. Wherever
// cloud-provider-openstack comes to a valid label value, it is the same one: labels are
// written once, and a zone must not be called two things in one cluster.
func labelValue(name string) string {
	value := strings.Trim(badRun.ReplaceAllString(name, "-"), "-_.")
	if len(value) > maxLabelValue {
		value = strings.TrimRight(value[:maxLabelValue], "-_.")
	}
	return value
}
