package main

import "github.com/openstack-ccm/openstack-ccm/tests/lib/picture"

// draw writes the picture of a run.
func draw(file, title string, samples []sample, marks []mark) error {
	curve := func(name, color string, of func(sample) float64) picture.Curve {
		c := picture.Curve{Name: name, Color: color}
		for _, s := range samples {
			c.Values = append(c.Values, of(s))
		}
		return c
	}
	p := picture.Picture{Title: title, Unit: "s", Lanes: []picture.Lane{
		{Title: "memory, MiB", Curves: []picture.Curve{
			curve("resident", "#1f6fb2", func(s sample) float64 { return s.RSS }),
			curve("heap", "#d9822b", func(s sample) float64 { return s.Heap }),
		}},
		{Title: "CPU, processors", Curves: []picture.Curve{curve("CPU", "#3a8f4d", func(s sample) float64 { return s.CPU })}},
		{Title: "requests to OpenStack per second", Curves: []picture.Curve{
			curve("requests", "#8a4fb0", func(s sample) float64 { return s.Requests }),
		}},
		{Title: "goroutines", Curves: []picture.Curve{curve("goroutines", "#666666", func(s sample) float64 { return float64(s.Goroutines) })}},
	}}
	for _, s := range samples {
		p.Times = append(p.Times, s.At)
	}
	for _, m := range marks {
		p.Marks = append(p.Marks, picture.Mark{Name: m.Name, From: m.From, To: m.To})
	}
	return p.Write(file)
}
