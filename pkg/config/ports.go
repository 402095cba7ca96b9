package config

import (
	"fmt"
	"strconv"
	"strings"
)

// maxPortRanges is how many ranges of ports a key can have.
const maxPortRanges = 100

// PortsAllowed says what ParsePorts takes.
const PortsAllowed = "ports and ranges of ports separated by commas, such as 8080,9000-9099"

// PortRanges are ranges of ports, each with its first and its last.
type PortRanges [][2]int

// Has tells whether a port is in one of the ranges.
func (r PortRanges) Has(port int) bool {
	for _, ends := range r {
		if ends[0] <= port && port <= ends[1] {
			return true
		}
	}
	return false
}

// ParsePorts reads ports such as "8080,9000-9099"; no text gives none. An error says
// which of them is no port or range of ports.
func ParsePorts(text string) (PortRanges, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var ranges PortRanges
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		if errFirst != nil || errLast != nil || first < 1 || last > 65535 || first > last {
			return nil, fmt.Errorf("%q is not a port from 1 to 65535, and no range of them", strings.TrimSpace(part))
		}
		ranges = append(ranges, [2]int{first, last})
	}
	if len(ranges) > maxPortRanges {
		return nil, fmt.Errorf("it has %d ranges, more than %d", len(ranges), maxPortRanges)
	}
	return ranges, nil
}

func checkPorts(text string) error {
	_, err := ParsePorts(text)
	return err
}
