package securitygroup

// defaultRules is how many rules Neutron gives a new group, which are deleted: one for each
// family, to let everything out.
const defaultRules = 2

// Writes returns how many requests that write a step takes where nothing fails. For what only
// the step itself finds out, such as on which ports a group is that goes, it is the fewest.
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
