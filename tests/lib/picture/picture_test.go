package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPicture_IsWellFormedWhateverItIsCalled(t *testing.T) {
	t.Parallel()
	p := Picture{Title: `<"a" & 'b'>`, Unit: "h", Times: []float64{0, 700}, Marks: []Mark{{Name: "b<c", From: 3, To: 900}}, Lanes: []Lane{
		{Title: "one & other", Curves: []Curve{{Name: "<", Color: "#111111", Values: []float64{1, 3}}, {Name: ">", Color: "#222222", Values: []float64{0, 0}}}},
		{Title: "nothing", Curves: []Curve{{}}},
	}}
	text := p.SVG()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, part := range []string{"one &amp; other", "b&lt;c", ">800 h<", ">4<", `points="70.0,182.5 847.8,107.5"`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in\n%s", part, text)
		}
	}
	p.Tick = 300
	if text := p.SVG(); !strings.Contains(text, ">600 h<") || strings.Contains(text, ">100 h<") {
		t.Errorf("no times that are 300 h apart in\n%s", text)
	}
}
