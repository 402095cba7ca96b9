package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// size has the numbers of all objects.
type size struct {
	services, ports, nodes int
	// maxMembers limits the members of a pool; 0 means no limit.
	maxMembers int
	// speed overrides settings.speed for this size; 0 does not.
	speed float64
}

// standardSizes are measured by default.
func standardSizes() []string {
	return []string{
		"100x3x100", "1000x3x100", "200x3x1000", "1000x1x1000", "5000x2x50", "500x3x5000/100", "500x3x5000",
	}
}

var sizePattern = regexp.MustCompile(`^([1-9]\d{0,6})x([1-9]\d{0,2})x([1-9]\d{0,6})(?:/([1-9]\d{0,6}))?(?:@([1-9]\d{0,3}))?$`)

func parseSize(text string) (size, error) {
	found := sizePattern.FindStringSubmatch(text)
	if found == nil {
		return size{}, fmt.Errorf("size %q: want SERVICESxPORTSxNODES, such as 1000x3x100", text)
	}
	var numbers [5]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(found[i+1]) // the pattern matches only digits, or nothing
	}
	return size{services: numbers[0], ports: numbers[1], nodes: numbers[2], maxMembers: numbers[3], speed: float64(numbers[4])}, nil
}

// String implements fmt.Stringer.
func (s size) String() string {
	text := fmt.Sprintf("%dx%dx%d", s.services, s.ports, s.nodes)
	if s.maxMembers > 0 {
		text += fmt.Sprintf("/%d", s.maxMembers)
	}
	if s.speed > 0 {
		text += fmt.Sprintf("@%v", s.speed)
	}
	return text
}

// pools returns the number of pools of all Services: one for each port.
func (s size) pools() int { return s.services * s.ports }

// poolMembers returns the number of members of a pool.
func (s size) poolMembers() int {
	if s.maxMembers > 0 {
		return min(s.nodes, s.maxMembers)
	}
	return s.nodes
}

// members returns the number of members of all pools.
func (s size) members() int { return s.pools() * s.poolMembers() }

// everyNode reports whether every node is a member of every pool.
func (s size) everyNode() bool { return s.poolMembers() == s.nodes }

// batchMembers is the number of members that fit into one request.
const batchMembers = 2200

// The minimum times of a cloud follow from its delays and from the possible requests of Octavia's
// API. It creates the load balancers of a project one after the other and works on all of them
// concurrently after that; each change of a part locks its load balancer.

func (s size) createLimit(boot time.Duration) time.Duration {
	batches := (s.poolMembers() + batchMembers - 1) / batchMembers
	later := cost.Overflow(s.ports, s.poolMembers(), false) * batches
	return time.Duration(s.services)*cost.VIPPort + boot + time.Duration(later)*cost.Amphora().Update
}

// changeLimit is the time of a change with one write for each port.
func (s size) changeLimit() time.Duration {
	return time.Duration(s.ports) * cost.Amphora().Update
}

// replaceLimit is the time of the replacement of a member: one request contains both changes if all
// members fit into it.
func (s size) replaceLimit() time.Duration {
	if s.poolMembers() > batchMembers {
		return 2 * s.changeLimit()
	}
	return s.changeLimit()
}

func (s size) deleteLimit() time.Duration { return cost.Amphora().Delete }
