// Package hostile has the checks of fuzz targets for code that reads untrusted input: memory in
// proportion to the input, texts of one line, and clouds with arbitrary answers.
package hostile

import (
	"runtime"
	"testing"
	"unicode"
	"unicode/utf8"
)

// What reading may allocate: allowance whatever the size of the input, and perByte for each
// byte of it. A decoder of JSON or YAML needs a hundred; what multiplies an input with itself
// is soon above.
const (
	allowance = 16 << 20
	perByte   = 2000
)

// Bounded calls do, which reads an input of a size, and fails if that allocates more than in
// proportion to the size. Nothing else may run at the same time: it is for fuzz targets, which try
// their inputs one after the other, after all tests.
func Bounded(t testing.TB, size int, do func()) {
	t.Helper()
	if got := allocated(do); float64(got) > float64(allowance+perByte*size) {
		t.Errorf("%d bytes of input cost %d of memory", size, got)
	}
}

// allocated returns how many bytes are allocated meanwhile.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// OneLine fails where a text is no line of a log: where it has a line break or another character
// that cannot be seen, or bytes that are not UTF-8.
func OneLine(t testing.TB, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			t.Errorf("%q has %q in it", text, r)
			return
		}
	}
}
