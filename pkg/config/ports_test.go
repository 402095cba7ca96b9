package config_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

func TestParsePorts_ReadsPortsAndRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"":                   nil,
		" ":                  nil,
		"8080":               {8080},
		" 8080 , 9000-9002 ": {8080, 9000, 9001, 9002},
		"1,65535":            {1, 65535},
	} {
		ranges, err := config.ParsePorts(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var got []int
		for port := range 65537 {
			if ranges.Has(port) {
				got = append(got, port)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: ports %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"0", "65536", "9-8", "a", "80,", "80-", "-80", "1 - 2", "1-2-3"} {
		if ranges, err := config.ParsePorts(text); err == nil {
			t.Errorf("%q is taken for %v", text, ranges)
		}
	}
}
