package model

import "slices"

// None requests no QoS policy, or no security groups of the user's own: existing ones are removed.
const None = "none"

// VIPSettings are the changeable settings of a VIP. They are compared like this:
//
//	requested  actual          differs
//	a value    the same value  no
//	a value    another, none   yes
//	None       a value         yes: it is removed
//	nothing    anything        no: it is not changed
//
// A value that is no longer requested therefore stays until None is requested: the protection of a
// load balancer is not removed because a user forgot to name it.
type VIPSettings struct {
	QoSPolicyID string `json:",omitempty"`
	// SecurityGroupIDs are sorted.
	SecurityGroupIDs []string `json:",omitempty"`
}

// Settled returns the settings of the cloud after they were sent.
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

// Over returns the settings of a load balancer with others after the requested ones were sent.
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
