package state

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Fingerprint is what is recorded of a Service, so that the next process need not read a
// load balancer that nobody has changed. It proves nothing about the owner of the load
// balancer: the digest, which holds the identity of cluster and Service, does.
type Fingerprint struct {
	LoadBalancerID string
	UpdatedAt      time.Time
	// Digests are of what the Service asked for, "" when another version wrote them, or what is in
	// the load balancer is not to be believed.
	Digests Digests
	// Service is the UID of the Service: on another one it is a copy.
	Service types.UID
	// FloatingIPID is the floating IP on the VIP, "" for none. The published address does
	// not name it: that can be a host name.
	FloatingIPID string
	// Parts condenses which parts were in the load balancer, where nothing had confirmed yet that
	// nobody else changed it; "" where that was confirmed. See Restored.
	Parts string
	// Warnings are those that the Service was sent, as Store.Warnings returns them.
	Warnings string
}

// fingerprintVersion is the seventh word of a fingerprint; warnings may follow. It goes up
// with the contents of digests: those of another version prove nothing. The first words are the
// same in all versions. Parts of an unconfirmed load balancer follow in the same word, as in
// "v1+digest".
const (
	fingerprintVersion = "v1"
	unconfirmed        = fingerprintVersion + "+"
)

// none stands for a word that is empty.
const none = "-"

// Fingerprint returns what is recorded of it, but for warnings.
func (a *Applied) Fingerprint(service types.UID) Fingerprint {
	return Fingerprint{
		LoadBalancerID: a.LoadBalancer.ID, UpdatedAt: a.Seen.UpdatedAt, Digests: a.Digests,
		Service: service, FloatingIPID: a.LoadBalancer.FloatingIPID,
	}
}

// String returns the text of a fingerprint, such as
// "ID 2026-11-20T18:34:24Z digest UID ID nodeless v1".
func (f Fingerprint) String() string {
	version := fingerprintVersion
	if f.Parts != "" {
		version = unconfirmed + f.Parts
	}
	words := []string{
		f.LoadBalancerID, f.UpdatedAt.UTC().Format(time.RFC3339Nano), cmp.Or(f.Digests.Full, none), string(f.Service),
		cmp.Or(f.FloatingIPID, none), cmp.Or(f.Digests.Nodeless, none), version,
	}
	if f.Warnings != "" {
		words = append(words, f.Warnings)
	}
	return strings.Join(words, " ")
}

// ParseFingerprint reads the text of a fingerprint. It reports false for what is none. Of
// one that another version wrote it returns load balancer, time and Service.
func ParseFingerprint(text string) (Fingerprint, bool) {
	words := strings.Fields(text)
	if len(words) < 4 {
		return Fingerprint{}, false
	}
	for i := range words {
		if words[i] == none {
			words[i] = ""
		}
	}
	updatedAt, err := time.Parse(time.RFC3339Nano, words[1])
	f := Fingerprint{LoadBalancerID: words[0], UpdatedAt: updatedAt, Service: types.UID(words[3])}
	if len(words) < 7 || len(words) > 8 {
		return f, err == nil
	}
	parts, isUnconfirmed := strings.CutPrefix(words[6], unconfirmed)
	if isUnconfirmed && parts != "" {
		f.Parts = parts
	} else if words[6] != fingerprintVersion {
		return f, err == nil
	}
	f.Digests, f.FloatingIPID = Digests{Full: words[2], Nodeless: words[5]}, words[4]
	f.Warnings = strings.Join(words[7:], "")
	return f, err == nil
}
