package model

import "slices"

// None asks for no QoS policy, or for no security groups of the user's own: what is
// there is taken away.
const None = "none"

// VIPSettings are what a load balancer has on its VIP and what can change of that.
// They are compared like this:
//
//	asked for   there           differs
//	a value     the same value  no, whoever set it
//	a value     another, none   yes
//	None        a value         yes: it is taken away
//	nothing     anything        no: what is there is left alone
//
// One that is not asked for any more therefore stays until None is asked for: what
// protects a load balancer does not go because somebody forgot to say it.
type VIPSettings struct {
	QoSPolicyID string `json:",omitempty"`
	// SecurityGroupIDs are sorted.
	SecurityGroupIDs []string `json:",omitempty"`
}

// Settled gives the settings as the cloud has them once they were sent.
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

// Over gives the settings once those that are asked for were sent to a load balancer
// that has others.
func (s VIPSettings) Over(there VIPSettings) VIPSettings {
	if s.QoSPolicyID != "" {
		there.QoSPolicyID = s.QoSPolicyID
	}
	if len(s.SecurityGroupIDs) > 0 {
		there.SecurityGroupIDs = s.SecurityGroupIDs
	}
	return there.Settled()
}

// Equal compares what the cloud has.
func (s VIPSettings) Equal(other VIPSettings) bool {
	return s.QoSPolicyID == other.QoSPolicyID && slices.Equal(s.SecurityGroupIDs, other.SecurityGroupIDs)
}
