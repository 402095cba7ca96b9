package model

import "testing"

func TestParseVersion_ReadsMajorAndMinor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Version{"v2.16": {2, 16}, "2.9": {2, 9}, "v2": {2, 0}, "v1": {1, 0}} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "v", "latest", "v2.x", "v-1", "v2.-3", "v2.1.0", "v99999999"} {
		if got, err := ParseVersion(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestVersion_ComparesAsNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		have, need Version
		want       bool
	}{
		{Version{2, 9}, Version{2, 10}, false},
		{Version{2, 10}, Version{2, 9}, true},
		{Version{2, 12}, Version{2, 12}, true},
		{Version{3, 0}, Version{2, 30}, true},
		{Version{1, 99}, Version{2, 0}, false},
	} {
		if got := test.have.AtLeast(test.need); got != test.want {
			t.Errorf("%v at least %v: %t", test.have, test.need, got)
		}
	}
}

func TestVersion_PrintsAsAPIWritesIt(t *testing.T) {
	t.Parallel()
	if text := (Version{2, 16}).String(); text != "v2.16" {
		t.Error(text)
	}
}
