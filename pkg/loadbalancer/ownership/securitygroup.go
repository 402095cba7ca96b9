package ownership

import (
	"fmt"
	"slices"
	"strings"
)

// Group are the attributes that the controller gives to a security group, and by which it finds the group. The zero
// Group is none.
type Group struct {
	Name, Description string
	Tags              []string
}

// SecurityGroup returns the Service's own security group. Its name is the same as in
// cloud-provider-openstack, and contains the UID of the Service, which is the proof of ownership, unless a tag
// contradicts it. The tags help other programs to find it.
func (i Identity) SecurityGroup() Group {
	g := Group{
		Name:        cut(fmt.Sprintf(groupPrefix+"%s-%s-%s", i.ServiceUID, i.Namespace, i.Service)),
		Description: cut(fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster %s", i.Namespace, i.Service, i.ClusterName)),
	}
	if i.ClusterID != "" {
		g.Tags = append(g.Tags, ClusterTag(i.ClusterID))
	}
	g.Tags = append(g.Tags, i.ServiceTag())
	return g
}

// SharedGroup returns the security group that all Services of the cluster share; none if the cluster has no identity.
func (i Identity) SharedGroup() Group {
	if i.ClusterID == "" {
		return Group{}
	}
	return Group{
		Name:        sharedGroupPrefix + i.ClusterID,
		Description: cut("Security Group for the nodes behind LoadBalancer Services in cluster " + i.ClusterName),
		Tags:        []string{ClusterTag(i.ClusterID)},
	}
}

// Is reports whether a security group is this one: by its name, unless its tags have the UID of another cluster or
// Service. The tags distinguish a cluster that was restored from a backup, with Services of the same UIDs.
func (g Group) Is(name string, tags []string) bool {
	contradicts := func(prefix string) bool {
		ours, has := tagged(g.Tags, prefix), tagged(tags, prefix)
		return len(ours) > 0 && len(has) > 0 && !slices.Contains(has, ours[0])
	}
	return g.Name != "" && name == g.Name && !contradicts(clusterTagPrefix) && !contradicts(serviceTagPrefix)
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
