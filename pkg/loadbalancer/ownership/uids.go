package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// uids are the UIDs that prove ownership: that of the cluster, "" if it is not known, and that of the Service.
type uids struct{ cluster, service string }

func (i Identity) uids() uids { return uids{i.ClusterID, i.ServiceUID} }

// proofHead is the beginning of a proof.
const proofHead = " (uid "

// proof returns the unique part of a description with so much room for it. It is never truncated within the UID of the
// Service; the UID of the cluster is dropped for a very long name of the cluster.
func (u uids) proof(room int) string {
	full := proofHead + u.service + " in " + u.cluster + ")"
	if u.cluster == "" || len(full) > room {
		return proofHead + u.service + ")"
	}
	return full
}

// CutProof returns the part of a description before the proof of an owner, and the UID of the
// Service in each proof. Without a proof it returns the whole description.
func CutProof(description string) (head string, serviceUIDs []string) {
	head, rest, proven := strings.Cut(description, proofHead)
	for proven {
		proof, _, _ := strings.Cut(rest, ")")
		uid, _, _ := strings.Cut(proof, " ")
		serviceUIDs = append(serviceUIDs, uid)
		_, rest, proven = strings.Cut(rest, proofHead)
	}
	return head, serviceUIDs
}

// These match ProvenDescription and FloatingIPs.Description.
var (
	loadBalancerProof = regexp.MustCompile(`^Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
	floatingIPProof   = regexp.MustCompile(`^Floating IP for Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
)

// in reports whether a description has a proof of the Service, by the pattern of its format.
func (u uids) in(proof *regexp.Regexp, description string) bool {
	if !strings.Contains(description, u.service) {
		return false // there can be thousands of others, and regular expressions are slow
	}
	match := proof.FindStringSubmatch(description)
	return match != nil && match[1] == u.service && (match[2] == "" || u.cluster == "" || match[2] == u.cluster)
}

// Claim is the ownership of an object by its tags.
type Claim int

const (
	// Unclaimed objects have no UID: cloud-provider-openstack or another client created them.
	Unclaimed Claim = iota
	// Ours was created for this Service of this cluster.
	Ours
	// Theirs was created for another Service or another cluster.
	Theirs
)

// claim returns the ownership of an object by its tags.
//
//	Service tag   cluster tag       claim
//	ours          ours or none      Ours
//	ours          another           Theirs (a cluster restored from our backup)
//	another       any               Theirs
//	none          another           Theirs
//	none          ours or none      Unclaimed
func (u uids) claim(tags []string) Claim {
	services, clusters := tagged(tags, serviceTagPrefix), tagged(tags, clusterTagPrefix)
	otherCluster := u.cluster != "" && len(clusters) > 0 && !slices.Contains(clusters, u.cluster)
	return claim(!otherCluster && slices.Contains(services, u.service), otherCluster || len(services) > 0)
}

func claim(ours, somebodys bool) Claim {
	switch {
	case ours:
		return Ours
	case somebodys:
		return Theirs
	default:
		return Unclaimed
	}
}

func tagged(tags []string, prefix string) []string {
	var found []string
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			found = append(found, value)
		}
	}
	return found
}
