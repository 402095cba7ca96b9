// Package picture draws figures over time as an SVG without external resources.
package picture

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
)

// The measures of the picture, in pixels.
const (
	pictureWidth           = 1100
	leftMargin, plotWidth  = 70, 1000
	topMargin, laneHeight  = 70, 150
	laneGap, bottomMargin  = 40, 40
	namesRoom, namesFitPer = 14, 6 // height of a line of names; width of a letter
)

// Picture is some diagrams that share the axis of time.
type Picture struct {
	Title string
	// Unit is that of times: "s".
	Unit string
	// Tick is how far apart the times below the diagrams are; 0: about ten are shown.
	Tick float64
	// Times are those that curves have a value for, from 0 on.
	Times []float64
	Lanes []Lane
	Marks []Mark
}

// Lane is one of the diagrams.
type Lane struct {
	Title  string
	Curves []Curve
}

// Curve is a figure over time. Its color is one of SVG.
type Curve struct {
	Name, Color string
	Values      []float64
}

// Mark is a named span of time.
type Mark struct {
	Name     string
	From, To float64
}

// Write writes the picture to a file.
func (p Picture) Write(file string) error {
	if err := os.WriteFile(file, []byte(p.SVG()), 0o600); err != nil {
		return fmt.Errorf("draw %s: %w", file, err)
	}
	return nil
}

// SVG returns the picture.
func (p Picture) SVG() string {
	end := 1.0
	for _, at := range p.Times {
		end = max(end, at)
	}
	for _, m := range p.Marks {
		end = max(end, m.To)
	}
	height := topMargin + len(p.Lanes)*(laneHeight+laneGap) + bottomMargin
	d := &drawing{scale: plotWidth / end, bottom: height - bottomMargin - laneGap}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`,
		pictureWidth, height, pictureWidth, height)
	d.printf(`<rect width="%d" height="%d" fill="white"/>`, pictureWidth, height)
	d.text(leftMargin, 20, `font-size="14" font-weight="bold"`, p.Title)
	d.marks(p.Marks)
	for i, l := range p.Lanes {
		d.lane(l, topMargin+i*(laneHeight+laneGap), p.Times)
	}
	for _, tick := range ticks(end, p.Tick) {
		d.text(d.x(tick), d.bottom+2*namesRoom+2, `text-anchor="middle"`, fmt.Sprintf("%g %s", tick, p.Unit))
	}
	d.printf(`</svg>`)
	return d.String()
}

// drawing is a picture that is being made.
type drawing struct {
	strings.Builder
	scale  float64 // pixels per unit of time
	bottom int
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) x(at float64) float64 { return leftMargin + at*d.scale }

func (d *drawing) text(x float64, y int, attributes, text string) {
	escaped := &strings.Builder{}
	_ = xml.EscapeText(escaped, []byte(text)) // a builder takes everything
	d.printf(`<text x="%.1f" y="%d" %s>%s</text>`, x, y, attributes, escaped)
}

// marks colors each span. Names that would overlap go on a line of their own.
func (d *drawing) marks(marks []Mark) {
	ends := make([]float64, 2)
	for i, m := range marks {
		from, to := d.x(m.From), d.x(m.To)
		fill := "#f2f4f7"
		if i%2 == 1 {
			fill = "#e3e8ef"
		}
		d.printf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, from, topMargin, max(1, to-from), d.bottom-topMargin, fill)
		row := 0
		if from < ends[0] {
			row = 1
		}
		if from < ends[row] {
			continue // its neighbors' names are in its place
		}
		ends[row] = from + float64(namesFitPer*len(m.Name)+2*namesFitPer)
		d.text(from, topMargin-namesRoom*(row+1)-6, `fill="#333333"`, m.Name)
	}
}

func (d *drawing) lane(l Lane, top int, times []float64) {
	most := 0.0
	for _, c := range l.Curves {
		for _, value := range c.Values {
			most = max(most, value)
		}
	}
	most = roundUp(most)
	y := func(value float64) float64 { return float64(top) + laneHeight*(1-value/most) }
	for _, share := range []float64{0, 0.5, 1} {
		at := y(share * most)
		d.printf(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#c8ced6" stroke-width="0.5"/>`, leftMargin, leftMargin+plotWidth, at, at)
		d.text(leftMargin-6, int(at)+4, `text-anchor="end"`, fmt.Sprintf("%g", share*most))
	}
	d.text(leftMargin, top+laneHeight+14, `fill="#333333"`, l.Title)
	for i, c := range l.Curves {
		points := &strings.Builder{}
		for n, value := range c.Values {
			fmt.Fprintf(points, "%.1f,%.1f ", d.x(times[n]), y(value))
		}
		d.printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.3"/>`, strings.TrimSpace(points.String()), c.Color)
		if len(l.Curves) > 1 {
			d.text(float64(leftMargin+plotWidth-80*(i+1)), top+laneHeight+14, fmt.Sprintf("fill=%q", c.Color), c.Name)
		}
	}
}

// roundUp is the next figure that is easy to read.
func roundUp(value float64) float64 {
	if value <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, step := range []float64{1, 2, 4, 5, 10} {
		if value <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}

// ticks are the multiples of a step; 0: about ten times that are easy to read.
func ticks(end, step float64) []float64 {
	const wanted = 10
	if step == 0 {
		step = roundUp(end / wanted)
	}
	var all []float64
	for at := 0.0; at <= end; at += step {
		all = append(all, at)
	}
	return all
}
