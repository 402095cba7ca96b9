package ownership

import (
	"fmt"
	"slices"
	"strings"
)

// SecurityGroupName returns the name of the security group that is made for the
// Service alone. It is cloud-provider-openstack's, and holds the UID of the Service.
func (i Identity) SecurityGroupName() string {
	return cut(fmt.Sprintf(groupPrefix+"%s-%s-%s", i.ServiceUID, i.Namespace, i.Service))
}

// SecurityGroupDescription returns the description of that group.
func (i Identity) SecurityGroupDescription() string {
	return cut(fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster %s", i.Namespace, i.Service, i.ClusterName))
}

// SecurityGroupTags returns the tags of that group. They are for others to find it
// by; that it is ours is proven by the UID in its name, if no tag speaks against it.
func (i Identity) SecurityGroupTags() []string {
	if i.ClusterID == "" {
		return []string{i.ServiceTag()}
	}
	return []string{clusterTagPrefix + i.ClusterID, i.ServiceTag()}
}

// OwnsSecurityGroup reports whether a security group is the Service's own. A cluster
// that was restored from our backup has Services of the same UIDs: its tags tell.
func (i Identity) OwnsSecurityGroup(name string, tags []string) bool {
	return name == i.SecurityGroupName() && i.claim(tags) != Theirs
}

// SharedGroupName returns the name of the security group that all Services of the
// cluster share; "" when the cluster has no identity to tell it from others by.
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

// RuleDescription returns the description of the Service's rules in the shared group,
// by which they are found: rules have no names and no tags at their creation.
func (i Identity) RuleDescription() string {
	return cut(ruleHead + i.Namespace + "/" + i.Service + proofHead + i.ServiceUID + ")")
}

// CommonRuleDescription is that of rules in the shared group that several Services
// need, such as one for a port that health monitors ask on every node.
const CommonRuleDescription = "LoadBalancer Services, health checks"

// IsCommonRule reports whether a rule of the shared group is of no Service alone.
func IsCommonRule(description string) bool { return description == CommonRuleDescription }

// IsServiceRule reports whether a rule of the shared group is a Service's.
func IsServiceRule(description string) bool { return strings.HasPrefix(description, ruleHead) }
