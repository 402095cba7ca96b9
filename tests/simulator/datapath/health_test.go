package datapath

import "testing"

func TestHealth_ChangesAfterEnoughProbesInARow(t *testing.T) {
	t.Parallel()
	monitor := Monitor{MaxRetries: 2, MaxRetriesDown: 3}
	tests := []struct {
		name   string
		probes string // + passed, - failed
		want   string // the verdict after each: U up, D down
	}{
		{"first success decides", "+", "U"},
		{"first failure decides", "-", "D"},
		{"three failures take it out", "+---", "UUUD"},
		{"a success in between starts over", "+--+--", "UUUUUU"},
		{"two successes bring it back", "-++", "DDU"},
		{"a failure in between starts over", "-+-++", "DDDDU"},
		{"down and up again", "+---++", "UUUDDU"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := health{}
			got := ""
			for _, probe := range test.probes {
				h.count(probe == '+', monitor)
				got += map[string]string{StatusOnline: "U", StatusError: "D"}[h.status(false)]
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestHealth_DrainsHealthyMemberOfWeightZero(t *testing.T) {
	t.Parallel()
	up, down := health{verdict: healthy}, health{verdict: failing}
	if got := up.status(true); got != StatusDraining {
		t.Errorf("healthy: %s, want DRAINING", got)
	}
	if got := down.status(true); got != StatusError {
		t.Errorf("failing: %s, want ERROR", got)
	}
}

func TestHealth_ParsesExpectedCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		in   []int
		out  []int
	}{
		{"", []int{200}, []int{201, 404}},
		{"200", []int{200}, []int{199, 201}},
		{"200,202, 301", []int{200, 202, 301}, []int{201, 300}},
		{"200-204", []int{200, 203, 204}, []int{199, 205}},
	}
	for _, test := range tests {
		set, err := parseCodes(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
		}
		for _, code := range test.in {
			if !set.contain(code) {
				t.Errorf("%q does not accept %d", test.text, code)
			}
		}
		for _, code := range test.out {
			if set.contain(code) {
				t.Errorf("%q accepts %d", test.text, code)
			}
		}
	}
	for _, text := range []string{"ok", "200-", "-200", "200,"} {
		if _, err := parseCodes(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
