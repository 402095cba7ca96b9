package datapath

import (
	"fmt"
	"strconv"
	"strings"
)

// codes is a set of HTTP status codes as inclusive ranges.
type codes []codeRange

type codeRange struct{ first, last int }

// parseCodes reads expected_codes of a health monitor: "200", a list "200,202" or a range
// "200-204". Empty means 200.
func parseCodes(text string) (codes, error) {
	if text == "" {
		return codes{{200, 200}}, nil
	}
	var set codes
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("read expected codes %q: %w", text, err)
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			return nil, fmt.Errorf("read expected codes %q: %w", text, err)
		}
		set = append(set, codeRange{first, last})
	}
	return set, nil
}

func (c codes) contain(code int) bool {
	for _, part := range c {
		if part.first <= code && code <= part.last {
			return true
		}
	}
	return false
}
