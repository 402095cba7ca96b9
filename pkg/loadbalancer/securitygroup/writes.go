package securitygroup

// defaultRules is the number of rules in a new group of Neutron, which are deleted: one for each
// family, allowing all egress.
const defaultRules = 2

// Writes returns the number of write requests of a step without failures. If only the step itself
// finds out the number, such as for the ports of a deleted group, it is the minimum.
func Writes(step Step) int {
	switch s := step.(type) {
	case CreateGroup:
		return 2 + defaultRules
	case DeleteRules:
		return len(s.Rules)
	case JoinPorts:
		return len(s.Ports)
	case LeavePorts:
		return len(s.Ports)
	}
	return 1
}
