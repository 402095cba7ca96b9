package state

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Record is the record of a Service for the next process, which then need not read an
// unchanged load balancer. It proves nothing about the owner of the load balancer: the digest,
// which includes the identity of cluster and Service, does.
type Record struct {
	LoadBalancerID string
	UpdatedAt      time.Time
	// Digests are of the desired load balancer, "" if another version wrote them, or the contents
	// of the load balancer are not proven.
	Digests Digests
	// Service is the UID of the Service: on another one the record is a copy.
	Service types.UID
	// FloatingIPID is the floating IP on the VIP, "" for none. The published address may be a host
	// name.
	FloatingIPID string
	// Weighed is that of LoadBalancer.
	Weighed bool
	// Parts is a hash of the parts of the load balancer, if they were unconfirmed; "" if they were
	// confirmed. See Applied.Parts.
	Parts string
	// Warnings are the ones already sent to the Service, in the format of Warnings.String.
	Warnings string
}

// recordVersion is the seventh word of a record; warnings may follow. It increases with
// the format of digests: those of another version prove nothing. The first words are the same in
// all versions. In the same word follow weighed and the parts of an unconfirmed load balancer, as in "v1w+digest": other
// versions trust neither.
const (
	recordVersion = "v1"
	weighed       = "w"
)

// none stands for an empty word in the text of a record.
const none = "-"

// Record returns its record, without warnings.
func (a *Applied) Record(service types.UID) Record {
	return Record{
		LoadBalancerID: a.LoadBalancer.ID, UpdatedAt: a.Seen.UpdatedAt, Digests: a.Digests,
		Service: service, FloatingIPID: a.LoadBalancer.FloatingIPID, Weighed: a.LoadBalancer.Weighed,
	}
}

// String returns the text of a record, such as
// "ID 2026-11-20T18:34:24Z digest UID ID nodeless v1".
func (r Record) String() string {
	version := recordVersion
	if r.Weighed {
		version += weighed
	}
	if r.Parts != "" {
		version += "+" + r.Parts
	}
	words := []string{
		r.LoadBalancerID, r.UpdatedAt.UTC().Format(time.RFC3339Nano), cmp.Or(r.Digests.Full, none), string(r.Service),
		cmp.Or(r.FloatingIPID, none), cmp.Or(r.Digests.Nodeless, none), version,
	}
	if r.Warnings != "" {
		words = append(words, r.Warnings)
	}
	return strings.Join(words, " ")
}

// ParseRecord parses the text of a record, and reports false for an invalid one. From one
// of another version it returns load balancer, time and Service.
func ParseRecord(text string) (Record, bool) {
	words := strings.Fields(text)
	if len(words) < 4 {
		return Record{}, false
	}
	for i := range words {
		if words[i] == none {
			words[i] = ""
		}
	}
	updatedAt, err := time.Parse(time.RFC3339Nano, words[1])
	r := Record{LoadBalancerID: words[0], UpdatedAt: updatedAt, Service: types.UID(words[3])}
	if len(words) < 7 || len(words) > 8 {
		return r, err == nil
	}
	version, parts, unconfirmed := strings.Cut(words[6], "+")
	version, isWeighed := strings.CutSuffix(version, weighed)
	if version != recordVersion || unconfirmed && parts == "" {
		return r, err == nil
	}
	r.Parts, r.Weighed = parts, isWeighed
	r.Digests, r.FloatingIPID = Digests{Full: words[2], Nodeless: words[5]}, words[4]
	r.Warnings = strings.Join(words[7:], "")
	return r, err == nil
}
