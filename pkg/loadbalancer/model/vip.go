package model

import "slices"

// None asks for no QoS policy, or for no security groups of the user's own: what is there
// is removed.
const None = "none"

// VIPSettings are what a load balancer has on its VIP and what can change of that.
// They are compared like this:
//
//	asked for   there           differs
//	a value     the same value  no, whoever set it
//	a value     another, none   yes
//	None        a value         yes: it is removed
//	nothing     anything        no: what is there is left alone
//
// One that is not asked for any more therefore stays until None is asked for: what protects
// a load balancer is not removed because a user forgot to name it.
type VIPSettings struct {
	QoSPolicyID string `json:",omitempty"`
	// SecurityGroupIDs are sorted.
	SecurityGroupIDs []string `json:",omitempty"`
}

// Settled returns the settings as the cloud has them once they were sent.
func (s VIPSettings) Settled() VIPSettings {
	if s.QoSPolicyID == None {
		s.QoSPolicyID = ""
	}
	s.SecurityGroupIDs = slices.DeleteFunc(slices.Clone(s.SecurityGroupIDs), func(id string) bool { return id == None })
	if len(s.SecurityGroupIDs) == 0 {
		s.SecurityGroupIDs = nil
	}
	return s
}

// Over returns the settings as they are once those that are asked for were sent to a load
// balancer that has others.
func (s VIPSettings) Over(there VIPSettings) VIPSettings {
	if s.QoSPolicyID != "" {
		there.QoSPolicyID = s.QoSPolicyID
	}
	if len(s.SecurityGroupIDs) > 0 {
		there.SecurityGroupIDs = s.SecurityGroupIDs
	}
	return there.Settled()
}

// Equal reports whether the cloud has the same settings.
func (s VIPSettings) Equal(other VIPSettings) bool {
	return s.QoSPolicyID == other.QoSPolicyID && slices.Equal(s.SecurityGroupIDs, other.SecurityGroupIDs)
}
