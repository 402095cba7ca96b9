package ownership

import (
	"fmt"
	"slices"
	"strings"
)

// SecurityGroupName returns the name of the Service's own security group. It is the same as in
// cloud-provider-openstack, and contains the UID of the Service.
func (i Identity) SecurityGroupName() string {
	return cut(fmt.Sprintf(groupPrefix+"%s-%s-%s", i.ServiceUID, i.Namespace, i.Service))
}

// SecurityGroupDescription returns the description of that group.
func (i Identity) SecurityGroupDescription() string {
	return cut(fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster %s", i.Namespace, i.Service, i.ClusterName))
}

// SecurityGroupTags returns the tags of that group. They help other programs to find it; the proof
// of ownership is the UID in its name, unless a tag contradicts it.
func (i Identity) SecurityGroupTags() []string {
	if i.ClusterID == "" {
		return []string{i.ServiceTag()}
	}
	return []string{clusterTagPrefix + i.ClusterID, i.ServiceTag()}
}

// OwnsSecurityGroup reports whether a security group is the Service's own. The tags distinguish a
// cluster that was restored from a backup, with Services of the same UIDs.
func (i Identity) OwnsSecurityGroup(name string, tags []string) bool {
	return name == i.SecurityGroupName() && i.claim(tags) != Theirs
}

// SharedGroupName returns the name of the security group that all Services of the cluster share; ""
// if the cluster has no identity.
func (i Identity) SharedGroupName() string {
	if i.ClusterID == "" {
		return ""
	}
	return sharedGroupPrefix + i.ClusterID
}

// SharedGroupDescription returns the description of that group.
func (i Identity) SharedGroupDescription() string {
	return cut("Security Group for the nodes behind LoadBalancer Services in cluster " + i.ClusterName)
}

// SharedGroupTags returns the tags of that group.
func (i Identity) SharedGroupTags() []string { return []string{clusterTagPrefix + i.ClusterID} }

// OwnsSharedGroup reports whether a security group is the cluster's shared one.
func (i Identity) OwnsSharedGroup(name string, tags []string) bool {
	clusters := tagged(tags, clusterTagPrefix)
	return i.ClusterID != "" && name == i.SharedGroupName() && (len(clusters) == 0 || slices.Contains(clusters, i.ClusterID))
}

const ruleHead = "LoadBalancer Service "

// RuleDescription returns the description of the Service's rules in the shared group, by which they
// are found: rules have no names, and no tags at their creation.
func (i Identity) RuleDescription() string {
	return cut(ruleHead + i.Namespace + "/" + i.Service + proofHead + i.ServiceUID + ")")
}

// CommonRuleDescription is the description of rules in the shared group that several Services need,
// such as one for the port that health monitors probe on every node.
const CommonRuleDescription = "LoadBalancer Services, health checks"

// IsCommonRule reports whether a rule of the shared group belongs to several Services.
func IsCommonRule(description string) bool { return description == CommonRuleDescription }

// IsServiceRule reports whether a rule of the shared group belongs to one Service.
func IsServiceRule(description string) bool { return strings.HasPrefix(description, ruleHead) }
