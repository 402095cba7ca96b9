package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// Signs identify the cluster that an object in the cloud was created for, for any of its Services.
type Signs struct {
	// ClusterIDs are the UIDs of clusters on the object, without duplicates.
	ClusterIDs []string
	// ClusterName is the --cluster-name; empty if it cannot be read reliably, because the object's
	// name was truncated.
	ClusterName string
	// Kubernetes is set if a cluster created the object.
	Kubernetes bool
	// ServiceUIDs are the UIDs of Services on the object, without duplicates.
	ServiceUIDs []string
	// Services are the Services in the object's names, as "namespace/name" without duplicates: none
	// if names were truncated.
	Services []string
}

const (
	groupPrefix       = "lb-sg-"
	sharedGroupPrefix = groupPrefix + "cluster-"
	floatingIPHead    = "Floating IP for Kubernetes "
)

var (
	legacyFloatingIP   = regexp.MustCompile(`^Floating IP for Kubernetes external service ([^/ ]+)/([^ ]+) from cluster (.*)$`)
	groupName          = regexp.MustCompile(`^lb-sg-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-`)
	clusterOfGroup     = regexp.MustCompile(`^Security Group for [^/ ]+/[^ ]+ Service LoadBalancer in cluster (.*)$`)
	clusterOfAllGroups = regexp.MustCompile(`^Security Group for the nodes behind LoadBalancer Services in cluster (.*)$`)
)

// LoadBalancerSigns returns the signs of a load balancer. If name and description contradict each
// other, ClusterName is empty.
func LoadBalancerSigns(name, description string, tags []string) Signs {
	owner := OwnerOf(name, description, tags)
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix)), ClusterName: owner.ClusterName, Kubernetes: owner.Kubernetes}
	s.ServiceUIDs = distinct(tagged(tags, serviceTagPrefix))
	if match := loadBalancerProof.FindStringSubmatch(description); match != nil && len(s.ClusterIDs) == 0 && owner.Kubernetes {
		s.ClusterIDs = distinct(match[2:])
		if len(s.ServiceUIDs) == 0 {
			s.ServiceUIDs = distinct(match[1:2])
		}
	}
	s.Services = servicesIn(append(slices.Clone(tags), name))
	if owner.Service != "" {
		s.Services = distinct(append(s.Services, owner.Namespace+"/"+owner.Service))
	}
	if named := clusterInName(name); named != "" && named != s.ClusterName {
		s.ClusterName = ""
	}
	return s
}

// PartSigns returns the signs of a listener or pool.
func PartSigns(name string, tags []string) Signs {
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix)), ServiceUIDs: distinct(tagged(tags, serviceTagPrefix))}
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
	s.Services = servicesIn(names)
	return s
}

// IsPartOf reports whether a listener or pool without the UID of a cluster was created with the
// load balancer of the given name, for the same Service.
func IsPartOf(name string, tags []string, loadBalancer string) bool {
	if !strings.HasPrefix(loadBalancer, namePrefix) && !legacyName.MatchString(loadBalancer) || len(tagged(tags, clusterTagPrefix)) > 0 {
		return false
	}
	return slices.Contains(tags, loadBalancer) || len(tags) == 0 && isChildOf(name, loadBalancer)
}

// FloatingIPSigns returns the signs of a floating IP.
func FloatingIPSigns(description string) Signs {
	s := Signs{Kubernetes: strings.HasPrefix(description, floatingIPHead)}
	if match := floatingIPProof.FindStringSubmatch(description); match != nil {
		s.ClusterIDs, s.ServiceUIDs = distinct(match[2:]), distinct(match[1:2])
	}
	if len(description) >= maxLength {
		return s
	}
	if match := ownerOfFloatingIP.FindStringSubmatch(description); match != nil {
		s.ClusterName, s.Services = match[5], []string{match[1] + "/" + match[2]}
	} else if match := legacyFloatingIP.FindStringSubmatch(description); match != nil {
		s.ClusterName, s.Services = match[3], []string{match[1] + "/" + match[2]}
	}
	return s
}

// SecurityGroupSigns returns the signs of a security group.
func SecurityGroupSigns(name, description string, tags []string) Signs {
	shared, isShared := strings.CutPrefix(name, sharedGroupPrefix)
	isShared = isShared && clusterOfAllGroups.MatchString(description)
	own := groupName.FindStringSubmatch(name)
	if !isShared && own == nil {
		return Signs{}
	}
	s := Signs{ClusterIDs: distinct(tagged(tags, clusterTagPrefix)), Kubernetes: true}
	if !isShared {
		s.ServiceUIDs = distinct(append(tagged(tags, serviceTagPrefix), own[1]))
	}
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

// clusterInName returns the name of the cluster in a load balancer's name, "" if it cannot be read
// reliably.
func clusterInName(name string) string {
	if match := ownerInName.FindStringSubmatch(name); match != nil && len(name) < maxLength {
		return match[1]
	}
	return ""
}

// servicesIn returns the Services in names of load balancers, without truncated names.
func servicesIn(names []string) []string {
	var found []string
	for _, name := range names {
		if match := ownerInName.FindStringSubmatch(name); match != nil && len(name) < maxLength {
			found = append(found, match[2]+"/"+match[3])
		}
	}
	return distinct(found)
}

// distinct returns the texts without duplicates and empty ones, in order.
func distinct(all []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(all)))
	return slices.DeleteFunc(sorted, func(text string) bool { return text == "" })
}
