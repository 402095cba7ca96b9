package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Name returns the name of the load balancer. A name that is too long ends with a hash of the
// whole, so that it is unique among the Services of a cluster. A name alone is never a proof,
// because another cluster may have the same.
func (i Identity) Name() string { return short(i.fullName()) }

// ListenerName returns the name of the listener for the Service's n-th port.
func (i Identity) ListenerName(n int) string { return child("listener", n, i.fullName()) }

// PoolName returns the name of the pool for the Service's n-th port.
func (i Identity) PoolName(n int) string { return child("pool", n, i.fullName()) }

// MonitorName returns the name of the health monitor for the Service's n-th port.
func (i Identity) MonitorName(n int) string { return child("monitor", n, i.fullName()) }

func (i Identity) fullName() string {
	return namePrefix + i.ClusterName + "_" + i.Namespace + "_" + i.Service
}

// child returns the name of the n-th child of a kind of the load balancer with this name.
func child(kind string, n int, of string) string {
	return short(kind + "_" + strconv.Itoa(n) + "_" + of)
}

// hashLength is the number of hexadecimal digits of SHA-256 at the end of a shortened name.
const hashLength = 16

// short limits a name to Octavia's maximum length.
func short(name string) string {
	if len(name) <= maxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:])[:hashLength]
	head := name[:maxLength-len(tail)]
	for !utf8.ValidString(head) && utf8.ValidString(name) { // not within a character
		head = head[:len(head)-1]
	}
	return head + tail
}

func cut(s string) string {
	if len(s) > maxLength {
		return s[:maxLength]
	}
	return s
}

// legacyNameOf returns the name of the load balancer of a Service in the provider inside of Kubernetes, before
// cloud-provider-openstack.
func legacyNameOf(serviceUID string) string {
	const most = 32
	name := "a" + strings.ReplaceAll(serviceUID, "-", "")
	return name[:min(most, len(name))]
}

// Names returns all names that our own load balancer, and the tag of its listeners, can have: ours,
// that of cloud-provider-openstack, which is truncated, the legacy one and the former one.
func (i Identity) Names() []string {
	names := []string{i.Name(), cut(i.fullName()), legacyNameOf(i.ServiceUID)}
	if i.Former != "" {
		names = append(names, i.Former)
	}
	return names
}

// FormerlyOurs reports whether a load balancer's name is the Service's under another
// --cluster-name. It is not sufficient as proof, because a Service of another cluster may have that
// name.
func (i Identity) FormerlyOurs(name string) bool {
	return i.ClusterName != "" && strings.HasPrefix(name, namePrefix) && strings.HasSuffix(name, "_"+i.Namespace+"_"+i.Service)
}

const namePrefix = "kube_service_"

// OwnsChild reports whether a listener or pool of a load balancer is this Service's: by our tag, by
// the load balancer's name as its tag (listeners of cloud-provider-openstack), or, without any tag,
// by its name (pools of cloud-provider-openstack). On a shared load balancer, names alone prove
// nothing, unless the Service has been served there before.
func (i Identity) OwnsChild(name string, tags []string) bool {
	switch i.uids().claim(tags) {
	case Ours:
		return true
	case Theirs:
		return false
	default:
	}
	if i.Sharing.Is && !i.Sharing.Served {
		return false
	}
	names := i.Names()
	if len(tags) > 0 {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(tags, name) })
	}
	return isChild(name, i.fullName()) || slices.ContainsFunc(names, func(of string) bool { return isChildOf(name, of) })
}

// isChild reports whether a name has the format of our children of the load balancer with this name.
func isChild(name, of string) bool {
	match := childName.FindStringSubmatch(name)
	if match == nil {
		return false
	}
	n, err := strconv.Atoi(match[2])
	return err == nil && name == child(match[1], n, of)
}

// childName matches the names of listeners, pools and monitors, including those of the provider
// inside of Kubernetes.
var (
	childName       = regexp.MustCompile(`^(listener|pool|monitor)_(\d+)_(.*)$`)
	legacyChildName = regexp.MustCompile(`^(?:listener|pool|monitor)_(a[0-9a-f]{1,31})_\d+$`)
)

// isChildOf reports whether a name, which may be truncated, is that of a child of the named load
// balancer.
func isChildOf(name, of string) bool {
	if match := legacyChildName.FindStringSubmatch(name); match != nil && match[1] == of {
		return true
	}
	match := childName.FindStringSubmatch(name)
	return match != nil && strings.HasPrefix(of, match[3]) && (match[3] == of || len(name) == maxLength)
}
