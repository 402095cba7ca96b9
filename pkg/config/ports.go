package config

import (
	"fmt"
	"strconv"
	"strings"
)

// maxPortRanges is the maximum number of port ranges of a key.
const maxPortRanges = 100

// PortsAllowed describes the texts that ParsePorts accepts.
const PortsAllowed = "ports and ranges of ports separated by commas, such as 8080,9000-9099"

// PortRanges are ranges of ports, each with its first and its last port.
type PortRanges [][2]int

// Has reports whether a port is in one of the ranges.
func (r PortRanges) Has(port int) bool {
	for _, ends := range r {
		if ends[0] <= port && port <= ends[1] {
			return true
		}
	}
	return false
}

// ParsePorts parses ports such as "8080,9000-9099"; an empty text has none. An error names the part
// that is neither a port nor a range.
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
			return nil, fmt.Errorf("%q is neither a port from 1 to 65535 nor a range", strings.TrimSpace(part))
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
