package soak

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/picture"
)

// Picture draws the samples.
func (r Report) Picture(options Options) picture.Picture {
	curve := func(name, color string, of func(Sample) float64) picture.Curve {
		c := picture.Curve{Name: name, Color: color}
		for _, s := range r.Samples {
			c.Values = append(c.Values, of(s))
		}
		return c
	}
	p := picture.Picture{
		Title: fmt.Sprintf("%d Services for %d hours of accelerated clock; controllers and simulator in one process", options.Services, options.Hours),
		Unit:  "h", Tick: 24, Lanes: []picture.Lane{
			{Title: "live heap of the whole process, MiB", Curves: []picture.Curve{curve("heap", "#d9822b", func(s Sample) float64 { return s.Heap })}},
			{Title: "goroutines of the whole process", Curves: []picture.Curve{
				curve("goroutines", "#666666", func(s Sample) float64 { return float64(s.Goroutines) }),
			}},
			{Title: "open connections to OpenStack", Curves: []picture.Curve{
				curve("connections", "#1f6fb2", func(s Sample) float64 { return float64(s.Connections) }),
			}},
			{Title: "requests to OpenStack in the hour", Curves: []picture.Curve{
				curve("requests", "#8a4fb0", func(s Sample) float64 { return float64(s.Requests) }),
				curve("writes", "#3a8f4d", func(s Sample) float64 { return float64(s.Writes) }),
			}},
		},
	}
	for i := range r.Samples {
		p.Times = append(p.Times, float64(i+1))
	}
	for begin := 0; begin < options.Hours; begin += 24 {
		p.Marks = append(p.Marks, picture.Mark{Name: fmt.Sprintf("day %d", begin/24+1), From: float64(begin), To: float64(min(begin+24, options.Hours))})
	}
	return p
}
