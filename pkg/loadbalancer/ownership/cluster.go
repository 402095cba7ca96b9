package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// Signs are what an object in the cloud says of the cluster that it was made for, whichever
// Service of it.
type Signs struct {
	// ClusterIDs are the UIDs of clusters that it carries, each once.
	ClusterIDs []string
	// ClusterName is the --cluster-name; empty where it cannot be read for sure, as of a name
	// that was cut.
	ClusterName string
	// Kubernetes tells that some cluster had it made.
	Kubernetes bool
}

const (
	groupPrefix       = "lb-sg-"
	sharedGroupPrefix = groupPrefix + "cluster-"
	floatingIPHead    = "Floating IP for Kubernetes "
)

var (
	legacyFloatingIP   = regexp.MustCompile(`^Floating IP for Kubernetes external service [^/ ]+/[^ ]+ from cluster (.*)$`)
	groupName          = regexp.MustCompile(`^lb-sg-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-`)
	clusterOfGroup     = regexp.MustCompile(`^Security Group for [^/ ]+/[^ ]+ Service LoadBalancer in cluster (.*)$`)
	clusterOfAllGroups = regexp.MustCompile(`^Security Group for the nodes behind LoadBalancer Services in cluster (.*)$`)
)

// LoadBalancerSigns reads the cluster of a load balancer. One whose name and description tell
// of two clusters has no ClusterName.
func LoadBalancerSigns(name, description string, tags []string) Signs {
	owner := OwnerOf(name, description, tags)
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix)), ClusterName: owner.ClusterName, Kubernetes: owner.Kubernetes}
	if match := loadBalancerProof.FindStringSubmatch(description); match != nil && len(s.ClusterIDs) == 0 && owner.Kubernetes {
		s.ClusterIDs = distinct(match[2:])
	}
	if named := clusterInName(name); named != "" && named != s.ClusterName {
		s.ClusterName = ""
	}
	return s
}

// PartSigns reads the cluster of a listener or pool.
func PartSigns(name string, tags []string) Signs {
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix))}
	s.Kubernetes = len(s.ClusterIDs) > 0
	names := slices.Clone(tags)
	if match := childName.FindStringSubmatch(name); match != nil && len(name) < maxLength {
		names = append(names, match[3])
	}
	var clusters []string
	for _, of := range names {
		s.Kubernetes = s.Kubernetes || strings.HasPrefix(of, namePrefix)
		clusters = append(clusters, clusterInName(of))
	}
	if clusters = distinct(clusters); len(clusters) == 1 {
		s.ClusterName = clusters[0]
	}
	return s
}

// IsPartOf reports whether a listener or pool without the UID of a cluster was made together
// with the load balancer of a name, for the same Service.
func IsPartOf(name string, tags []string, loadBalancer string) bool {
	if !strings.HasPrefix(loadBalancer, namePrefix) && !legacyName.MatchString(loadBalancer) || len(tagged(tags, clusterTagPrefix)) > 0 {
		return false
	}
	return slices.Contains(tags, loadBalancer) || len(tags) == 0 && isChildOf(name, loadBalancer)
}

// FloatingIPSigns reads the cluster of a floating IP.
func FloatingIPSigns(description string) Signs {
	s := Signs{Kubernetes: strings.HasPrefix(description, floatingIPHead)}
	if match := floatingIPProof.FindStringSubmatch(description); match != nil {
		s.ClusterIDs = distinct(match[2:])
	}
	if len(description) >= maxLength {
		return s
	}
	if match := ownerOfFloatingIP.FindStringSubmatch(description); match != nil {
		s.ClusterName = match[5]
	} else if match := legacyFloatingIP.FindStringSubmatch(description); match != nil {
		s.ClusterName = match[1]
	}
	return s
}

// SecurityGroupSigns reads the cluster of a security group.
func SecurityGroupSigns(name, description string, tags []string) Signs {
	shared, isShared := strings.CutPrefix(name, sharedGroupPrefix)
	isShared = isShared && clusterOfAllGroups.MatchString(description)
	if !isShared && !groupName.MatchString(name) {
		return Signs{}
	}
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix)), Kubernetes: true}
	if isShared && len(s.ClusterIDs) == 0 {
		s.ClusterIDs = distinct([]string{shared})
	}
	for _, pattern := range []*regexp.Regexp{clusterOfGroup, clusterOfAllGroups} {
		if match := pattern.FindStringSubmatch(description); match != nil && len(description) < maxLength {
			s.ClusterName = match[1]
		}
	}
	return s
}

// clusterInName returns the name of the cluster in that of a load balancer, "" where it
// cannot be read for sure.
func clusterInName(name string) string {
	if match := ownerInName.FindStringSubmatch(name); match != nil && len(name) < maxLength {
		return match[1]
	}
	return ""
}

// distinct returns what is not empty, in order, each once.
func distinct(all []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(all)))
	return slices.DeleteFunc(sorted, func(text string) bool { return text == "" })
}
